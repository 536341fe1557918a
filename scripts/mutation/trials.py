"""A plugin of pytest that tries mutants, each in a fork of one process.

The process has imported all modules, in which is noted what is reached. The first fork runs all
tests and notes what each of them reaches, and for how long it runs. Then each mutant is put in, in
a fork of its own, which runs the tests that reach it until one fails, those first whose names say
that they are the file's. What a fixture reaches that tests share counts for each of them. Pythons
that tests start are forks of this fork where support/forks.py makes them. What a module computes
while it is imported keeps the original's value: such a mutant is tried again in a process of its
own, in which it is there from the beginning.
"""

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from mutation.kinds import KINDS, Kind
from mutation.process import PackageCaches, limit_memory, package_caches

_AT_LEAST, _TIMES = 20, 5
"""A mutant has so many seconds, and so many times that of its tests."""

_AGAIN = 30
"""So many of the tests that failed last are run first."""

_LONGEST = 3600
_TESTS_FAIL, _NOT_PUT_IN, _NO_TIME, _BROKEN = 3, 4, 9, 70


@dataclass(slots=True)
class Trials:
    """What is tried, with a line for each result.

    Attributes:
        kind: The kind of the mutants, with the modules.
        mutants: Each with its file, in the order in which they are tried.
        results: The file that gets the results.
        until: When no mutant is tried any more, as `time.monotonic` has it.
        most: So many seconds of tests are run with each mutant, at most.
        failed: The tests that have failed so far, the last one first.
    """

    kind: Kind
    mutants: list[tuple[str, Any]]
    results: Path
    until: float
    most: list[float]
    failed: list[str] = field(default_factory=list)

    def left(self, seconds: float) -> float:
        """So many seconds, or those that are left, if these are fewer."""
        return max(min(seconds, self.until - time.monotonic()), 0.001)


