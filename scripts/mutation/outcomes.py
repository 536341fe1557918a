"""What came of mutants, and the lists of those that do what the original does."""

import argparse
import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from environment import ROOT
from records import RECORDS, Record, make_parser, today, versions_of


@dataclass(slots=True)
class Entry:
    """What came of the mutants of a file, of which `source` is a digest, and when, in UTC.

    Some test fails on those `killed`, or the process ends; `timeouts` come to no end; those
    `equivalent` are listed, with the reason; `survivors` are the others.
    """

    source: str
    date: str = field(default_factory=today)
    mutants: int = 0
    killed: int = 0
    timeouts: int = 0
    equivalent: int = 0
    survivors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Give all numbers."""
        return (
            f"{self.mutants} mutants, {self.killed} killed, {self.timeouts} without an end, "
            f"{self.equivalent} equivalent, {len(self.survivors)} survived"
        )


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Mutants of a file that do what the original does, as `mutants` names them, and why."""

    path: str
    mutants: tuple[str, ...]
    reason: str


class Outcomes:
    """The record of a campaign, begun anew if it was made with other packages or if that is asked.

    Attributes:
        record: The record.
        files: The entries by the files' paths.
        good: Whether nothing has survived that is not listed, and nothing is listed in vain.
    """

    def __init__(
        self, options: argparse.Namespace, packages: Iterable[str], equivalents: Path
    ) -> None:
        made_by = versions_of(packages)
        self.record = Record(options.record, anew=options.anew, made_by=made_by, files={})
        self.files: dict[str, Any] = self.record["files"]
        self._equivalents, self.good = listed_in(equivalents), True

    def listed(self, path: str) -> set[str]:
        """The mutants of a file that are listed as equivalent."""
        return {one for e in self._equivalents if e.path == path for one in e.mutants}

    def add(
        self, path: str, entry: Entry, survived: Sequence[str], places: Mapping[str, str]
    ) -> None:
        """Note and print what came of the mutants of a file.

        Args:
            path: The file.
            entry: Its entry, which has the number of mutants and of timeouts.
            survived: The names of those that survived.
            places: What is printed in front of a survivor, by its name.
        """
        listed = self.listed(path)
        entry.survivors = [name for name in dict.fromkeys(survived) if name not in listed]
        entry.killed = entry.mutants - entry.timeouts - len(survived)
        entry.equivalent = len(survived) - len(entry.survivors)
        stale = sorted(listed.difference(survived))
        self.files[path] = asdict(entry)
        self.good &= not entry.survivors and not stale
        shown = (f"{places.get(name, '')}{name}" for name in entry.survivors)
        vain = (f"listed in vain: {one}" for one in stale)
        print(f"{path}: {entry}", *shown, *vain, sep="\n    ", flush=True)

    def write(self) -> None:
        """Write the record."""
        self.record["files"] = dict(sorted(self.files.items()))
        self.record.write()


def parse(
    description: str, record: str, rooms: Sequence[str], arguments: Sequence[str]
) -> argparse.Namespace:
    """Read the arguments of a campaign: files or folders, those of rooms by default, and tests."""
    parser = make_parser(description, RECORDS / record)
    parser.add_argument("files", nargs="*", metavar="FILE", default=rooms, help="files or folders")
    parser.add_argument("--tests", nargs="+", metavar="FILE", help="the tests; those of each room")
    options = parser.parse_args(arguments)
    for place in (*options.files, *(options.tests or ())):
        if not (ROOT / place.partition("::")[0]).exists():
            parser.error(f"there is no file or folder {place}")
    return options


def python_files(places: Iterable[str]) -> list[str]:
    """The Python files at places, from the repository's root."""
    paths = (ROOT / place for place in places)
    found = (f for path in paths for f in (sorted(path.rglob("*.py")) if path.is_dir() else [path]))
    return list(dict.fromkeys(file.relative_to(ROOT).as_posix() for file in found))


def digest(path: str) -> str:
    """A short digest of a file."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


def listed_in(path: Path) -> list[Equivalent]:
    """All that a file lists."""
    listed = tomllib.loads(path.read_text("utf-8")).get("equivalent", [])
    return [Equivalent(e["path"], tuple(e["mutants"]), e["reason"]) for e in listed]
