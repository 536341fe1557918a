"""The record of the mutants: what came of those of each file, and with which versions."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from records import today, versions_of, write_record

_PACKAGES = ("mutmut", "libcst", "pytest", "hypothesis", "numpy", "onnx", "onnx-ir", "onnxruntime")


@dataclass(slots=True)
class Entry:
    """What came of the mutants of a file.

    Attributes:
        source: A digest of the file.
        date: The day of the last trial, in UTC.
        mutants: How many there are.
        killed: How many some test told from the original.
        timeouts: How many never came to an end.
        equivalent: How many survived that are listed, with the reason.
        survivors: The others.
    """

    source: str
    date: str = field(default_factory=today)
    mutants: int = 0
    killed: int = 0
    timeouts: int = 0
    equivalent: int = 0
    survivors: list[str] = field(default_factory=list)


class Record:
    """A file of entries, one for each file of the package."""

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        """Read a record, or begin one.

        Args:
            path: The file; it need not be there.
            anew: Whether to begin in any case.
        """
        self._path = path
        self.entries: dict[str, Entry] = {}
        if anew or not path.exists():
            return
        read = json.loads(path.read_text("utf-8"))
        if read["made_with"] == versions():
            self.entries = {name: Entry(**entry) for name, entry in read["files"].items()}

    def save(self) -> None:
        """Write the file, whole or not at all."""
        content = {
            "made_with": versions(),
            "files": {name: asdict(entry) for name, entry in sorted(self.entries.items())},
        }
        write_record(self._path, content)


def versions() -> dict[str, str]:
    """What decides the results: the packages, Python and the kind of processor."""
    return versions_of(_PACKAGES)


def digest(*files: Path) -> str:
    """What tells files from their other versions.

    Args:
        *files: The files.
    """
    found = hashlib.sha256()
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()[:16]
