"""The page of results says how each set of cases and each requirement ended, and of which run."""

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pages
import pytest
from environment import ROOT, captured
from qualifying.configuration import read_procedures
from qualifying.requirements import Requirement, requirements
from qualifying.results import NOT_RUN, PARTS, has_passed, text, verify
from qualifying.runs import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    Case,
    Run,
    UnusableRun,
    properties,
    read_run,
    sources,
)
from tracing.entries import read_documents
from tracing.marks import by_entry, find_marks

from support import chosen_cases
from support.child import run_program

NOW = {"version": "1.2.3", "commit": 40 * "a", "clean": "yes", "sources": 64 * "b"}
SAID = {
    **NOW,
    "unchanged": "yes",
    "python": "CPython 3.11.7",
    "platform": "Linux x86_64",
    "packages": "numpy 2.4.6, onnx 1.23.2",
    "arguments": "-n auto",
    "settings": "SONNX_ORT_RUNS=2",
}
HERE = "tests.scripts.test_results"
FILE = "tests/scripts/test_results.py"


@cache
def demanded() -> tuple[Requirement, ...]:
    """All requirements: to read the marks of all tests for them takes long."""
    return requirements(read_documents(), by_entry(find_marks()))


def junit(folder: Path, *cases: str, **said: str | None) -> Path:
    """Write a file as pytest does; what is None is left out."""
    named = {name: value for name, value in {**SAID, **said}.items() if value is not None}
    properties = "".join(f'<property name="{n}" value={quoteattr(v)}/>' for n, v in named.items())
    path = folder / "junit.xml"
    path.write_text(
        '<testsuites><testsuite name="pytest" timestamp="2026-11-25T20:27:06.9+00:00" time="90.5">'
        f"<properties>{properties}</properties>{''.join(cases)}</testsuite></testsuites>",
        "utf-8",
    )
    return path


def element(name: str = "test_it", inside: str = "", of: str = HERE) -> str:
    return f'<testcase classname="{of}" name="{name}" time="0.1">{inside}</testcase>'


@pytest.mark.parametrize(
    ("inside", "end", "reason"),
    [
        ("", PASSED, ""),
        ("<system-out>it ran</system-out>", PASSED, ""),
        (
            '<skipped type="pytest.skip" message="needs Node.js">it</skipped>',
            SKIPPED,
            "needs Node.js",
        ),
        ('<failure message="assert 1 == 2&#10;more">trace</failure>', FAILED, "assert 1 == 2"),
        ('<error message="failed on setup">trace</error>', ERROR, "failed on setup"),
        ('<skipped message="late"/><error message="on teardown"/>', ERROR, "on teardown"),
        ("<failure/>", FAILED, "no reason"),
        (f'<skipped message="{ROOT}/build/a.onnx misses"/>', SKIPPED, "build/a.onnx misses"),
    ],
)
def test_end_of_a_case(tmp_path, inside, end, reason):
    run = read_run(junit(tmp_path, element(inside=inside)), NOW)
    assert run.cases == (Case(f"{FILE}::test_it", end, reason),)


@pytest.mark.parametrize(
    ("of", "name", "test"),
    [
        (HERE, "test_it", f"{FILE}::test_it"),
        (HERE, "test_it[1.5-a::b.c[0]]", f"{FILE}::test_it"),
        (f"{HERE}.TestAll", "test_it[1]", f"{FILE}::TestAll::test_it"),
        ("", HERE, FILE),
        ("tests.test_import", "test_it", "tests/test_import.py::test_it"),
    ],
)
def test_case_is_one_of_its_test(tmp_path, of, name, test):
    run = read_run(junit(tmp_path, element(name, of=of)), NOW)
    assert [case.test for case in run.cases] == [test]


