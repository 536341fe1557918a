"""`campaigns.py matrix [FOLDER ...]`: which folders of tests notice a fault, room by room.

A seed draws files of the package, and three faults of each, of those that `campaigns.py mutants`
makes. Each folder of tests runs with each fault, as far as its tests reach the function that has
it: first with those of the rooms that it owns, and for so many seconds at most, fewer if an owner
has noticed it. The record tells of each fault which folders notice it, and the next call goes on
with it. What has changed since, a file of the package or one of a folder of tests, counts as not
tried. Prints how many faults of each room are noticed by each folder, and the faults that no owner
notices. Ends with status 1 if there are any, with 2 if tests fail without a fault.
"""

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ages import digest, digest_of_all, digests
from environment import ROOT
from mutate import CASES, EQUIVALENTS
from mutation.calling import LOG, SURVIVED, Limits, statuses
from mutation.functions import Functions
from mutation.outcomes import listed_in, python_files
from mutation.rooms import TESTS, place_of, room_of
from records import Record, make_parser, versions_of

RECORD = ROOT / "build" / "matrix.json"
"""Where the record is, unless another file is named."""

SINGLE = "single files"
"""What the files in `tests` itself are called."""

COUNT, MOST, BESIDE = 300, 10.0, 2.0
"""How many faults are drawn if no number is given, and for how many seconds a folder runs with one.

The last number is for what an owner has noticed: nobody has to notice it besides.
"""

_PACKAGES = ("mutmut", "pytest", "hypothesis", "numpy", "onnx", "onnx-ir", "onnxruntime")

_ELSEWHERE = ("documentation", "node", "packaging", "plain_python", "scripts", "support")
"""Folders whose tests are about other things than the package, or run it in a Python of its own."""

WHO = ("owner alone", "owner and others", "others alone", "none")
"""Who may notice a fault."""

_OF_A_FILE = 3
"""How many faults of a file are drawn: to read it takes long."""

_OWNER, _BOTH, _OTHERS, _NONE = WHO


def run(arguments: Sequence[str]) -> int:
    """Try faults with the folders, keep the record and print what came of it."""
    options = _parse(arguments)
    made_by = versions_of(_PACKAGES)
    record = Record(options.record, anew=options.anew, made_by=made_by, faults={}, folders={})
    matrix = Matrix(record)
    matrix.draw(options.count, options.seed)
    begun, failed = time.monotonic(), False
    for place, folder in enumerate(options.folders):
        # Each folder has its part of the time that is left.
        now = time.monotonic()
        until = now + (begun + options.seconds - now) / (len(options.folders) - place)
        seconds = options.most, options.beside
        failed |= not matrix.try_with(folder, until, seconds, options.cases)
        record.write()
    told = matrix.told()
    print(table(matrix.faults), *told, sep="\n")
    if failed:
        print(f"Some tests could not be run; {LOG.relative_to(ROOT)} says why.")
    return 2 if failed else int(bool(told))


class Matrix:
    """Faults, each with its file, and the folders that notice it.

    Attributes:
        faults: The record's entries, by "path#number".
    """

    def __init__(self, record: dict[str, Any]) -> None:
        """Forget what is known of files and of folders that have changed.

        Args:
            record: The record, which gets what is found.
        """
        known: dict[str, dict[str, Any]] = record["faults"]
        self.faults = {
            name: entry
            for name, entry in known.items()
            if (ROOT / entry["path"]).is_file() and digest(entry["path"]) == entry["source"]
        }
        record["faults"] = self.faults
        for folder, tests in folders().items():
            now = digest_of_all(digests(tests, (".py",)))
            if record["folders"].get(folder, now) != now:
                for entry in self.faults.values():
                    entry["noticed"].pop(folder, None)
            record["folders"][folder] = now

    def draw(self, count: int, seed: int) -> None:
        """Draw further faults until there are so many."""
        listed = {(e["path"], name) for e in listed_in(EQUIVALENTS) for name in e["mutants"]}
        files = drawn_files(seed)
        while len(self.faults) < count and (path := next(files, "")):
            module = Functions((ROOT / path).read_text("utf-8"))
            numbers = range(module.mutants)
            drawing = random.Random(f"{seed} {path}")  # noqa: S311 - draws no secret
            for number in drawing.sample(numbers, min(_OF_A_FILE, len(numbers))):
                mutant = module.mutant(number)
                entry = {"path": path, "number": number, "source": digest(path)}
                entry |= {"line": mutant.line, "name": mutant.name, "noticed": {}}
                if (path, mutant.name) not in listed:
                    self.faults.setdefault(f"{path}#{number}", entry)

    def try_with(self, folder: str, until: float, seconds: tuple[float, float], cases: int) -> bool:
        """Try what is not known of a folder; give whether its tests could be run.

        What has its effect while a module is imported is left out: it takes all tests each time.

        Args:
            folder: Its name.
            until: When no further fault is tried, as `time.monotonic` has it.
            seconds: How long tests run with a fault; with one that an owner has noticed.
            cases: How many cases of each test run, 0 for all.
        """
        left = [entry for entry in self.faults.values() if folder not in entry["noticed"]]
        left.sort(key=lambda entry: folder not in owners(entry["path"]))
        mutants = [(entry["path"], entry["number"]) for entry in left]
        chosen = ("--cases", str(cases)) if cases else ()
        most, beside = seconds
        owned = (_OWNER, _BOTH)
        fewer = {(e["path"], e["number"]): beside for e in left if noticed_by(e) in owned}
        limits = Limits(until, most, again=False, fewer=fewer)
        found = statuses("functions", mutants, folders()[folder], limits, chosen)
        for (path, number), status in (found or {}).items():
            self.faults[f"{path}#{number}"]["noticed"][folder] = status != SURVIVED
        return found is not None

    def told(self) -> list[str]:
        """The faults that no owner notices, a line each."""
        return [
            f"{who}: {entry['path']}:{entry['line']}: {entry['name']}"
            + "".join(f" [{folder}]" for folder, noticed in entry["noticed"].items() if noticed)
            for who in (_OTHERS, _NONE)
            for entry in self.faults.values()
            if noticed_by(entry) == who
        ]


