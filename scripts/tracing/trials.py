"""A plugin of pytest that tries faults with the tests of their entries, in forks of one process.

The process has imported all modules and collected all tests. A fork for each fault and each of its
tests makes the fault, and runs cases of the test until one fails, which has to pass in another fork
without the fault. What a module of tests computes while it is imported has no fault; nor does a
process that a test starts.
"""

import json
import re
import signal
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

import pytest
from mutation.process import package_caches
from mutation.trials import forked

from tracing.faults import NoFault, make, note_requirements

_OWN, _OTHERS, _MORE = 12, 4, 10
"""So many cases are tried that name a rule or an operator, and so many others.

Of tests that are not slow there are so many times as many.
"""

_FAILED, _BROKEN = 1, 70
_LONGEST = 90
"""The seconds that a fault has with a test; more are no notice of it."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Note which requirements are made of others from now on, while modules are imported."""
    note_requirements()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file that says what is tried."""
    parser.addoption("--faults", type=Path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try all faults in place of the tests; write a line for each fault and test that was tried.

    A test is left out if others have shown all that it could show.
    """
    path: Path = session.config.getoption("--faults")
    cases, items = _by_test(session.items), {item.nodeid: item for item in session.items}
    with path.with_suffix(".results").open("w", encoding="utf-8") as file:
        for fault, by_name in json.loads(path.read_text("utf-8")).items():
            left = {frozenset(tests) for tests in by_name.values()}
            likely = {fault.partition(" ")[0], *(name.partition(".")[0] for name in by_name)}
            for test in _in_turn(by_name.values()):
                if not any(test in tests for tests in left):
                    continue
                try:
                    failing = _failing(session, fault, _chosen(likely, cases.get(test, ())), path)
                except NoFault:
                    break
                noticed = failing is not None and _passes(session, items[failing])
                if noticed:
                    left = {tests for tests in left if test not in tests}
                file.write(json.dumps([fault, test, noticed]) + "\n")
                file.flush()
    return True


_SLOW = tuple(
    f"tests/{room}/"
    for room in ("proofs", "soundness", "conformance", "end_to_end", "models", "loading")
)
"""Where tests are slow."""


def _in_turn(shown_by: Collection[Sequence[str]]) -> list[str]:
    """The tests: what is fast first, and what shows most of that."""
    counts = Counter(test for tests in shown_by for test in tests)
    return sorted(counts, key=lambda test: (test.startswith(_SLOW), -counts[test]))


def _by_test(items: Iterable[pytest.Item]) -> Mapping[str, Sequence[pytest.Item]]:
    """The cases of each test, of each class of tests and of each file."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        parts = item.nodeid.partition("[")[0].split("::")
        for end in range(1, len(parts) + 1):
            found.setdefault("::".join(parts[:end]), []).append(item)
    return found


def _chosen(likely: Set[str], items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases of a test that name a rule or an operator, and some others, evenly."""
    named: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        case = item.nodeid.partition("[")[2].removesuffix("]")
        words = {*re.split(r"[^\w.]+|_", case), *re.split(r"[^\w.]+", case)}
        (named if words & likely else others).append(item)
    slow = any(item.nodeid.startswith(_SLOW) for item in items)
    own, rest = (count * (1 if slow else _MORE) for count in (_OWN, _OTHERS))
    return [*_evenly(named, own), *_evenly(others, rest if named else own)]


def _evenly(items: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    if len(items) <= most:
        return list(items)
    return [items[place * len(items) // most] for place in range(most)]


def _failing(
    session: pytest.Session, fault: str, items: Sequence[pytest.Item], path: Path
) -> str | None:
    """The first of some cases that fails with a fault; None if all pass, or are skipped."""
    begun = path.with_suffix(".begun")

    def act() -> int:
        make(fault)
        for item, ended in _run(session, items, begun):
            if ended == "failed":
                begun.write_text(item.nodeid, "utf-8")
                return _FAILED
        return 0

    status = forked(act, _LONGEST)
    if status in {0, -signal.SIGALRM}:
        return None
    if status == _BROKEN:
        raise NoFault(fault)
    return begun.read_text("utf-8")


def _passes(session: pytest.Session, item: pytest.Item) -> bool:
    """Whether a case passes without a fault."""

    def act() -> int:
        for clear in package_caches():
            clear()
        return sum(ended != "passed" for _, ended in _run(session, [item]))

    return forked(act, _LONGEST) == 0


def _run(
    session: pytest.Session, items: Sequence[pytest.Item], begun: Path | None = None
) -> Iterator[tuple[pytest.Item, str]]:
    """Run cases, and say how each ended; a file has the one that was begun last."""
    reports = _Reports()
    session.config.pluginmanager.register(reports)
    for place, item in enumerate(items, 1):
        reports.ends.clear()
        if begun is not None:
            begun.write_text(item.nodeid, "utf-8")
        following = items[place] if place < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        # A case that is skipped has not passed, and has not failed either.
        yield item, max(reports.ends, key=("passed", "skipped", "failed").index)


class _Reports:
    """How the parts of a case ended."""

    def __init__(self) -> None:
        self.ends: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the end of a part."""
        self.ends.append(report.outcome)
