"""What `mutate.py` does: tries the mutants of each file that the record does not have."""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from environment import ROOT

from mutation.equivalents import by_path
from mutation.isolation import Outcome
from mutation.mutants import Mutant, SourceFile, files
from mutation.record import Entry, Record, digest
from mutation.survey import Survey
from mutation.surveys import TABLES, TESTS, survey
from mutation.trials import VARIABLES, Trial

RECORD = ROOT / "docs" / "records" / "mutants.json"
"""The record that is kept in the repository."""

ROOMS = (
    "sonnx_ort/profile",
    "custom_ops",
    "sonnx_ort/knowledge",
    "sonnx_ort/obligations",
    "sonnx_ort/enforcing",
    "sonnx_ort/options.py",
    "sonnx_ort/pipeline.py",
    "sonnx_ort/api.py",
    "sonnx_ort/files.py",
)
"""What mutants are made of."""

_BUDGETS = {"live": 60.0, "fresh": 10.0}
"""How long the tests of a mutant may take together, in seconds: the quickest ones are run.

Those of a whole room, behind a mutant that ran while modules were imported, get less.
"""


class OriginalFails(Exception):  # noqa: N818 - reads as what happened
    """Tests fail where nothing is changed; the message says of which file."""


class TrierEnded(Exception):  # noqa: N818 - reads as what happened
    """A process that tries mutants ended before all were tried; the message says which."""