_TRIALS = pytest.StashKey[Trials]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file that says what is tried."""
    parser.addoption("--trials", type=Path)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Note what is reached from now on, while modules are imported."""
    given = json.loads(early_config.known_args_namespace.trials.read_text("utf-8"))
    trials = Trials(
        KINDS[given["kind"]](given["files"]),
        [(path, mutant) for path, mutant in given["mutants"]],
        Path(given["results"]),
        given["until"],
        given["most"],
    )
    trials.kind.instrument()
    early_config.stash[_TRIALS] = trials
    if given["alone"]:
        limit_memory()
        trials.kind.put_in(*trials.mutants.pop())


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Try all mutants in place of the tests, unless one is in effect."""
    trials = session.config.stash[_TRIALS]
    if not trials.mutants:
        _prepare_children()
        return None
    imported = trials.kind.reached()
    reaching, seconds = _reach(session, trials)
    for (path, mutant), most in zip(trials.mutants, trials.most, strict=True):
        if time.monotonic() > trials.until:
            break
        place = trials.kind.place(path, mutant)
        names = reaching.get(str(place), [])
        items = _in_turn(session.items, seconds, names, trials.failed, f"test_{Path(path).stem}")
        items = _within(items, seconds, most)
        limit = _AT_LEAST + _TIMES * sum(seconds[item.nodeid] for item in items)
        # What no test reaches needs no fork: of most faults a folder reaches nothing.
        reached = bool(items) or place in imported
        one = path, mutant
        status = _tried(session, trials, one, items, trials.left(limit)) if reached else 0
        if status == _BROKEN:
            pytest.exit(f"{mutant} of {path} could not be tried.", returncode=_BROKEN)
        if status == -signal.SIGALRM and time.monotonic() > trials.until:
            break
        again = status == _NOT_PUT_IN or (status == 0 and place in imported)
        test = trials.failed[0] if status == 1 else ""
        result = {"path": path, "mutant": mutant, "status": status, "again": again, "test": test}
        # At once: a call may be interrupted.
        with trials.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    return True


def _prepare_children() -> None:
    """Have the Pythons that tests start be as this process is, if they are forks at all."""
    if forks := sys.modules.get("support.forks"):
        forks.leave_beside()


def _tried(
    session: pytest.Session,
    trials: Trials,
    mutant: tuple[str, Any],
    items: Sequence[pytest.Item],
    limit: float,
) -> int:
    failing = trials.results.with_suffix(".failing")

    def act() -> int:
        if not trials.kind.put_in(*mutant):
            return _NOT_PUT_IN
        _prepare_children()
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
    mirror: str,
) -> list[pytest.Item]:
    """Those of some names: the modules that mirror the file, then the others.

    Of each what has failed before is first, then modules in one piece, fast ones first.
    """
    wanted = set(names)
    chosen = {item.nodeid: item for item in items if item.nodeid in wanted}
    again = {name: place for place, name in enumerate(failed[:_AGAIN])}
    modules = defaultdict(list)
    for name in chosen:
        modules[name.partition("::")[0]].append(seconds[name])

    def place(name: str) -> tuple[bool, int, float, str]:
        module = name.partition("::")[0]
        mirrors = Path(module).stem.startswith(mirror)
        return not mirrors, again.get(name, _AGAIN), fmean(modules[module]), module

    return [chosen[name] for name in sorted(chosen, key=place)]


def _within(
    items: Sequence[pytest.Item], seconds: dict[str, float], most: float
) -> list[pytest.Item]:
    """The first of some tests, which take so many seconds; one at least."""
    ends = accumulate(seconds[item.nodeid] for item in items)
    fitting = sum(end <= most for end in ends)
    return [*items[: max(fitting, 1)]]


class _Shared:
    """A plugin that notes what fixtures reach which several tests share.

    pytest runs one for the first of them, and the others read what it gave.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._reached: defaultdict[Any, set[int]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """Note what a fixture reaches, beside what the test that asks for it reached before."""
        before = self._kind.reached()
        self._kind.forget()
        try:
            return (yield)
        finally:
            found = self._kind.reached()
            if fixturedef.scope != "function":
                self._reached[fixturedef] |= found
            for number in before:
                self._kind.note(number)

    def reached(self, item: pytest.Item) -> set[int]:
        """What the shared fixtures of a test have reached so far."""
        known = getattr(item, "_fixtureinfo", None)
        fixtures = known.name2fixturedefs.values() if known else ()
        return {number for each in fixtures for one in each for number in self._reached[one]}


def _reach(
    session: pytest.Session, trials: Trials
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Run each test as if it were the first: those that reach a condition, and their seconds."""
    told = trials.results.with_suffix(".reach")

    def act() -> int:
        _prepare_children()
        shared = _Shared(trials.kind)
        session.config.pluginmanager.register(shared)
        reaching: defaultdict[int, list[str]] = defaultdict(list)
        seconds, caches, failing = {}, PackageCaches(), list[str]()
        running = _failures(session, session.items)
        for item in session.items:
            caches.clear()
            trials.kind.forget()
            began, before = time.monotonic(), session.testsfailed
            if next(running) > before:
                failing.append(item.nodeid)
            seconds[item.nodeid] = time.monotonic() - began
            for number in trials.kind.reached() | shared.reached(item):
                reaching[number].append(item.nodeid)
        told.write_text(json.dumps([reaching, seconds, failing]), "utf-8")
        return _TESTS_FAIL if session.testsfailed else 0

    status = forked(act, trials.left(_LONGEST))
    if status == -signal.SIGALRM and time.monotonic() > trials.until:
        pytest.exit("There is no time to run the tests without a mutant.", returncode=_NO_TIME)
    reaching, seconds, failing = (
        json.loads(told.read_text("utf-8")) if told.is_file() else ({},) * 3
    )
    if status != 0:
        named = ", ".join(failing) or "the process"
        pytest.exit(f"Without a mutant fails: {named}.", returncode=max(status, 1))
    return reaching, seconds
