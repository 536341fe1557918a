"""Which test runs which lines of the package, and how long it takes."""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Container, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest
from environment import ROOT

from mutation.trials import NOT_TRIED, OPTIONS, Caches


@dataclass(slots=True)
class Survey:
    """What a run of all tests, each with the lines that it reaches, has shown.

    Attributes:
        seconds: How long each test took that passed.
        lines: The tests that reach a line, by file and line; "" stands for what runs while
            modules are imported and tests are collected.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Survey":
        """Read what `main` wrote.

        Args:
            path: The file.
        """
        known = json.loads(path.read_text("utf-8"))
        lines = {
            file: {int(line): tests for line, tests in by_line.items()}
            for file, by_line in known["lines"].items()
        }
        return cls(known["seconds"], lines)

    def reaching(self, path: str, lines: tuple[int, int]) -> list[str]:
        """The tests that reach one of these lines, the quickest first.

        Args:
            path: The file, from the repository's root.
            lines: The first and the last one.
        """
        by_line = self.lines.get(path, {})
        found = {test for line in range(lines[0], lines[1] + 1) for test in by_line.get(line, [])}
        return sorted(found & self.seconds.keys(), key=self.seconds.__getitem__)

    def runs_at_import(self, path: str, lines: tuple[int, int]) -> bool:
        """Whether one of these lines runs while modules are imported or tests collected.

        Args:
            path: The file, from the repository's root.
            lines: The first and the last one.
        """
        by_line = self.lines.get(path, {})
        return any("" in by_line.get(line, []) for line in range(lines[0], lines[1] + 1))

    def around(self, path: str) -> list[str]:
        """The tests of a file's room, and of modules with one that reaches the file.

        What is computed while modules are imported is seen by tests that reach no line of it.

        Args:
            path: The file, from the repository's root.
        """
        reaching = {test for tests in self.lines.get(path, {}).values() for test in tests}
        room = Path(path).parent.as_posix().removeprefix("sonnx_ort/").partition("/")[0]
        tests = (test for test in self.seconds if test.startswith(f"tests/{room}/"))
        return self.in_modules({test.partition("::")[0] for test in (*reaching, *tests)})

    def in_modules(self, modules: Container[str]) -> list[str]:
        """The tests of modules, the quickest first.

        Args:
            modules: The modules' files, from the repository's root.
        """
        found = [test for test in self.seconds if test.partition("::")[0] in modules]
        return sorted(found, key=self.seconds.__getitem__)


class _Surveyor:
    def __init__(self, watch: coverage.Coverage) -> None:
        self._watch = watch
        self._failed: set[str] = set()
        self.seconds: dict[str, float] = {}

    def pytest_collection_finish(self) -> None:
        self._caches = Caches()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._caches.clear()
        self._watch.switch_context(item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start
            self._watch.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    @property
    def passed(self) -> dict[str, float]:
        return {test: took for test, took in self.seconds.items() if test not in self._failed}


def main(arguments: Sequence[str]) -> int:
    """Run tests, and write what they reach.

    Args:
        arguments: The file to write, and the tests.
    """
    target, *tests = arguments
    watch = coverage.Coverage(
        data_file=None,
        config_file=False,
        include=[str(ROOT / "*")],
        omit=[str(ROOT / folder / "*") for folder in NOT_TRIED],
    )
    surveyor = _Surveyor(watch)
    watch.start()
    pytest.main([*OPTIONS, *tests], plugins=[surveyor])
    watch.stop()
    data = watch.get_data()
    lines: dict[str, dict[int, list[str]]] = defaultdict(dict)
    for file in data.measured_files():
        lines[Path(file).relative_to(ROOT).as_posix()] = data.contexts_by_lineno(file)
    found = {"seconds": surveyor.passed, "lines": lines}
    Path(target).write_text(json.dumps(found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