class Trier:
    """A process that tries mutants, started when the first one is there."""

    def __init__(self, kind: str, tests: Sequence[str] = ()) -> None:
        self._command = [sys.executable, "-m", "mutation.trials", kind, *tests]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.communicate()

    def outcome(self, trial: Trial) -> Outcome:
        """Try a mutant.

        Args:
            trial: The mutant and its tests.

        Raises:
            TrierEnded: The process did; tests that cannot be collected are why.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=os.environ | VARIABLES,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        to, back = cast(IO[str], self._process.stdin), cast(IO[str], self._process.stdout)
        to.write(trial.to_line())
        to.flush()
        told = back.readline().strip()
        if not told:
            raise TrierEnded(f"{' '.join(self._command)} ended; what it wrote stands above")
        return Outcome(told)


class Trials:
    """Tries mutants, first in functions as they are, then while all is imported."""

    def __init__(self, known: Survey, live: Trier, fresh: Trier) -> None:
        self._known = known
        self._live = live
        self._fresh = fresh
        self._kept: set[tuple[str, ...]] = set()

    def check(self) -> None:
        """Have all tests pass in a fork in which nothing is changed.

        Raises:
            OriginalFails: They do not.
            TrierEnded: A process that tries mutants ended.
        """
        tests = sorted(self._known.seconds, key=self._known.seconds.__getitem__)
        trial = Trial("", "", 0, "", *self._within(tests, "live", starting=60))
        if self._live.outcome(trial) is not Outcome.SURVIVED:
            raise OriginalFails("tests fail in a fork without a mutant")

    def outcome(self, mutant: Mutant) -> Outcome:
        """What comes of a mutant.

        Args:
            mutant: The mutant.

        Raises:
            OriginalFails: The tests that are tried while all is imported fail without it too.
            TrierEnded: A process that tries mutants ended.
        """
        tests = self._known.reaching(mutant.path, mutant.lines)
        outcome = Outcome.SURVIVED
        if tests:
            outcome = self._live.outcome(self._trial(mutant, tests, "live"))
        at_import = self._known.runs_at_import(mutant.path, mutant.lines)
        if outcome is Outcome.NOT_TRIED or (outcome is Outcome.SURVIVED and at_import):
            outcome = self._outcome_at_import(mutant)
        return outcome

    def _outcome_at_import(self, mutant: Mutant) -> Outcome:
        """What comes of a mutant that may run while modules are imported and tests collected."""
        outcome = Outcome.SURVIVED
        # Few tests look at all that is made then; most mutants need no others.
        for tests in (self._known.in_modules(TABLES), self._known.around(mutant.path)):
            if outcome is Outcome.SURVIVED and tests:
                trial = self._trial(mutant, tests, "fresh", starting=30)
                self._check_original(trial)
                outcome = self._fresh.outcome(trial)
        return outcome

    def _check_original(self, trial: Trial) -> None:
        """Have the same tests pass without a mutant: what fails anyway tells nothing."""
        tests = tuple(trial.tests)
        if tests in self._kept:
            return
        original = replace(trial, source=trial.file.read_text("utf-8"))
        if self._fresh.outcome(original) is not Outcome.SURVIVED:
            raise OriginalFails(f"tests of {trial.path} fail without a mutant")
        self._kept.add(tests)

    def _trial(self, mutant: Mutant, tests: Sequence[str], kind: str, starting: int = 5) -> Trial:
        chosen, seconds = self._within(tests, kind, starting)
        return Trial(
            mutant.path,
            mutant.change.function,
            mutant.function_line,
            mutant.source,
            chosen,
            seconds,
        )

    def _within(self, tests: Sequence[str], kind: str, starting: int) -> tuple[list[str], int]:
        """The quickest tests, and how long they may compute together."""
        sums = accumulate(self._known.seconds[test] for test in tests)
        pairs = takewhile(lambda pair: pair[1] < _BUDGETS[kind], zip(tests, sums, strict=True))
        chosen = [test for test, _ in pairs]
        return chosen, int(starting + 3 * sum(self._known.seconds[test] for test in chosen))


def run(arguments: Sequence[str]) -> int:
    """Try mutants, file by file, and keep the record.

    Args:
        arguments: The command line without the program.

    Returns:
        The exit status: 0 if no mutant survived that is not listed, else 1.
    """
    options = _parser().parse_args(arguments)
    record = Record(options.record, anew=options.anew)
    listed = by_path()
    good = True
    with Trier("live", options.tests) as live, Trier("fresh") as fresh:
        trials = Trials(survey(options.tests), live, fresh)
        trials.check()
        for file in files(*(options.only or ROOMS)):
            known = record.entries.get(file.path)
            entry, stale = _tried(file, known, listed.get(file.path, set()), trials)
            record.entries[file.path] = entry
            record.save()
            print(_words(file.path, entry, stale), flush=True)
            good &= not entry.survivors and not stale
    return 0 if good else 1


def _tried(
    file: SourceFile, known: Entry | None, listed: set[str], trials: Trials
) -> tuple[Entry, set[str]]:
    """What came of a file's mutants, and what is listed of it in vain."""
    source = digest(ROOT / file.path)
    mutants = list(file.mutants())
    again = mutants
    if known is not None and known.source == source:
        again = [mutant for mutant in mutants if str(mutant.change) in {*known.survivors, *listed}]
    entry = Entry(source, mutants=len(mutants))
    found = set()
    for mutant in again:
        outcome = trials.outcome(mutant)
        entry.timeouts += outcome is Outcome.TIMEOUT
        if outcome is Outcome.SURVIVED:
            change = str(mutant.change)
            found.add(change)
            entry.equivalent += change in listed
            entry.survivors += [] if change in listed else [change]
    if known is not None and again is not mutants:
        entry.timeouts += known.timeouts
    entry.killed = entry.mutants - entry.timeouts - entry.equivalent - len(entry.survivors)
    return entry, listed - found


def _words(path: str, entry: Entry, stale: Iterable[str]) -> str:
    told = (
        f"{path}: {entry.mutants} mutants, {entry.killed} killed, {entry.timeouts} without an end, "
        f"{entry.equivalent} equivalent, {len(entry.survivors)} survived"
    )
    return "\n    ".join([told, *entry.survivors, *(f"listed in vain: {one}" for one in stale)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mutate.py", description="Try the mutants of the package with its tests."
    )
    parser.add_argument(
        "--record", type=Path, default=RECORD, help="the record, %(default)s by default"
    )
    parser.add_argument("--anew", action="store_true", help="begin the record again")
    parser.add_argument(
        "--only", nargs="+", metavar="FILE", help="these files or folders, all rooms by default"
    )
    parser.add_argument(
        "--tests",
        nargs="+",
        metavar="FILE",
        default=TESTS,
        help="try them with these tests, %(default)s by default",
    )
    return parser
