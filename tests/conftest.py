"""Fixtures of all tests, and how hypothesis makes examples for them."""

import contextlib
import gc
import inspect
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import onnx
import pytest
from _pytest.junitxml import xml_key  # pytest-xdist lets no fixture add to the file
from _pytest.mark.expression import Expression
from hypothesis import HealthCheck, settings

import sonnx_ort
from sonnx_ort import backends
from sonnx_ort.backends import Backend
from sonnx_ort.errors import BackendUnavailable
from sonnx_ort.options import Choices
from sonnx_ort.runs import isolated_run
from support import chosen_cases, time_limits
from support.backends import INSTALLED, RUNS_PYTHON
from support.forks import FORKING

if RUNS_PYTHON:
    import onnxruntime_extensions  # noqa: F401 - it has child processes take a slow protobuf
else:
    # Tests mean the python backend where they choose none, and are skipped where they run it.
    backends.installed_backend = lambda: Backend.PYTHON
os.environ.pop("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", None)

settings.register_profile(
    "reproducible",
    max_examples=int(os.environ.get("SONNX_ORT_EXAMPLES", "120")),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("reproducible")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with _limited(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test, and give its function the settings of hypothesis back that it had before.

    hypothesis wraps the settings of a function once more for each of its cases, and without a
    database it looks one up in all of them: about 1,000 cases exceed the depth of recursion.
    A test is skipped where it needs a backend that is not installed.
    """
    function = getattr(item, "function", None)
    kept = getattr(function, "_hypothesis_internal_use_settings", None)
    try:
        with _limited(item):
            return (yield)
    except BackendUnavailable as error:
        if RUNS_PYTHON:
            raise
        pytest.skip(str(error))
    finally:
        if kept is not None:
            function._hypothesis_internal_use_settings = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    with _limited(item):
        return (yield)


_STDERR = pytest.StashKey[int]()


def _limited(item: pytest.Item) -> contextlib.AbstractContextManager[None]:
    return time_limits.limited(time_limits.limit_of(item), item.config.stash[_STDERR])


@pytest.fixture(params=list(INSTALLED), ids=str, scope="module")
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Each backend in turn; what rewrites takes it where a test chooses none.

    Sessions verify their proofs by the python backend, unless a test chooses otherwise.
    """
    chosen = Backend(request.param)
    of_rewriting = Choices.of.__func__
    *others, _ = of_rewriting.__defaults__
    of_sessions = inspect.unwrap(sonnx_ort.InferenceSession.__init__).__kwdefaults__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_rewriting, "__defaults__", (*others, chosen.value))
        patch.setitem(of_sessions, "backend", chosen.value)
        patch.setitem(of_sessions, "verify_proofs", RUNS_PYTHON)
        if chosen is Backend.COMPILED:
            of_options = inspect.unwrap(sonnx_ort.register).__kwdefaults__
            patch.setitem(of_options, "backend", chosen.value)
        yield chosen


@pytest.fixture(scope="session", autouse=True)
def _forked_runs() -> Iterator[None]:
    """Have the package isolate its runs in forks, but where tests are about how it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolated_run, "subprocess", FORKING)
        yield


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[], Any]], Any]:
    """Make what takes long once for all processes that share the tests of a module.

    It gets a name and what makes it, and gives that as JSON holds it.
    """

    def make(name: str, made: Callable[[], Any]) -> Any:
        if "PYTEST_XDIST_TESTRUNUID" not in os.environ:
            return made()
        import fcntl  # noqa: PLC0415 - Windows has no such module

        folder = tmp_path_factory.getbasetemp().parent
        path = folder / f"{name}.json"
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_text(json.dumps(made()), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))

    return make


@pytest.fixture(scope="session")
def part_of_trials(request: pytest.FixtureRequest) -> int:
    """Which random trials are made: each part of the cases has others."""
    options = request.config.option
    return options.part or (options.share_of_commit[0] if options.cases else 1)


@pytest.fixture
def first_part(part_of_trials: int) -> None:
    """Leave out what was seen of the trials of the first part: by chance others do not show it."""
    if part_of_trials != 1:
        pytest.skip("only the trials of the first part are known to show it")


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that have kernels compiled unoptimized, in a sixth of the time."""
    path = tmp_path_factory.mktemp("compiler") / "c++"
    path.write_text('#!/bin/sh\nexec c++ "$@" -O0\n', encoding="utf-8")
    path.chmod(0o755)
    return {} if os.name == "nt" else {"CC": str(path), "CXX": str(path)}


@pytest.fixture(scope="session")
def wheel(
    once: Callable[..., Any], compiler: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The wheel of the repository."""
    # Imported late, as below.
    from wheels import build_wheel  # noqa: PLC0415

    root, folder = Path(__file__).resolve().parents[1], tmp_path_factory.mktemp("wheel")
    make = partial(build_wheel, Path(sys.executable), root, folder, **compiler)
    return Path(once("wheel", lambda: str(make())))


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[onnx.ModelProto], Path]:
    """Save a model, and give its file."""

    def save(model: onnx.ModelProto) -> Path:
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return save


@pytest.fixture
def without_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels log each violation; where a test makes many, nobody reads them."""
    monkeypatch.setattr(logging.getLogger("sonnx_ort"), "disabled", True)


_SOURCES = pytest.StashKey[dict[str, str]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    if xml_key in session.config.stash:
        # Imported late: this file is also used without the scripts.
        from qualifying.runs import sources  # noqa: PLC0415

        session.config.stash[_SOURCES] = sources()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Say in the JUnit file what was tested, before it is written."""
    if xml_key in session.config.stash:
        from qualifying.runs import properties  # noqa: PLC0415

        said = properties(session.config.stash[_SOURCES], session.config.invocation_params.args)
        for name, value in said.items():
            session.config.stash[xml_key].add_global_property(name, value)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        type=int,
        default=0,
        help="run at most so many cases of each test, or a tenth of more; 0: all",
    )
    parser.addoption(
        "--part",
        type=int,
        choices=range(1, chosen_cases.PARTS + 1),
        default=int(os.environ.get("SONNX_ORT_PART", "0")),
        help="which part of the cases and of the random trials; with --cases the checked out "
        "commit chooses it by default, as tests/support/chosen_cases.py says",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the part once: processes of pytest-xdist get the options."""
    config.stash[_STDERR] = time_limits.kept_stderr()
    if not hasattr(config.option, "share_of_commit"):
        config.option.share_of_commit = chosen_cases.share_of_commit(config.rootpath)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in the meantime, nor later among what is made: nearly all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, None, None]:
    """Choose the cases by their names, of all parameters.

    They are chosen among those that -m leaves, and -k among them: to make an item of each of tens
    of thousands takes longer than all else that is done before the first test.
    """
    yield
    options, test = metafunc.config.option, metafunc.definition
    if not options.cases or not metafunc._calls:
        return
    own = frozenset(mark.name for mark in test.iter_markers())

    def is_left(case: Any) -> bool:
        names = own.union(mark.name for mark in case.marks)
        return _are_chosen(options.markexpr, names)

    of_all = test.nodeid
    cases = {f"{of_all}[{case.id}]": case for case in metafunc._calls}
    left = [name for name, case in cases.items() if is_left(case)]
    share = _share(test.path, options)
    run = chosen_cases.run_of(_within(test.path), left, options.cases, *share)
    metafunc._calls[:] = [cases[name] for name in left if name in run] or metafunc._calls[:1]


@cache
def _are_chosen(expression: str, marks: frozenset[str]) -> bool:
    """Whether -m leaves tests with marks of these names, of which few sets are different."""
    return Expression.compile(expression or "True").evaluate(lambda name, **_: name in marks)


@cache
def _within(path: Path) -> Path:
    return path.relative_to(Path(__file__).parent)


def _share(path: Path, options: Any) -> tuple[int, int | None]:
    """The part of the cases that this run has of a file, and its turn in it if it has few."""
    return chosen_cases.share(_within(path), options.part, options.share_of_commit)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first: one that begins late runs at the end, when no other is left.

    A process of pytest-xdist takes the first items; all processes have them in one order.
    """
    items.sort(key=lambda item: item.get_closest_marker("starts_first") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Say of a case that fails how it is chosen again, and of random trials how they are made."""
    report = yield
    options = item.config.option
    if report.failed and options.cases and hasattr(item, "callspec"):
        part, _ = _share(item.path, options)
        report.sections.append(("Case", f"chosen by --cases {options.cases} --part {part}"))
    if report.failed and "part_of_trials" in getattr(item, "funcargs", {}):
        said = [f"{name}={os.environ[name]} " for name in _NUMBERS_OF_TRIALS if name in os.environ]
        said.append(f"--part {item.funcargs['part_of_trials']}")
        report.sections.append(("Trials", f"made again by {''.join(said)}"))
    return report


_NUMBERS_OF_TRIALS = ("SONNX_ORT_GRAPHS", "SONNX_ORT_SPLICES", "SONNX_ORT_RUNS")
"""The variables that say how many random trials are made."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests are skipped for each reason: what is missing here is not tried."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in skipped
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        terminalreporter.section("skipped")
    for reason, number in reasons.most_common():
        terminalreporter.line(f"{number:6}  {reason}")
