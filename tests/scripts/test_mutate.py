"""Campaign of mutants: what becomes of them, and what is recorded and listed of the package's."""

import pytest

from support.pages import REPOSITORY
from support.tiny_project import TinyProject

pytest.importorskip("mutmut")

from mutate import EQUIVALENTS
from mutation.outcomes import listed_in

LISTED = listed_in(EQUIVALENTS)

MODULE = """\
class Interval:
    def width(self) -> int:
        return abs(3) + 0


def table() -> list[int]:
    return [7]


TABLE = table()
"""

TESTS = """\
import tiny


def test_width():
    assert tiny.Interval().width() == 3


def test_table():
    assert tiny.TABLE == [7]
"""

KILLED = "Interval.width: return abs(3) + 0 -> return abs(4) + 0"
ADD_NOTHING = "Interval.width: return abs(3) + 0 -> return abs(3) - 0"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> TinyProject:
    """A project of one module, with the scripts of this one."""
    root = tmp_path_factory.mktemp("project")
    return TinyProject(root, "mutants", "equivalents.toml", "mutants.json").write(MODULE, TESTS)


def mutate(project: TinyProject, *listed: str) -> tuple[int, str, dict]:
    """The exit status, what is told and what is recorded, with a list of equivalent mutants."""
    return project.run("tiny.py", "--tests", "tests", listed=listed)


@pytest.fixture(scope="module")
def first_run(project: TinyProject) -> tuple[int, str, dict]:
    return mutate(project)


@pytest.mark.thorough
def test_mutants_that_a_test_tells_are_killed(first_run) -> None:
    _, _, entry = first_run
    assert (entry["mutants"], entry["killed"], entry["timeouts"]) == (5, 4, 0)


@pytest.mark.thorough
def test_mutants_survive_that_no_test_tells(first_run) -> None:
    status, told, entry = first_run
    assert entry["survivors"] == [ADD_NOTHING]
    assert told.endswith(f"\n    {ADD_NOTHING}\n")
    assert status == 1


@pytest.fixture(scope="module")
def second_run(project: TinyProject, first_run) -> tuple[int, str, dict]:
    del first_run
    return mutate(project, ADD_NOTHING, KILLED)


@pytest.mark.thorough
def test_what_is_listed_of_the_survivors_is_equivalent(second_run) -> None:
    _, _, entry = second_run
    assert (entry["survivors"], entry["equivalent"], entry["killed"]) == ([], 1, 4)


@pytest.mark.thorough
def test_listed_mutant_that_does_not_survive_is_told(second_run) -> None:
    status, told, _ = second_run
    assert told.endswith(f"\n    listed in vain: {KILLED}\n")
    assert status == 1


@pytest.mark.parametrize("path", sorted({listed["path"] for listed in LISTED}))
def test_listed_mutants_are_of_lines_as_they_are(path: str) -> None:
    source = " ".join((REPOSITORY / path).read_text("utf-8").split())
    for listed in (one for entry in LISTED if entry["path"] == path for one in entry["mutants"]):
        parts = listed.partition(": ")[2].split(" -> ")
        assert any(" -> ".join(parts[:count]) in source for count in range(1, len(parts))), listed
