"""A plugin of pytest that tries mutants of conditions, each in a fork of one process.

The process has imported all modules. The first fork runs all tests and notes which lines each of
them reaches, and for how long it runs. Then a fork for each mutant puts its code into all functions
that have the original's, and runs the tests that reach the condition, until one fails. What a
module computes while it is imported keeps the original's value: `mutation.anew` tries such mutants.
"""

import contextlib
import gc
import json
import os
import signal
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from coverage import Coverage
from coverage.data import CoverageData

from mutation.conditions import Mutant, mutants, mutated
from mutation.process import limit_memory, package_caches

_AT_LEAST, _TIMES = 20, 5
"""A mutant has so many seconds, and so many times that of its tests."""

_AGAIN = 30
"""So many of the tests that failed last are run first."""

_LONGEST = 3600
_TESTS_FAIL, _BROKEN = 3, 70


@dataclass(frozen=True, slots=True)
class Reach:
    """The tests that reach each line of a file, the seconds of each test, what runs at import."""

    tests: dict[int, list[str]]
    seconds: dict[str, float]
    at_import: set[int]

    def of(self, mutant: Mutant) -> set[str]:
        """The tests that reach a condition."""
        lines = range(mutant.start, mutant.end + 1)
        return {test for line in lines for test in self.tests.get(line, ()) if test}

    def is_imported(self, mutant: Mutant) -> bool:
        """Whether the condition is evaluated while modules are imported."""
        return not self.at_import.isdisjoint(range(mutant.line, mutant.end + 1))


@dataclass(slots=True)
class Trials:
    """What is tried: mutants of files by their names, with a line for each result.

    `failed` has the tests that have failed so far, the last one first.
    """

    files: dict[str, list[str]]
    results: Path
    imported: Coverage | None = None
    failed: list[str] = field(default_factory=list)

    @property
    def failing(self) -> Path:
        """Where a fork tells which test has failed."""
        return self.results.with_suffix(".failing")

    def note(self, **result: object) -> None:
        """Write a result, at once: a call may be interrupted."""
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file that says what is tried."""
    parser.addoption("--trials", type=Path)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Note what runs from now on, while modules are imported."""
    given = json.loads(early_config.known_args_namespace.trials.read_text("utf-8"))
    trials = Trials(given["files"], Path(given["results"]))
    trials.imported = Coverage(data_file=None, include=list(trials.files), config_file=False)
    trials.imported.start()
    early_config.stash[_TRIALS] = trials


