"""With --cases each commit has another part of the cases, and all parts have every case."""

import json
import math
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import checks
import pytest
from _pytest.mark.expression import Expression
from environment import Environment

from support.child import run_program
from support.chosen_cases import (
    LONG,
    PARTS,
    WHOLE,
    chosen,
    is_in,
    run_of,
    runs_that_reach_all,
    share,
    share_of_commit,
    trials,
)

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

PARAMETRIZED = """
import pytest

LONG = [pytest.param(number, marks=pytest.mark.thorough) for number in range(40)]

@pytest.mark.parametrize("number", range(40))
def test_many(number): assert "x" in "y"

@pytest.mark.parametrize("number", [*LONG, 40])
def test_marked(number): pass

@pytest.mark.parametrize("number", LONG)
def test_long(number): pass

def test_one(): assert "x" in "y"

def test_random(part_of_trials): assert part_of_trials < 0
"""


def tried(
    folder: Path,
    *options: str,
    fresh: bool = False,
    file: str = "test_numbers.py",
    **variables: str,
) -> str:
    """What a run of these tests says, of which every part is chosen anew."""
    shutil.copy(TESTS / "conftest.py", folder)
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(PARAMETRIZED, encoding="utf-8")
    markers = "markers=thorough\ntime_limit"
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "-o", markers, "--cases=3"]
    command += ["-m", "not thorough", *options]
    return run_program(
        command, folder=str(folder), timeout=60, fresh=fresh, **variables
    ).stdout.replace("test_numbers.py::", "")


def names(said: str) -> list[str]:
    return re.findall(r"^test_\w+(?:\[\d+\])?$", said, re.MULTILINE)


def test_cases_are_the_same_in_each_run_of_a_part_and_are_those_that_marks_leave(
    tmp_path: Path,
) -> None:
    first, second = (
        names(tried(tmp_path, "--collect-only", fresh=fresh)) for fresh in (False, True)
    )
    assert [name.partition("[")[0] for name in first[:4]] == ["test_many"] * 4
    assert first[4:] == ["test_marked[40]", "test_one", "test_random"]
    assert second == first


def test_option_and_variable_give_another_part(tmp_path: Path) -> None:
    by_default, by_option = (
        names(tried(tmp_path, "--collect-only", *options)) for options in ((), ("--part", "2"))
    )
    by_variable = names(tried(tmp_path, "--collect-only", SONNX_ORT_PART="2"))
    assert by_variable == by_option
    assert not {*by_default[:4]} & {*by_option[:4]}


def test_long_place_has_few_of_its_part_unless_the_part_is_given(tmp_path: Path) -> None:
    by_default, *by_option = (
        tried(tmp_path, "vectors", *options, file="vectors/test_engines.py")
        for options in ((), ("--part", "1"), ("--part", "2"))
    )
    first, second = ({*re.findall(r"test_many\[\d+\]", said)} for said in by_option)
    few = {*re.findall(r"test_many\[\d+\]", by_default)}
    assert by_default.count("chosen by --cases 3 --part 1") == len(few) == 3
    assert few < first
    assert not first & second


def test_case_that_fails_says_how_it_is_chosen_again(tmp_path: Path) -> None:
    said = tried(tmp_path, "--part", "7")
    assert said.count("chosen by --cases 3 --part 7") == 4
    assert "6 failed, 1 passed" in said


def test_random_trials_that_fail_say_how_they_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("SONNX_ORT_SPLICES", "SONNX_ORT_RUNS"):
        monkeypatch.delenv(other, raising=False)
    options = "--part", "7", "--cases", "0", "-k", "random"
    said = tried(tmp_path, *options, SONNX_ORT_GRAPHS="40")
    assert "test_random - assert 7 < 0" in said
    assert said.count("made again by SONNX_ORT_GRAPHS=40 --part 7") == 1


