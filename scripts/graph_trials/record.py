"""What came of the random graphs so far, in a file of the repository."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from environment import ROOT
from records import digest_of, today, versions_of, write_record

_PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy")
_SOURCES = ("sonnx_ort", "custom_ops", "tests/support/soundness")


@dataclass(slots=True)
class Part:
    """Graphs that were tried with the same versions and sources.

    Attributes:
        made_by: The versions, and a digest of the sources.
        first: The number of the first graph.
        graphs: How many there are.
        counts: How often what was seen.
        failures: What disagreed, with the graph's number.
        date: Of the last graphs.
    """

    made_by: dict[str, str]
    first: int
    graphs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    date: str = ""

    @property
    def stop(self) -> int:
        """The number behind the last graph."""
        return self.first + self.graphs

    def add(self, lines: Iterable[Mapping[str, Any]], failures: Iterable[str]) -> None:
        """Count what came of further graphs.

        Args:
            lines: What came of each, as `support.soundness.isolated` says it.
            failures: What disagreed.
        """
        for line in lines:
            self.graphs += 1
            self.counts.update(line.get("result", {}))
        self.failures += [failure.replace(f"{ROOT}/", "") for failure in failures]
        self.date = today()


class Record:
    """A file of parts, the newest last."""

    def __init__(self, path: Path) -> None:
        """Read a record, or begin one."""
        self._path = path
        read = json.loads(path.read_text("utf-8"))["parts"] if path.is_file() else []
        self.parts = [Part(**part | {"counts": Counter(part["counts"])}) for part in read]

    @property
    def graphs(self) -> int:
        """How many were tried: the numbers from 0 on."""
        return self.parts[-1].stop if self.parts else 0

    def current(self) -> Part:
        """The part of these versions and sources, a new one behind the last where that differs."""
        made_by = versions_of(_PACKAGES) | {"sources": digest_of(_SOURCES)}
        if not self.parts or self.parts[-1].made_by != made_by:
            self.parts.append(Part(made_by, first=self.graphs))
        return self.parts[-1]

    def save(self) -> None:
        """Write the file, whole or not at all."""
        parts = [
            asdict(part) | {"counts": dict(sorted(part.counts.items()))} for part in self.parts
        ]
        write_record(self._path, {"graphs": self.graphs, "parts": parts})