SAYS_NOTHING = (
    "does not say what was tested; `python3 scripts/test.py --junit-xml FILE` writes files that do."
)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"commit": 40 * "c"}, f"is of commit {40 * 'c'}, and the sources here are of {40 * 'a'}."),
        ({"sources": 64 * "c"}, f"is of commit {40 * 'a'}, and of other sources than here."),
        ({"unchanged": "no"}, "is of a run during which the sources changed."),
        ({"commit": ""}, "cannot be compared with a commit: git or its repository misses."),
        ({"commit": None}, SAYS_NOTHING),
    ],
)
def test_run_of_other_sources_is_refused(tmp_path, said, message):
    path = junit(tmp_path, element(), **said)
    with pytest.raises(UnusableRun) as caught:
        read_run(path, NOW)
    assert str(caught.value) == f"{path} {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no XML", "is not JUnit XML: syntax error: line 1, column 0."),
        ("<html/>", "is not JUnit XML as pytest writes it."),
        ("<testsuites/>", "is not JUnit XML as pytest writes it."),
        (None, "cannot be read: No such file or directory."),
    ],
)
def test_file_that_is_no_junit_is_refused(tmp_path, content, message):
    path = tmp_path / "junit.xml"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(UnusableRun) as caught:
        read_run(path, NOW)
    assert str(caught.value) == f"{path} {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('timestamp="2026', 'at="2026', "does not say when its run began and how long."),
        ('time="90.5"', 'time="long"', "does not say when its run began and how long."),
        (HERE, "tests.test_gone", "has a test that is not here: tests/test_gone.py::test_it."),
    ],
)
def test_file_that_no_run_of_these_tests_wrote_is_refused(tmp_path, old, new, message):
    path = junit(tmp_path, element())
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(UnusableRun) as caught:
        read_run(path, NOW)
    assert str(caught.value) == f"{path} {message}"


ONE, OTHER = f"{FILE}::test_one", f"{FILE}::test_other"


def run_of(tmp_path: Path, *cases: Case, **said: str) -> Run:
    run = read_run(junit(tmp_path, **said), NOW)
    return Run(run.said, run.started, run.seconds, cases)


def demanding(*tests: str) -> list[Requirement]:
    return [Requirement("TOR-1", "Div.R1", tests)]


@pytest.mark.parametrize(
    ("named", "cases", "ends"),
    [
        (ONE, [(ONE, PASSED), (OTHER, FAILED)], PASSED),
        (ONE, [(ONE, PASSED), (ONE, SKIPPED)], PASSED),
        (ONE, [(ONE, PASSED), (ONE, FAILED)], FAILED),
        (ONE, [(ONE, PASSED), (ONE, ERROR)], FAILED),
        (ONE, [(ONE, SKIPPED)], SKIPPED),
        (ONE, [(FILE, SKIPPED)], SKIPPED),
        (ONE, [(FILE, ERROR)], FAILED),
        (ONE, [(OTHER, PASSED), (f"{ONE}_more", PASSED)], NOT_RUN),
        (FILE, [(ONE, PASSED), (OTHER, FAILED)], FAILED),
        (FILE, [(f"{FILE}::TestAll::test_one", PASSED)], PASSED),
        (f"{FILE}::TestAll", [(f"{FILE}::TestAll::test_one", PASSED)], PASSED),
        (FILE, [("tests/test_import.py::test_one", PASSED)], NOT_RUN),
    ],
)
def test_end_of_a_test_is_that_of_its_cases(tmp_path, named, cases, ends):
    runs = [run_of(tmp_path, *(Case(test, end) for test, end in cases))]
    (verified,) = verify(demanding(named), runs)
    assert verified.tests == {named: ends}
    assert bool(verified.failing) is (ends != PASSED)


def test_requirement_has_the_cases_of_all_its_tests_in_all_runs(tmp_path):
    runs = [
        run_of(tmp_path, Case(ONE, PASSED), Case(ONE, SKIPPED)),
        run_of(tmp_path, Case(ONE, PASSED), Case(OTHER, FAILED)),
    ]
    (verified,) = verify(demanding(ONE, OTHER), runs)
    assert verified.cases == Counter({PASSED: 2, SKIPPED: 1, FAILED: 1})
    assert verified.failing == {OTHER: FAILED}


@pytest.mark.parametrize(
    ("ends", "passed"),
    [
        ([PASSED, PASSED], True),
        ([PASSED, SKIPPED], True),
        ([PASSED, FAILED], False),
        ([PASSED, ERROR], False),
        ([SKIPPED, PASSED], False),
    ],
)
def test_all_passed_if_every_requirement_and_no_other_test_failed(tmp_path, ends, passed):
    runs = [run_of(tmp_path, *map(Case, (ONE, OTHER), ends))]
    assert has_passed(verify(demanding(ONE), runs), runs) is passed


