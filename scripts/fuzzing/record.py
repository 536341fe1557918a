"""What came of the models so far, in a file of the repository."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from records import digest_of, today, versions_of, write_record

from fuzzing.workers import End, Ended

PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy", "protobuf")
_SOURCES = ("sonnx_ort", "custom_ops", "models", "scripts/fuzzing", "tests/support/soundness")


@dataclass(slots=True)
class Record:
    """Counts by outcome, and everything that was no outcome.

    Attributes:
        made_by: The versions and the sources that gave this.
        models: How many models were tried: the numbers from 0 on.
        outcomes: How often each stage ended in which way.
        faults: What was neither a result nor a `SonnxError`, with the model's number.
        runtimes_own: What ONNX Runtime alone does with the same model as well.
        date: Of the last models.
    """

    made_by: dict[str, str]
    models: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    runtimes_own: list[dict[str, Any]] = field(default_factory=list)
    date: str = ""

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Go on with a record that was made by the same sources and versions, or begin one.

        Args:
            path: The file.
        """
        made_by = makers()
        if path.is_file():
            known = json.loads(path.read_text("utf-8"))
            if known["made_by"] == made_by:
                return cls(**known | {"outcomes": Counter(known["outcomes"])})
        return cls(made_by)

    def add(self, ended: Iterable[Ended], own: Iterable[int]) -> None:
        """Count what came of further models.

        Args:
            ended: What came of each.
            own: The numbers of those of which ONNX Runtime alone dies or hangs as well.
        """
        alone = set(own)
        for each in sorted(ended, key=lambda one: one.number):
            self.models += 1
            self.outcomes.update(each.outcomes)
            if each.end is End.RESULT:
                continue
            told = {
                "number": each.number,
                "end": str(each.end),
                "stage": each.stage,
                "detail": each.detail,
            }
            (self.runtimes_own if each.number in alone else self.faults).append(told)
        self.date = today()

    def write(self, path: Path) -> None:
        """Write it to a file, whole or not at all.

        Args:
            path: The file.
        """
        content = {
            "made_by": self.made_by,
            "date": self.date,
            "models": self.models,
            "outcomes": dict(sorted(self.outcomes.items())),
            "faults": self.faults,
            "runtimes_own": self.runtimes_own,
        }
        write_record(path, content)


def makers() -> dict[str, str]:
    """The versions of the packages, and a digest of the sources that make and try the models."""
    return versions_of(PACKAGES) | {"sources": digest_of(_SOURCES)}
