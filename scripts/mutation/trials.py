"""A plugin of pytest that tries mutants of conditions, each in a fork of one process.

The process has imported all modules, instrumented. The first fork runs all tests and notes which
conditions each of them reaches, and for how long it runs. Then a fork for each mutant gives the
condition another value, and runs the tests that reach it, until one fails. What a module computes
while it is imported keeps the original's value: such a mutant is tried again in a process of its
own, in which the condition has its value from the beginning.
"""

import builtins
import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from statistics import fmean
from types import CodeType
from typing import Any

import pytest

from mutation.conditions import CONDITION, STOPS, Mutant, instrumented, mutants
from mutation.process import limit_memory, package_caches

_AT_LEAST, _TIMES = 20, 5
"""A mutant has so many seconds, and so many times that of its tests."""

_AGAIN = 30
"""So many of the tests that failed last are run first."""

_LONGEST = 3600
_TESTS_FAIL, _BROKEN = 3, 70
_FILE = 1 << 20
"""By how much the numbers of conditions of two files differ, at least."""


@dataclass(slots=True)
class Trials:
    """What is tried: mutants of files by their names, with a line for each result.

    `forced` is the number of a condition and its value, from the beginning on; None where all are
    tried in turn. `reached` are the conditions that were evaluated since it was emptied, and
    `failed` the tests that have failed so far, the last one first.
    """

    files: dict[str, list[str]]
    results: Path
    forced: tuple[int, bool] | None
    reached: set[int] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)

    def condition(self, number: int, value: Any) -> Any:
        """The value of a condition, or that of the mutant."""
        self.reached.add(number)
        return self.forced[1] if self.forced and self.forced[0] == number else value

    def stops(self, number: int, value: bool) -> bool:
        """Whether a choice ends with an operand in the mutant."""
        return self.forced == (number, value)

    def instrument(self) -> None:
        """Have the files compiled with calls of both, before anything imports them."""
        setattr(builtins, CONDITION, self.condition)
        setattr(builtins, STOPS, self.stops)
        original, places = SourceFileLoader.get_code, [*self.files]

        def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
            path = os.path.realpath(loader.path)
            if path not in places:
                return original(loader, name)
            tree = instrumented(Path(path).read_text("utf-8"), places.index(path) * _FILE)
            code: CodeType = compile(tree, path, "exec")
            return code

        pytest.MonkeyPatch().setattr(SourceFileLoader, "get_code", get_code)

    def mutants(self) -> Iterator[tuple[str, int, Mutant]]:
        """Those that are tried, each with its file and the number of its condition."""
        for place, (path, names) in enumerate(self.files.items()):
            for mutant in mutants(Path(path).read_text("utf-8")):
                if mutant.name in names:
                    yield path, place * _FILE + mutant.number, mutant


_TRIALS = pytest.StashKey[Trials]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file that says what is tried."""
    parser.addoption("--trials", type=Path)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Note what is reached from now on, while modules are imported."""
    given = json.loads(early_config.known_args_namespace.trials.read_text("utf-8"))
    forced = given["forced"] and (given["forced"][0], given["forced"][1])
    trials = Trials(given["files"], Path(given["results"]), forced)
    if forced:
        limit_memory()
    trials.instrument()
    early_config.stash[_TRIALS] = trials


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Try all mutants in place of the tests, unless one is in effect."""
    trials = session.config.stash[_TRIALS]
    if trials.forced:
        return None
    imported = set(trials.reached)
    reaching, seconds = _reach(session, trials)
    for path, number, mutant in trials.mutants():
        names = reaching.get(str(number), [])
        items = _in_turn(session.items, seconds, names, trials.failed)
        limit = _AT_LEAST + _TIMES * sum(seconds[item.nodeid] for item in items)
        trials.forced = number, mutant.value
        status = _tried(session, trials, items, limit)
        trials.forced = None
        if status == _BROKEN:
            pytest.exit(f"{mutant.name} could not be tried.", returncode=_BROKEN)
        again = [number, mutant.value] if status == 0 and number in imported else None
        result = {"path": path, "mutant": mutant.name, "status": status, "again": again}
        # At once: a call may be interrupted.
        with trials.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    return True


def _tried(
    session: pytest.Session, trials: Trials, items: Sequence[pytest.Item], limit: float
) -> int:
    failing = trials.results.with_suffix(".failing")

    def act() -> int:
        for clear in package_caches():
            clear()
        for item, failures in zip(items, _failures(session, items), strict=True):
            if failures:
                failing.write_text(item.nodeid, "utf-8")
                return 1
        return 0

    status = forked(act, limit)
    if status == 1:
        failed = failing.read_text("utf-8")
        trials.failed = [failed, *(test for test in trials.failed if test != failed)]
    return status


def forked(act: Callable[[], int], limit: float) -> int:
    """The exit status of an act in a fork, within seconds; negative if a signal ended it."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = _BROKEN
        try:
            os.setpgid(0, 0)
            signal.setitimer(signal.ITIMER_REAL, limit)
            limit_memory()
            status = act()
        except BaseException:  # noqa: BLE001 - the fork ends here, whatever happens
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what its tests have started
    return os.waitstatus_to_exitcode(status)


def _failures(session: pytest.Session, items: Sequence[pytest.Item]) -> Iterator[int]:
    """Run tests; give after each how many have failed so far."""
    for place, item in enumerate(items, 1):
        following = items[place] if place < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield session.testsfailed


def _in_turn(
    items: Iterable[pytest.Item],
    seconds: dict[str, float],
    names: Iterable[str],
    failed: Sequence[str],
) -> list[pytest.Item]:
    """Those of some names: what has failed before, then modules in one piece, fast ones first."""
    wanted = set(names)
    chosen = {item.nodeid: item for item in items if item.nodeid in wanted}
    first = [chosen.pop(name) for name in failed[:_AGAIN] if name in chosen]
    modules = defaultdict(list)
    for name in chosen:
        modules[name.partition("::")[0]].append(seconds[name])

    def place(name: str) -> tuple[float, str]:
        module = name.partition("::")[0]
        return fmean(modules[module]), module

    return first + [chosen[name] for name in sorted(chosen, key=place)]


def _reach(
    session: pytest.Session, trials: Trials
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Run each test as if it were the first: those that reach a condition, and their seconds."""
    told = trials.results.with_suffix(".reach")

    def act() -> int:
        reaching: defaultdict[int, list[str]] = defaultdict(list)
        seconds, caches = {}, package_caches()
        running = _failures(session, session.items)
        for item in session.items:
            for clear in caches:
                clear()
            trials.reached.clear()
            began = time.monotonic()
            next(running)
            seconds[item.nodeid] = time.monotonic() - began
            for number in trials.reached:
                reaching[number].append(item.nodeid)
        told.write_text(json.dumps([reaching, seconds]), "utf-8")
        return _TESTS_FAIL if session.testsfailed else 0

    if (status := forked(act, _LONGEST)) != 0:
        pytest.exit("The tests fail without a mutant.", returncode=max(status, 1))
    reaching, seconds = json.loads(told.read_text("utf-8"))
    return reaching, seconds