def told(tmp_path: Path, *cases: Case, **said: str) -> list[str]:
    """The lines of the page."""
    runs = [run_of(tmp_path, *cases, **said)]
    return text(verify(demanding(ONE), runs), runs, ["cli", "scripts"]).splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "**Passed.** 1 of 1 requirements: each of their tests ran, and none failed.",
        "| version | sonnx_ort 1.2.3 |",
        f"| commit | `{40 * 'a'}` |",
        "| its sources unchanged | yes |",
        f"| SHA-256 of the sources | `{64 * 'b'}` |",
        "| begun | 2026-11-25 20:27 |",
        "| duration | 2 min |",
        "| arguments of pytest | `-n auto` |",
        "| settings | `SONNX_ORT_RUNS=2` |",
        "| Python | CPython 3.11.7 |",
        "| platform | Linux x86_64 |",
        "| packages | numpy 2.4.6, onnx 1.23.2 |",
        "| cases | 2 passed, 1 skipped, 0 failed, 0 errors |",
        "| `.venv/bin/pytest tests/cli` | **not run** |  |  |  |",
        "| `.venv/bin/pytest tests/scripts` | 1 | 1 | 0 | 0 |",
        "| `.venv/bin/pytest tests/test_*.py` | 1 | 0 | 0 | 0 |",
        "| `scripts` | `` needs 'Node' \\| npm `` | 1 |",
        "| TOR-1 | `Div.R1` | passed | 1 | 1 | 1 | 0 |",
    ],
)
def test_page_tells_of_sources_runs_sets_and_requirements(tmp_path, line):
    cases = (
        Case(ONE, PASSED),
        Case(ONE, SKIPPED, "needs `Node` | npm"),
        Case("tests/test_import.py::test_it", PASSED),
    )
    assert line in told(tmp_path, *cases)


@pytest.mark.parametrize(
    "line",
    [
        "**Not passed.** 0 of 1 requirements: each of their tests ran, and none failed.",
        "| its sources unchanged | **no** |",
        f"| `{ONE}` | `` assert 1 == 2 `` | 1 |",
        f"| TOR-1 | `Div.R1` | **failed**: `{ONE}` | 1 | 0 | 0 | 1 |",
    ],
)
def test_page_shows_what_failed(tmp_path, line):
    assert line in told(tmp_path, Case(ONE, FAILED, "assert 1 == 2"), clean="no")


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        (["--cases 6"], "**Passed, with some cases of each test only.**"),
        (["--cases 6", "tests/scripts"], "**Passed.**"),
    ],
)
def test_page_tells_if_no_run_had_all_cases(tmp_path, arguments, verdict):
    runs = [run_of(tmp_path, Case(ONE, PASSED), arguments=given) for given in arguments]
    assert text(verify(demanding(ONE), runs), runs, []).startswith(f"{verdict} ")


PARTS_OF_A_RUN = [f"SONNX_ORT_PART={part}, SONNX_ORT_RUNS=2" for part in range(1, PARTS + 1)]


@pytest.mark.parametrize(
    ("settings", "arguments", "verdict"),
    [
        (PARTS_OF_A_RUN, ["--cases 5"] * PARTS, "with all cases, in 10 parts"),
        (PARTS_OF_A_RUN[1:], ["--cases 5"] * (PARTS - 1), "with some cases of each test only"),
        (
            PARTS_OF_A_RUN,
            ["--cases 6", *["--cases 5"] * (PARTS - 1)],
            "with some cases of each test only",
        ),
    ],
    ids=["all", "one is not there", "one is of another size"],
)
def test_page_tells_if_runs_had_all_parts_of_the_cases(tmp_path, settings, arguments, verdict):
    runs = [
        run_of(tmp_path, Case(ONE, PASSED), settings=chosen, arguments=given)
        for chosen, given in zip(settings, arguments, strict=True)
    ]
    assert text(verify(demanding(ONE), runs), runs, []).startswith(f"**Passed, {verdict}.** ")


def test_parts_are_those_that_tests_choose_from():
    assert PARTS == chosen_cases.PARTS


def verifying_tests() -> list[str]:
    """The tests of all requirements."""
    return sorted({test for requirement in demanded() for test in requirement.tests})


def every_test(*but: str, inside: str = "") -> list[str]:
    """A case of every test of every requirement: of some, it has not passed."""
    elements = []
    for test in verifying_tests():
        file, _, name = test.partition("::")
        of = file.removesuffix(".py").replace("/", ".")
        elements.append(element(name or "test_it", inside if test in but else "", of))
    return elements


def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path) -> tuple[int, Path]:
    monkeypatch.setattr(pages, "sources", lambda: NOW)
    folder = tmp_path / "docs"
    return pages.write_pages(folder, [file]), folder / "qualification" / "results.md"


