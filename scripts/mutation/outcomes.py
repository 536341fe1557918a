"""What came of mutants, and the lists of those that do what the original does."""

import argparse
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ages import digest
from environment import ROOT
from records import RECORDS, Record, make_parser, today, versions_of

from mutation.shown import counts

_COUNTS = (
    "{mutants} mutants, {tried} tried, {killed} killed, {timeouts} without an end, "
    "{equivalent} equivalent, {survivors} survived"
)


@dataclass(frozen=True, slots=True)
class Sample:
    """Which mutants of a file were tried.

    Attributes:
        numbers: Their numbers, by what came of them.
        killed: The names of those that a test fails on.
    """

    numbers: Mapping[str, Sequence[int]]
    killed: Collection[str]


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
        return {one for e in self._equivalents if e["path"] == path for one in e["mutants"]}

    def add(
        self,
        path: str,
        mutants: int,
        survived: Sequence[str],
        lines: Mapping[str, int],
        tried: Sample | int,
    ) -> None:
        """Note and print what came of the mutants of a file.

        Some test fails on the others, of the sample if there is one.

        Args:
            path: The file.
            mutants: How many there are.
            survived: The names of those that survived.
            lines: The lines at which they are, by their names.
            tried: The sample that was tried; of all, how many come to no end.
        """
        listed = self.listed(path)
        survivors = [name for name in dict.fromkeys(survived) if name not in listed]
        sample = tried if isinstance(tried, Sample) else None
        in_vain = listed if sample is None else listed.intersection(sample.killed)
        stale = sorted(in_vain.difference(survived))
        timeouts = tried if isinstance(tried, int) else len(tried.numbers["endless"])
        count = mutants if sample is None else sum(map(len, sample.numbers.values()))
        entry = {
            "source": digest(path),
            "date": today(),
            "mutants": mutants,
            "killed": count - timeouts - len(survived),
            "timeouts": timeouts,
            "equivalent": len(survived) - len(survivors),
            "survivors": survivors,
        }
        if sample is not None:
            entry["numbers"] = sample.numbers
        self.files[path] = entry
        self.good &= not survivors and not stale
        if not count and mutants:
            return
        told = _COUNTS.format(**entry | {"survivors": len(survivors), "tried": count})
        shown = (f"{path}:{lines[s]}: {s}" for s in survivors)
        vain = (f"listed in vain: {one}" for one in stale)
        print(f"{path}: {told}", *shown, *vain, sep="\n    ", flush=True)

    def tell_sum(self, what: str, files: Iterable[str]) -> None:
        """Print what came of all mutants of some files, of which samples were tried."""
        sums = counts([self.files[path] for path in files])
        print(f"{what}: {_COUNTS.format(**sums)}", flush=True)

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


def listed_in(path: Path) -> list[dict[str, Any]]:
    """All that a file lists: the `path` of a file, `mutants` of it, and the `reason`."""
    listed: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8")).get("equivalent", [])
    return listed