@pytest.mark.parametrize("options", [(), ("--cases", "0")], ids=["some cases", "all cases"])
def test_without_git_random_trials_are_those_of_the_first_part(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    assert "test_random - assert 1 < 0" in tried(tmp_path, "-k", "random", *options)


def test_each_part_has_other_random_trials() -> None:
    numbers = [number for part in range(1, PARTS + 1) for number in trials(part, 40, 900)]
    assert numbers == [*range(900, 900 + 40 * PARTS)]


@pytest.mark.parametrize("most", [1, 5, 6, 40])
@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 11, 50, 51, 99, 1000])
def test_all_parts_have_every_case_and_each_as_many(count: int, most: int) -> None:
    cases = [f"test[{number}]" for number in range(count)]
    parts = [chosen(cases, most, part) for part in range(1, PARTS + 1)]
    assert set().union(*parts) == {*cases}
    assert {len(part) for part in parts} == {min(count, max(most, -(-count // PARTS)))}


@pytest.mark.parametrize("most", [1, 5, 6, 40])
@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 50, 51, 99, 1000])
def test_turns_of_all_parts_have_every_case_and_each_few(count: int, most: int) -> None:
    cases = [f"test[{number}]" for number in range(count)]
    turns = range(max(1, -(-count // PARTS // most)) + 1)
    shares = [chosen(cases, most, part, turn) for part in range(1, PARTS + 1) for turn in turns]
    assert set().union(*shares) == {*cases}
    assert {len(share) for share in shares} == {min(count, most)}


def test_case_of_a_turn_is_one_of_its_part() -> None:
    cases = [f"test[{number}]" for number in range(1000)]
    turns = [chosen(cases, 5, PARTS, turn) for turn in (0, 1, 20)]
    assert turns[0] == turns[2]
    assert not turns[0] & turns[1]
    assert turns[0] | turns[1] < chosen(cases, 5, PARTS)


def test_commits_have_different_shares_and_without_git_there_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for date in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(date, "2026-01-01T00:00:00Z")
    assert share_of_commit(tmp_path) == (1, 0)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)
    shares = set()
    for number in range(12):
        commit = [*git, "commit", "-q", "--allow-empty", "-m", f"{number}"]
        subprocess.run(commit, cwd=tmp_path, check=True)
        shares.add(share_of_commit(tmp_path))
    parts = {part for part, _ in shares}
    assert len(parts) > 3
    assert parts <= {*range(1, PARTS + 1)}
    assert len({turn for _, turn in shares}) == len(shares) == 12


@pytest.mark.parametrize(
    ("place", "given", "expected"),
    [("cli", 0, (4, None)), ("long", 0, (4, 9)), ("long", 7, (7, None))],
)
def test_share_of_a_file_is_that_of_the_commit_unless_a_part_is_given(
    place: str, given: int, expected: tuple[int, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.chosen_cases.LONG", {"long"})
    assert share(Path(place) / "test_show.py", given, (4, 9)) == expected


@pytest.mark.parametrize("name", sorted(WHOLE | LONG))
def test_listed_folders_and_files_exist(name: str) -> None:
    assert (TESTS / name).exists()


@pytest.mark.parametrize(
    ("path", "found"),
    [("cli/test_diff.py", True), ("cli/test_show.py", False), ("terms/test_show.py", True)],
)
def test_place_is_a_file_or_a_folder(path: str, *, found: bool) -> None:
    assert is_in(Path(path), {"cli/test_diff.py", "terms"}) is found


def test_a_place_is_listed_once() -> None:
    assert not WHOLE & LONG


def test_runs_that_reach_all_are_as_many_as_throws_that_show_all_sides() -> None:
    """By the inclusion and exclusion of the parts that no run had."""

    def probability(runs: int) -> float:
        return sum(
            (-1) ** missing * math.comb(PARTS, missing) * (1 - missing / PARTS) ** runs
            for missing in range(PARTS + 1)
        )

    runs = runs_that_reach_all(0.99)
    assert probability(runs - 1) < 0.99 <= probability(runs)


def test_what_runs_each_week_alone_is_among_the_thorough_tests() -> None:
    """Who leaves these out leaves it out."""
    weekly = re.compile(r"mark\.weekly")
    both = re.compile(r"mark\.thorough[\s,]+@?pytest\.mark\.weekly")
    texts = {path: path.read_text("utf-8") for path in TESTS.rglob("test_*.py")}
    marked = {path: len(weekly.findall(text)) for path, text in texts.items()}
    assert sum(marked.values()) > 0
    assert {path: len(both.findall(text)) for path, text in texts.items()} == marked


LISTING = """
import json, sys
import pytest

class Listing:
    def pytest_collection_finish(self, session):
        marks = {item.nodeid: [mark.name for mark in item.iter_markers()] for item in session.items}
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            json.dump(marks, file)

options = ["--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", "tests"]
sys.exit(pytest.main(options, plugins=[Listing()]))
"""


def cases_of_tests(folder: Path) -> dict[str, dict[str, list[str]]]:
    """The cases of each test there is, with the marks of each."""
    listed = folder / "cases.json"
    command = [sys.executable, "-c", LISTING, listed]
    done = run_program(command, folder=str(ROOT), timeout=250, fresh=True)
    assert done.exit_status == 0, done
    found: dict[str, dict[str, list[str]]] = {}
    for name, marks in json.loads(listed.read_text("utf-8")).items():
        found.setdefault(name.partition("[")[0], {})[name] = marks
    return found


def runs_of_all_tests(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """Each run of all tests by the service and by `.ci/run`: its marks, and how many cases."""
    called: list[list[str]] = []

    def run_tests(chosen: Mapping[str, Callable[[], int]]) -> bool:
        for name in chosen.keys() & {"pytest", "real models"}:
            chosen[name]()
        return True

    monkeypatch.setattr(Environment, "prepare", lambda *_, **_options: None)
    monkeypatch.setattr(Environment, "call", lambda _, command, *_1, **_2: called.append(command))
    monkeypatch.setattr(checks, "run_checks", run_tests)
    weekly = (ROOT / ".github/workflows/cases.yml").read_text("utf-8")
    integration = (ROOT / ".ci/run").read_text("utf-8").replace("\\\n", "")
    commands = re.findall(r"python3? scripts/test\.py (--thorough --cases.*|--models.*)", weekly)
    commands += re.findall(
        r"python3 scripts/test\.py (--fresh --thorough.*|--models.*)", integration
    )
    for command in commands:
        monkeypatch.setattr(sys, "argv", ["test.py", *shlex.split(command)])
        with pytest.raises(SystemExit):
            runpy.run_path(str(ROOT / "scripts/test.py"), run_name="__main__")
        *_, words = called
        last = {name: words[at + 1] for at, name in enumerate(words[:-1]) if at > 2}
        yield last["-m"], int(last.get("--cases", 0))


def is_wanted(expression: str, marks: Collection[str]) -> bool:
    return Expression.compile(expression).evaluate(lambda name, **_: name in marks)


@pytest.mark.thorough
def test_every_case_is_in_a_part_of_a_run_of_all_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All parts run each week, and commits choose one of them."""
    runs = [*runs_of_all_tests(monkeypatch)]
    assert len(runs) == 4
    missed = set()
    for test, cases in cases_of_tests(tmp_path).items():
        reached = set[str]()
        for expression, most in runs:
            left = [name for name, marks in cases.items() if is_wanted(expression, marks)]
            within = Path(test.partition("::")[0]).relative_to("tests")
            parts = range(1, PARTS + 1)
            reached.update(*(run_of(within, left, most, part, None) for part in parts))
        missed |= cases.keys() - reached
    assert sorted(missed) == []
