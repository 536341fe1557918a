"""The record of the sweeps: how far each is, what differed, and with which versions."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from records import today, versions_of, write_record

from every_pair.sweep import BLOCKS, PAIRS_PER_BLOCK, Differences, Sweep
from sonnx_ort.options import Backend

_PACKAGES = ("sonnx_ort", "onnxruntime", "onnxruntime-extensions", "numpy", "ml_dtypes")
"""What decides the results; behind the first one."""

_MOST_EXAMPLES = 10


class OtherVersions(Exception):  # noqa: N818 - reads as what happened
    """A record was made with other versions; the message says with which."""


@dataclass(slots=True)
class Entry:
    """How far a sweep is.

    Attributes:
        pairs: How many pairs were compared, those of whole blocks.
        differences: How many of them a backend computed otherwise, by backend.
        examples: Some of those.
        date: The day of the last block, in UTC.
    """

    pairs: int = 0
    differences: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Backend, 0))
    examples: list[str] = field(default_factory=list)
    date: str = ""

    @property
    def blocks(self) -> int:
        """How many blocks were compared."""
        return self.pairs // PAIRS_PER_BLOCK

    @property
    def complete(self) -> bool:
        """Whether all were."""
        return self.blocks == BLOCKS

    def add(self, found: Mapping[Backend, Differences]) -> None:
        """Count one more block.

        Args:
            found: What each backend computed otherwise.
        """
        self.pairs += PAIRS_PER_BLOCK
        self.date = today()
        for backend, differences in found.items():
            self.differences[backend] += differences.count
            room = _MOST_EXAMPLES - len(self.examples)
            self.examples += [f"{backend}: {text}" for text in differences.examples[:room]]


class Record:
    """A file of entries, one for each sweep."""

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        """Read a record, or begin one.

        Args:
            path: The file; it need not be there.
            anew: Whether to begin in any case.

        Raises:
            OtherVersions: It is there, and was made with other versions.
        """
        self._path = path
        self._entries: dict[str, Entry] = {}
        if anew or not path.exists():
            return
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["versions"] != versions():
            raise OtherVersions(
                f"{path} was made with {_words(read['versions'])}; here are {_words(versions())}. "
                "Begin another record with --record, or this one again with --anew."
            )
        self._entries = {name: Entry(**entry) for name, entry in read["sweeps"].items()}

    def entry(self, sweep: Sweep) -> Entry:
        """The entry of a sweep, a new one if there is none.

        Args:
            sweep: The sweep.
        """
        return self._entries.setdefault(str(sweep), Entry())

    def save(self) -> None:
        """Write the file, whole or not at all."""
        content: dict[str, Any] = {
            "versions": versions(),
            "sweeps": {name: asdict(entry) for name, entry in self._entries.items()},
        }
        write_record(self._path, content)


def versions() -> dict[str, str]:
    """What decides the results: the packages, Python and the kind of processor."""
    return versions_of(_PACKAGES)


def _words(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())