def test_run_of_all_tests_has_a_page_with_a_row_of_each_requirement_and_set(tmp_path, monkeypatch):
    status, written = write(tmp_path, monkeypatch, junit(tmp_path, *every_test()))
    page = written.read_text("utf-8")
    assert status == 0
    assert f"**Passed.** {len(demanded())} of {len(demanded())} requirements" in page
    for requirement in demanded():
        assert f"\n| {requirement.number} |" in page
    assert page.count("\n| `.venv/bin/pytest tests/") == len(read_procedures()) - 1


@pytest.mark.parametrize(
    ("how", "cases"),
    [
        ("failed", lambda first: every_test(first, inside="<failure/>")),
        ("skipped", lambda first: every_test(first, inside="<skipped/>")),
        ("not run", lambda _: every_test()[1:]),
    ],
    ids=["failed", "skipped", "not run"],
)
def test_requirement_that_is_not_verified_gives_status_1(tmp_path, monkeypatch, capsys, how, cases):
    first, *_ = verifying_tests()
    status, written = write(tmp_path, monkeypatch, junit(tmp_path, *cases(first)))
    assert status == 1
    numbers = [r.number for r in demanded() if first in r.tests]
    assert capsys.readouterr().out.splitlines() == [
        f"{number}: {how}: {first}" for number in numbers
    ]
    assert written.read_text("utf-8").count(f"`{first}` | ") >= len(numbers)


def test_file_that_cannot_be_used_gives_a_sentence_and_status_2(tmp_path, monkeypatch, capsys):
    missing = tmp_path / "missing.xml"
    status, written = write(tmp_path, monkeypatch, missing)
    assert (status, written.exists()) == (2, False)
    assert capsys.readouterr().err == f"{missing} cannot be read: No such file or directory.\n"


def git(folder: Path, *arguments: str) -> None:
    named = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    captured(["git", *named, *arguments], folder, check=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "a name.py").write_text("1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


def test_digest_of_the_sources_is_what_the_command_of_the_page_prints(repository):
    page = (pages.DOCUMENTATION / "qualification" / "results.md").read_text("utf-8")
    (command,) = (code for code in page.split("`") if code.startswith("git ls-files"))
    done = captured(["sh", "-c", command], repository, check=True)
    assert done.stdout.split()[0] == sources(repository)["sources"]


@pytest.mark.parametrize(
    ("file", "clean", "same"),
    [(None, "yes", True), ("a name.py", "no", False), ("untracked.py", "no", True)],
)
def test_sources_are_those_of_the_commit(repository, file, clean, same):
    before = sources(repository)
    if file is not None:
        (repository / file).write_text("2\n")
    after = sources(repository)
    assert (before["clean"], after["clean"]) == ("yes", clean)
    assert (after["sources"] == before["sources"]) is same
    assert after["commit"] == before["commit"] != ""


def test_without_a_repository_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    found = sources(tmp_path)
    assert (found["commit"], found["clean"], found["sources"]) == ("", "", "")


def test_without_git_there_is_no_commit(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert sources(repository)["commit"] == ""


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["--junit-xml=/home/me/a.xml", "-m", "not models"], "-m 'not models'"),
        (["--junitxml", "a.xml", "tests/cli"], "tests/cli"),
        (["tests/cli", "--junit-xml"], "tests/cli"),
    ],
)
def test_arguments_are_those_that_choose_tests(arguments, kept):
    assert properties(NOW, arguments)["arguments"] == kept


def test_run_says_whether_its_sources_changed():
    now = sources()
    assert properties(now, [])["unchanged"] == "yes"
    assert properties(NOW, [])["unchanged"] == "no"


@pytest.mark.parametrize("processes", ["0", "1"])
def test_pytest_writes_what_was_tested(tmp_path, processes):
    """A fixture cannot, where pytest-xdist runs the tests."""
    path = tmp_path / "junit.xml"
    test = f"{FILE}::test_without_a_repository_there_is_no_commit"
    command = [sys.executable, "-m", "pytest", "-n", processes, test, f"--junit-xml={path}"]
    child = run_program(command, folder=str(ROOT), timeout=120)
    assert child.exit_status == 0, child
    run = read_run(path, sources())
    assert run.cases == (Case(test, PASSED),)
    assert run.said["arguments"] == f"-n {processes} {test}"
