"""What tries mutants: a process that reads one from each line, and writes a line for its outcome.

`python -m mutation.trials live TEST...` collects the tests, and puts a mutant's code into the
functions of the package as they are, in a fork of its own. `fresh` imports nothing of the package
before a fork does, so that a mutant is in effect while modules are imported and tests collected.
"""

import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import IO

import pytest
from environment import ROOT

from mutation.codes import code_of, differ
from mutation.isolation import Outcome, outcome_in_child

OPTIONS = (
    *("-q", "-s", "--no-header", "--rootdir", str(ROOT), "-m", "not thorough and not models"),
    *("--deselect", "tests/custom_ops/test_kernel_paths.py::test_mutant_is_told_from_the_kernel"),
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:xdist"),
)
"""How tests are run, of which nobody reads what they say; one has mutants of its own."""

VARIABLES = {"PYTHONPATH": str(ROOT / "scripts"), "SONNX_ORT_EXAMPLES": "20"}
"""Variables of the processes that run tests: where this package is, and few random examples."""

NOT_TRIED = (".venv", "build", "scripts", "tests")
"""Folders of the repository that hold no code of the package."""

_INSTALLED_INSIDE = ("custom_ops", "models")
"""Folders of the repository that are packages inside `sonnx_ort`."""

_PRELOADED = ("onnx", "onnx.parser", "onnx_ir", "onnxruntime", "numpy", "ml_dtypes")
"""What the package imports, and each fork would import again."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant, and what is to be tried with it.

    Attributes:
        path: The file, from the repository's root.
        function: The function's qualified name; empty where nothing is changed.
        line: The line that it begins at.
        source: The whole mutated file.
        tests: The ids of the tests, those first that are to be run first.
        seconds: How long they may compute.
    """

    path: str
    function: str
    line: int
    source: str
    tests: list[str]
    seconds: int

    def to_line(self) -> str:
        """As `from_line` reads it."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "Trial":
        """As `to_line` writes it.

        Args:
            line: The line.
        """
        return cls(**json.loads(line))

    @property
    def file(self) -> Path:
        """The file."""
        return ROOT / self.path


class Live:
    """A pytest plugin that runs tests with mutants instead of all tests."""

    def __init__(self, trials: Iterator[Trial], outcomes: IO[str]) -> None:
        self._trials = trials
        self._outcomes = outcomes
        self._failed = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant with the tests that were collected."""
        items = {item.nodeid: item for item in session.items}
        functions, caches = _functions(), Caches()
        gc.freeze()
        for trial in self._trials:
            tests = [items[test] for test in trial.tests if test in items]
            outcome = outcome_in_child(
                lambda trial=trial, tests=tests: self._try(trial, tests, functions, caches),  # type: ignore[misc]
                trial.seconds,
            )
            print(outcome, file=self._outcomes, flush=True)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self._failed |= report.failed

    def _try(
        self,
        trial: Trial,
        tests: Sequence[pytest.Item],
        functions: "Functions",
        caches: "Caches",
    ) -> Outcome:
        if trial.function and not _put_in(trial, functions):
            return Outcome.NOT_TRIED
        caches.clear()
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if self._failed:
                return Outcome.KILLED
        return Outcome.SURVIVED


def _put_in(trial: Trial, functions: "Functions") -> bool:
    """Give a function a mutant's code, and those that it has made; False where nothing changes."""
    outermost = code_of(trial.source, trial.function, trial.line, trial.file)
    codes = [] if outermost is None else [outermost]
    changed = False
    while codes:
        code = codes.pop()
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for function in functions.get(
            (code.co_filename, code.co_qualname, code.co_firstlineno), ()
        ):
            same_variables = len(function.__code__.co_freevars) == len(code.co_freevars)
            if same_variables and differ(code, function.__code__):
                function.__code__ = code
                changed = True
    return changed


class Chosen:
    """A pytest plugin that keeps some tests, in an order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._places = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all others."""
        kept = [item for item in items if item.nodeid in self._places]
        items[:] = sorted(kept, key=lambda item: self._places[item.nodeid])


class _MutantFinder(importlib.abc.MetaPathFinder):
    """Finds one module of the package as the mutant has it."""

    def __init__(self, trial: Trial) -> None:
        parts = Path(trial.path).with_suffix("").parts
        if parts[0] in _INSTALLED_INSIDE:
            parts = ("sonnx_ort", *parts)
        self._is_package = parts[-1] == "__init__"
        self._name = ".".join(parts[:-1] if self._is_package else parts)
        self._trial = trial

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's, with a loader of its own."""
        del path, target
        if fullname != self._name:
            return None
        file = str(self._trial.file)
        loader = _MutantLoader(fullname, file)
        loader.source = self._trial.source
        folders = [str(self._trial.file.parent)] if self._is_package else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=loader, submodule_search_locations=folders
        )


class _MutantLoader(importlib.machinery.SourceFileLoader):
    source = ""

    def get_code(self, fullname: str) -> CodeType:
        """The mutant's, whatever is cached of the original."""
        del fullname
        return compile(self.source, self.path, "exec", dont_inherit=True)


class Caches:
    """The caches of the package's functions, which hide what a function does now."""

    def __init__(self) -> None:
        self._caches = [
            value
            for value in gc.get_objects()
            if isinstance(value, functools._lru_cache_wrapper) and _is_ours(value.__wrapped__)  # noqa: SLF001
        ]

    def clear(self) -> None:
        """Empty them."""
        for cache in self._caches:
            cache.cache_clear()


def _try_fresh(trial: Trial) -> Outcome:
    sys.meta_path.insert(0, _MutantFinder(trial))
    modules = sorted({test.split("::")[0] for test in trial.tests})
    status = pytest.main([*OPTIONS, "-x", *modules], plugins=[Chosen(trial.tests)])
    return Outcome.SURVIVED if status == pytest.ExitCode.OK else Outcome.KILLED


Functions = dict[tuple[str, str, int], list[FunctionType]]


def _functions() -> Functions:
    """All functions of the package that there are, by file, name and line."""
    found: Functions = defaultdict(list)
    for value in gc.get_objects():
        if type(value) is FunctionType and _is_ours(value):
            code = value.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(value)
    return found


def _is_ours(function: Callable[..., object]) -> bool:
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not code.co_filename.startswith(str(ROOT)):
        return False
    return Path(code.co_filename).relative_to(ROOT).parts[0] not in NOT_TRIED


def main(arguments: Sequence[str]) -> int:
    """Try what comes in, until nothing does.

    Args:
        arguments: How, and which tests there are.
    """
    kind, *tests = arguments
    outcomes = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.chdir(ROOT)
    trials = map(Trial.from_line, sys.stdin)
    if kind == "live":
        return pytest.main([*OPTIONS, *tests], plugins=[Live(trials, outcomes)])
    if (ROOT / "sonnx_ort").is_dir():
        for name in _PRELOADED:
            importlib.import_module(name)
    gc.freeze()
    for trial in trials:
        outcome = outcome_in_child(lambda trial=trial: _try_fresh(trial), trial.seconds)  # type: ignore[misc]
        print(outcome, file=outcomes, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
