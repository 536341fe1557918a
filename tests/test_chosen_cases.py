"""With --cases each commit has another part of the cases, and all parts have every case."""

import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.child import run_program
from support.chosen_cases import (
    FIXED,
    PARTS,
    WHOLE,
    chosen,
    is_in,
    part_of_commit,
    runs_that_reach_all,
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
    assert first[4:] == ["test_marked[40]", "test_one"]
    assert second == first


def test_option_and_variable_give_another_part(tmp_path: Path) -> None:
    by_default, by_option = (
        names(tried(tmp_path, "--collect-only", *options)) for options in ((), ("--part", "2"))
    )
    by_variable = names(tried(tmp_path, "--collect-only", SONNX_ORT_PART="2"))
    assert by_variable == by_option
    assert not {*by_default[:4]} & {*by_option[:4]}


def test_fixed_folder_has_the_first_part_unless_another_is_given(tmp_path: Path) -> None:
    by_default, *by_option = (
        tried(tmp_path, "scripts", *options, file="scripts/test_numbers.py")
        for options in ((), ("--part", "1"), ("--part", "2"))
    )
    first, second = ({*re.findall(r"test_many\[\d+\]", said)} for said in by_option)
    fixed = {*re.findall(r"test_many\[\d+\]", by_default)}
    assert by_default.count("chosen by --cases 3 --part 1") == len(fixed) == 3
    assert fixed < first
    assert not first & second


def test_case_that_fails_says_how_it_is_chosen_again(tmp_path: Path) -> None:
    said = tried(tmp_path, "--part", "7")
    assert said.count("chosen by --cases 3 --part 7") == 4
    assert "5 failed, 1 passed" in said


@pytest.mark.parametrize("most", [1, 5, 6, 40])
@pytest.mark.parametrize("count", [0, 1, 5, 6, 7, 11, 50, 51, 99, 1000])
def test_all_parts_have_every_case_and_each_as_many(count: int, most: int) -> None:
    cases = [f"test[{number}]" for number in range(count)]
    parts = [chosen(cases, most, part) for part in range(1, PARTS + 1)]
    assert set().union(*parts) == {*cases}
    assert {len(part) for part in parts} == {min(count, max(most, -(-count // PARTS)))}


def test_fixed_cases_are_those_of_the_first_part() -> None:
    cases = [f"test[{number}]" for number in range(1000)]
    fixed = chosen(cases, 5, PARTS, fixed=True)
    assert len(fixed) == 5
    assert fixed < chosen(cases, 5, 1)


def test_commits_have_different_parts_and_without_git_there_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for date in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(date, "2026-01-01T00:00:00Z")
    assert part_of_commit(tmp_path) == 1
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)
    parts = set()
    for number in range(12):
        commit = [*git, "commit", "-q", "--allow-empty", "-m", f"{number}"]
        subprocess.run(commit, cwd=tmp_path, check=True)
        parts.add(part_of_commit(tmp_path))
    assert len(parts) > 3
    assert parts <= {*range(1, PARTS + 1)}


@pytest.mark.parametrize("name", sorted(WHOLE | FIXED.keys()))
def test_listed_folders_and_files_exist(name: str) -> None:
    assert (TESTS / name).exists()


@pytest.mark.parametrize(
    ("path", "found"),
    [("cli/test_diff.py", True), ("cli/test_show.py", False), ("terms/test_show.py", True)],
)
def test_place_is_a_file_or_a_folder(path: str, *, found: bool) -> None:
    assert is_in(Path(path), {"cli/test_diff.py", "terms"}) is found


def test_no_folder_is_whole_and_fixed() -> None:
    assert not WHOLE & FIXED.keys()


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
