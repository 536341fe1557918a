"""A test that takes too long fails by its name, and what was skipped is said by reason."""

import shutil
import sys
from pathlib import Path

import pytest

from support.child import ChildResult, run_program
from support.time_limits import limit_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such timer")

CONFTEST = Path(__file__).resolve().parent / "conftest.py"

TESTS = """
import itertools
import time

import hypothesis
import pytest
from support import time_limits

time_limits._NATIVE = 0.5

@pytest.mark.time_limit(0.5)
def test_hangs():
    while True:
        try:
            time.sleep(60)
        except Exception:
            pass

@pytest.mark.time_limit(0.5)
@hypothesis.given(hypothesis.strategies.integers())
def test_hangs_for_examples(number):
    time.sleep(60)

@pytest.fixture
def slow():
    time.sleep(60)

@pytest.mark.time_limit(0.5)
def test_hangs_in_its_fixture(slow):
    pass

@pytest.mark.time_limit(0.5)
def test_hangs_in_native_code():
    sum(itertools.repeat(0))

@pytest.mark.time_limit(30)
def test_passes():
    time.sleep(1)

@pytest.mark.parametrize("number", range(3))
def test_skips(number):
    pytest.skip("nothing is there" if number else "this is Linux")
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> ChildResult:
    """What a run of these tests says."""
    folder = tmp_path_factory.mktemp("tests")
    shutil.copy(CONFTEST, folder)
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    options = ["-n", "1", "--rootdir=.", "-p", "no:cacheprovider", "-o", "markers=time_limit"]
    command = [sys.executable, "-m", "pytest", *options]
    return run_program(command, folder=str(folder), timeout=120, COLUMNS="200")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "ended",
    [
        "FAILED test_some.py::test_hangs",
        "FAILED test_some.py::test_hangs_for_examples",
        "ERROR test_some.py::test_hangs_in_its_fixture",
    ],
)
def test_test_that_takes_too_long_fails(said: ChildResult, ended: str) -> None:
    why = "support.time_limits.TimeLimitExceeded: longer than 0.5 s; if that is right, mark the "
    assert f"{ended} - {why}" in said.stdout, said


@pytest.mark.thorough
def test_process_that_native_code_holds_ends_and_its_test_is_named(said: ChildResult) -> None:
    assert "crashed while running 'test_some.py::test_hangs_in_native_code'" in said.stdout, said
    assert "in test_hangs_in_native_code" in said.stderr


@pytest.mark.parametrize(
    ("marks", "seconds"),
    [
        ([], 300),
        ([pytest.mark.thorough], 1800),
        ([pytest.mark.time_limit(7)], 7),
        ([pytest.mark.thorough, pytest.mark.time_limit(7)], 7),
    ],
)
def test_marks_give_the_limit(
    request: pytest.FixtureRequest, marks: list[pytest.MarkDecorator], seconds: float
) -> None:
    item = pytest.Function.from_parent(request.node.parent, name="any", callobj=lambda: None)
    for mark in marks:
        item.add_marker(mark)
    assert limit_of(item) == seconds


def test_all_other_tests_run(said: ChildResult) -> None:
    assert "= 3 failed, 1 passed, 3 skipped, 1 error in " in said.stdout, said


@pytest.mark.thorough
def test_what_is_skipped_is_said_by_reason(said: ChildResult) -> None:
    lines = said.stdout.partition("= skipped =")[2].splitlines()
    assert lines[1:3] == ["     2  nothing is there", "     1  this is Linux"], said