def noticed_by(entry: Mapping[str, Any]) -> str | None:
    """Who notices a fault; None as long as its owners have not tried it."""
    noticed: Mapping[str, bool] = entry["noticed"]
    its = owners(entry["path"])
    owned = any(noticed.get(folder) for folder in its)
    if not owned and not its <= noticed.keys():
        return None
    others = any(noticed[folder] for folder in noticed.keys() - its)
    return (_BOTH if others else _OWNER) if owned else (_OTHERS if others else _NONE)


def table(faults: Mapping[str, Mapping[str, Any]]) -> str:
    """Who notices the faults of each room, in Markdown: those that its owners have tried."""
    by_rooms: dict[str, list[Mapping[str, Any]]] = {}
    for entry in faults.values():
        if noticed_by(entry) is not None:
            by_rooms.setdefault(room_of(entry["path"]), []).append(entry)
    columns = [
        folder for folder in folders() if any(folder in e["noticed"] for e in faults.values())
    ]
    rows = [f"| {' | '.join(('room', 'faults', *WHO, *columns))} |"]
    rows.append("| --- |" + " ---: |" * (1 + len(WHO) + len(columns)))
    every = [entry for entries in by_rooms.values() for entry in entries]
    for room, entries in (*sorted(by_rooms.items()), ("all", every)):
        who = Counter(map(noticed_by, entries))
        cells = [len(entries), *(who[name] for name in WHO)]
        cells += [sum(bool(e["noticed"].get(folder)) for e in entries) for folder in columns]
        rows.append(f"| {room} | {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def folders() -> dict[str, list[str]]:
    """What the package is tried with, by name: folders of tests, those of owners first."""
    found = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    owning = {folder_of(test) for tests in TESTS.values() for test in tests}
    names = sorted(found.difference(_ELSEWHERE), key=lambda name: (name not in owning, name))
    single = sorted((ROOT / "tests").glob("test_*.py"))
    return {name: [f"tests/{name}"] for name in names} | {
        SINGLE: [file.relative_to(ROOT).as_posix() for file in single]
    }


def folder_of(test: str) -> str:
    """The name of the folder that a file or a folder of tests belongs to."""
    name = test.split("/")[1]
    return SINGLE if name.endswith(".py") else name


def owners(path: str) -> set[str]:
    """The folders that own what a file of the package promises."""
    return {folder_of(test) for test in TESTS[room_of(path)]}


def drawn_files(seed: int) -> Iterator[str]:
    """The files of all rooms in an order that a seed draws, larger ones before smaller ones.

    One file of each room comes before all others.
    """
    drawing = random.Random(seed)  # noqa: S311 - draws no secret
    files = python_files(map(place_of, TESTS))
    sizes = {path: (ROOT / path).stat().st_size + 1 for path in files}
    # One of four times the size is twice as likely to be before another.
    times = {path: drawing.expovariate(math.sqrt(size)) for path, size in sizes.items()}
    files.sort(key=times.__getitem__)
    first = {room_of(path): path for path in reversed(files)}
    yield from sorted(files, key=lambda path: first[room_of(path)] != path)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(__doc__, RECORD, count=COUNT, seed=1, seconds=math.inf)
    known = (*folders(),)
    parser.add_argument(
        "folders", nargs="*", metavar="FOLDER", default=known, help="folders of tests; all"
    )
    for name, kind, default, what in (
        ("--most", float, MOST, "the seconds of tests that a folder has for a fault"),
        ("--beside", float, BESIDE, "the same, if an owner has noticed it"),
        ("--cases", int, CASES, "how many cases of each test run, 0 for all"),
    ):
        parser.add_argument(name, type=kind, default=default, help=f"{what}; %(default)s")
    options = parser.parse_args(arguments)
    for folder in set(options.folders).difference(known):
        parser.error(f"there is no folder {folder} of tests that are about the package")
    return options
