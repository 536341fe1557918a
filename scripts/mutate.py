"""`campaigns.py mutants [ROOM ...]`: faults put into the package, one at a time.

mutmut says which changes can be made to each function. They are made one at a time, and the tests
that own the room run, as far as they reach the function; one of them has to fail. Of each room that
is named, of all without, and of files and folders that are named in their place, a sample is tried
that a seed draws, within a limit of time. What came of it is recorded in docs/records/mutants.json,
for each file as it was. Another call draws others, and tries again what survived. Those that do
what the original does are listed in scripts/mutation/equivalents.toml. Ends with status 1 if
another one survives, with 2 if tests fail without a mutant.
"""

import argparse
import hashlib
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ages import digest
from environment import ROOT
from mutation.calling import ENDLESS, LOG, SURVIVED, Limits, statuses
from mutation.functions import Functions
from mutation.outcomes import Outcomes, Sample, python_files
from mutation.rooms import TESTS, by_room, mirrors, place_of, places
from records import RECORDS, make_parser

EQUIVALENTS = Path(__file__).parent / "mutation" / "equivalents.toml"
"""The mutants that do what the original does, and why."""

ROOMS = tuple(map(place_of, TESTS))
"""What mutants are made of."""

_PACKAGES = ("mutmut", "libcst", "pytest", "hypothesis", "numpy", "onnx", "onnx-ir", "onnxruntime")
COUNT, SECONDS, CASES = 60, 1500.0, 6
"""What is tried unless other numbers are given: so much that a room ends within half an hour."""


def run(arguments: Sequence[str]) -> int:
    """Try mutants and keep the record; give 1 if one survived that is not listed."""
    options = _parse(arguments)
    outcomes, failed = Outcomes(options, _PACKAGES, EQUIVALENTS), False
    begun = time.monotonic()
    chosen = by_room(options.files)
    for place, (room, files) in enumerate(chosen.items()):
        # Each room has its part of the time that is left.
        now = time.monotonic()
        until = now + (begun + options.seconds - now) / (len(chosen) - place)
        failed |= not _try(room, files, options, outcomes, until)
        outcomes.write()
    if failed:
        print(f"Some tests could not be run; {LOG.relative_to(ROOT)} says why.")
    return 2 if failed else int(not outcomes.good)


def _try(
    room: str, files: Sequence[str], options: argparse.Namespace, outcomes: Outcomes, until: float
) -> bool:
    """Try a sample of the mutants of a room's files; give whether its tests could be run."""
    seeds = outcomes.record.setdefault("seeds", {})
    seed = seeds.get(room, 0) + 1 if options.seed is None else options.seed
    modules = {path: Functions((ROOT / path).read_text("utf-8")) for path in files}
    tried = {path: _known(path, outcomes) for path in files}
    again = [(path, number) for path, known in tried.items() for number in known["survived"]]
    new = drawn(modules, tried, seed)[: max(0, options.count - len(again))]
    tests = options.tests or TESTS.get(room, ("tests",))
    cases = ("--cases", str(options.cases)) if options.cases else ()
    found = _found(again + new, tests, until, cases)
    if found is None:
        return False
    seeds[room] = seed
    for path, module in modules.items():
        results = {number: status for (file, number), status in found.items() if file == path}
        _add(outcomes, path, module, tried[path], results)
    outcomes.tell_sum(room, files)
    return True


def _found(
    mutants: Sequence[tuple[str, int]], tests: Sequence[str], until: float, cases: Sequence[str]
) -> dict[tuple[str, int], int] | None:
    """The status of each mutant that there was time for, as `statuses` gives it.

    The tests that mirror its file are tried first, without those of the rest of the room.
    """
    own = {path: mirrors(path, tests) for path in dict.fromkeys(path for path, _ in mutants)}
    first = [mutant for mutant in mutants if own[mutant[0]]]
    limits = Limits(until, again=False)
    of_files = list(dict.fromkeys(test for each in own.values() for test in each))
    found = statuses("functions", first, of_files, limits, cases)
    if found is None or time.monotonic() > until:
        return found
    left = [mutant for mutant in mutants if found.get(mutant, SURVIVED) == SURVIVED]
    rest = statuses("functions", left, tests, Limits(until), cases)
    return None if rest is None else found | rest


def _known(path: str, outcomes: Outcomes) -> dict[str, list[int]]:
    """The numbers of the mutants that were tried of a file as it is, by what came of them."""
    entry: dict[str, Any] = outcomes.files.get(path, {})
    known = entry["numbers"] if entry.get("source") == digest(path) else {}
    return {name: list(known.get(name, ())) for name in ("killed", "endless", "survived")}


def drawn(
    modules: dict[str, Functions], tried: dict[str, dict[str, list[int]]], seed: int
) -> list[tuple[str, int]]:
    """All mutants that were not tried, in the order of a seed."""
    left = [
        (path, number)
        for path, module in modules.items()
        for number in set(range(module.mutants)).difference(*tried[path].values())
    ]

    def order(one: tuple[str, int]) -> bytes:
        return hashlib.sha256(f"{seed} {one[0]} {one[1]}".encode()).digest()

    return sorted(left, key=order)


def _add(
    outcomes: Outcomes,
    path: str,
    module: Functions,
    known: dict[str, list[int]],
    results: dict[int, int],
) -> None:
    """Note what came of a file's mutants."""
    numbers = {name: set(those) - results.keys() for name, those in known.items()}
    for number, status in results.items():
        names = {SURVIVED: "survived", ENDLESS: "endless"}
        numbers[names.get(status, "killed")].add(number)
    tried = {name: sorted(those) for name, those in numbers.items()}
    survived = {number: module.mutant(number).name for number in tried["survived"]}
    lines = {name: module.mutant(number).line for number, name in survived.items()}
    listed = tried["killed"] if outcomes.listed(path) else ()
    sample = Sample(tried, {module.mutant(number).name for number in listed})
    outcomes.add(path, module.mutants, list(survived.values()), lines, sample)


def changed_since(commit: str) -> list[str]:
    """The files of the product that differ from those of a commit, or are new."""
    git = ["git", "-C", str(ROOT)]
    compared = [*git, "diff", "--name-only", "--diff-filter=d", "--relative", commit, "--", *ROOMS]
    new = [*git, "ls-files", "--others", "--exclude-standard", "--", *ROOMS]
    told = "".join(subprocess.check_output(one, text=True) for one in (compared, new))
    return told.splitlines()


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(__doc__, RECORDS / "mutants.json", seconds=SECONDS)
    told = {"files": "rooms, files or folders", "tests": "the tests; those of each room"}
    parser.add_argument("files", nargs="*", metavar="ROOM", default=TESTS, help=told["files"])
    parser.add_argument("--tests", nargs="+", metavar="FILE", help=told["tests"])
    for name, default, what in (
        ("count", COUNT, "how many of each room, at most; %(default)s"),
        ("cases", CASES, "how many cases of each test run, 0 for all; %(default)s"),
        ("seed", None, "what draws them; one more than the last time"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=what)
    changed = "only of files that have changed since"
    parser.add_argument("--changed-since", metavar="COMMIT", help=changed)
    options = parser.parse_args(arguments)
    named = places(options.files)
    for place in (*named, *(options.tests or ())):
        if not (ROOT / place.partition("::")[0]).exists():
            parser.error(f"there is no room, file or folder {place}")
    options.files = python_files(named)
    if options.changed_since is not None:
        changes = changed_since(options.changed_since)
        options.files = [path for path in options.files if path in changes]
    return options