_TRIALS = pytest.StashKey[Trials]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try all mutants in place of the tests."""
    trials = session.config.stash[_TRIALS]
    assert trials.imported is not None  # noqa: S101 - started before modules are imported
    trials.imported.stop()
    reach = _reach(session, trials)
    for path, names in trials.files.items():
        source = Path(path).read_text("utf-8")
        for mutant in mutants(source):
            if mutant.name in names:
                _try(session, trials, reach[path], (path, source, mutant))
    return True


def _try(
    session: pytest.Session, trials: Trials, reach: Reach, of: tuple[str, str, Mutant]
) -> None:
    path, source, mutant = of
    items = _in_turn(session.items, reach, reach.of(mutant), trials.failed)
    limit = _AT_LEAST + _TIMES * sum(reach.seconds[item.nodeid] for item in items)

    def act() -> int:
        _put(path, source, mutant)
        for item, failures in zip(items, _failures(session, items), strict=True):
            if failures:
                trials.failing.write_text(item.nodeid, "utf-8")
                return 1
        return 0

    began = time.monotonic()
    status = forked(act, limit)
    if status == _BROKEN:
        pytest.exit(f"{mutant.name} could not be tried.", returncode=_BROKEN)
    if status == 1:
        failed = trials.failing.read_text("utf-8")
        trials.failed = [failed, *(test for test in trials.failed if test != failed)]
    trials.note(
        path=path,
        mutant=mutant.name,
        line=mutant.line,
        status=status,
        tests=len(items),
        seconds=round(time.monotonic() - began, 2),
        again=status == 0 and reach.is_imported(mutant),
    )


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
    items: Iterable[pytest.Item], reach: Reach, names: set[str], failed: Sequence[str]
) -> list[pytest.Item]:
    """Those of some names: what has failed before, then modules in one piece, fast ones first."""
    chosen = {item.nodeid: item for item in items if item.nodeid in names}
    first = [chosen.pop(name) for name in failed[:_AGAIN] if name in chosen]
    modules = defaultdict(list)
    for item in chosen.values():
        modules[item.nodeid.partition("::")[0]].append(item)

    def mean(module: list[pytest.Item]) -> float:
        return sum(reach.seconds[item.nodeid] for item in module) / len(module)

    return first + [item for module in sorted(modules.values(), key=mean) for item in module]


def _reach(session: pytest.Session, trials: Trials) -> dict[str, Reach]:
    """Run all tests once, and see what they reach."""
    measured = trials.results.with_suffix(".reach")
    times = trials.results.with_suffix(".seconds")

    def act() -> int:
        tracing = Coverage(data_file=measured, include=list(trials.files), config_file=False)
        tracing.start()
        seconds = dict(_traced(session, tracing))
        tracing.stop()
        tracing.save()
        times.write_text(json.dumps(seconds), "utf-8")
        return _TESTS_FAIL if session.testsfailed else 0

    if (status := forked(act, _LONGEST)) != 0:
        pytest.exit("The tests fail without a mutant.", returncode=max(status, 1))
    data = CoverageData(measured)
    data.read()
    seconds = json.loads(times.read_text("utf-8"))
    assert trials.imported is not None  # noqa: S101 - started before modules are imported
    imported = trials.imported.get_data()
    reached = {os.path.realpath(file): file for file in data.measured_files()}
    at_import = {os.path.realpath(file): file for file in imported.measured_files()}
    return {
        path: Reach(
            data.contexts_by_lineno(reached.get(path, path)),
            seconds,
            set(imported.lines(at_import.get(path, path)) or ()),
        )
        for path in trials.files
    }


def _traced(session: pytest.Session, tracing: Coverage) -> Iterator[tuple[str, float]]:
    """Run each test as if it were the first one; give its seconds."""
    caches = package_caches()
    running = _failures(session, session.items)
    for item in session.items:
        for clear in caches:
            clear()
        tracing.switch_context(item.nodeid)
        began = time.monotonic()
        next(running)
        yield item.nodeid, time.monotonic() - began


def _put(path: str, source: str, mutant: Mutant) -> None:
    """Have all functions of a module that there are run the mutant's code."""
    new = mutated(source, mutant.number, value=mutant.value)
    codes = _codes(compile(new, path, "exec"))
    of_original = {
        (code.co_qualname, tuple(code.co_positions())): codes.get(place, code)
        for place, code in _codes(compile(source, path, "exec")).items()
    }
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and _is_of(function.__code__, path):
            code = function.__code__
            function.__code__ = of_original[code.co_qualname, tuple(code.co_positions())]
    for clear in package_caches():
        clear()


def _is_of(code: CodeType, path: str) -> bool:
    name = os.path.basename(path)  # noqa: PTH119 - of all functions that there are
    return code.co_filename.endswith(name) and os.path.realpath(code.co_filename) == path


def _codes(code: CodeType) -> dict[tuple[str, int, int], CodeType]:
    """A code and all that it contains, by name, line, and their number with these."""
    found: dict[tuple[str, int, int], CodeType] = {}
    left = [code]
    while left:
        one = left.pop(0)
        place = one.co_qualname, one.co_firstlineno
        found[*place, sum(known[:2] == place for known in found)] = one
        left += (each for each in one.co_consts if isinstance(each, CodeType))
    return found
