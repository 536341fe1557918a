"""Campaign of mutants: what becomes of them, and what is recorded and listed of the package's."""

import functools
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ages import digest
from test_architecture import BELOW

from support import forks
from support.pages import REPOSITORY
from support.tiny_project import TinyProject

pytest.importorskip("mutmut")

import mutate
from mutation import calling, trials
from mutation import functions as functions_of_modules
from mutation.calling import statuses
from mutation.functions import REACHED, Functions
from mutation.outcomes import listed_in
from mutation.process import PackageCaches
from mutation.rooms import TESTS as ROOMS
from mutation.rooms import mirrors, place_of, room_of
from mutation.shown import table

LISTED = listed_in(mutate.EQUIVALENTS)

MODULE = """\
import functools


class Interval:
    @property
    def width(self) -> int:
        return abs(3) + 0

    def scaled(self, by: int = 2) -> int:
        return self.width * by


def table() -> list[int]:
    return [7]


TABLE = table()


@functools.cache
def first() -> int:
    return TABLE[0]


def endless() -> int:
    while False:
        pass
    return 7
"""

TESTS = """\
import tiny


def test_width():
    assert tiny.Interval().width == 3


def test_scaled():
    assert tiny.Interval().scaled() == 6


def test_table():
    assert tiny.TABLE == [7]


def test_first():
    assert tiny.first() == 7


def test_endless():
    assert tiny.endless() == 7
"""

ADD_NOTHING = "Interval.width: return abs(3) + 0 -> return abs(3) - 0"
KILLED = "Interval.width: return abs(3) + 0 -> return abs(4) + 0"
AT_DEFINITION = "Interval.scaled: def scaled(self, by: int = 2) -> int: -> "
AT_IMPORT = "table: return [7] -> return [8]"
CACHED = "first: return TABLE[0] -> return TABLE[1]"
ENDLESS = "endless: while False: -> while True:"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> TinyProject:
    """A project of one module, with the scripts of this one."""
    root = tmp_path_factory.mktemp("project")
    return TinyProject(root, "mutants", "equivalents.toml", "mutants.json").write(MODULE, TESTS)


@pytest.fixture(scope="module")
def first_run(project: TinyProject) -> tuple[int, str, dict]:
    return project.run("tiny.py")


def names(entry: dict, what: str) -> list[str]:
    """The mutants that became something, by their names."""
    return [Functions(MODULE).mutant(number).name for number in entry["numbers"][what]]


@pytest.mark.thorough
def test_mutants_that_a_test_tells_are_killed(first_run) -> None:
    _, _, entry = first_run
    killed = "\n".join(names(entry, "killed"))
    assert [one in killed for one in (KILLED, AT_DEFINITION, AT_IMPORT, CACHED)] == [True] * 4
    assert names(entry, "endless") == [ENDLESS]


@pytest.mark.thorough
def test_mutants_survive_that_no_test_tells(first_run) -> None:
    status, told, entry = first_run
    assert entry["survivors"] == [ADD_NOTHING]
    assert f"\n    tiny.py:7: {ADD_NOTHING}\n" in told
    assert status == 1


@pytest.fixture(scope="module")
def second_run(project: TinyProject, first_run) -> tuple[int, str, dict]:
    del first_run
    return project.run("tiny.py", listed=(ADD_NOTHING, KILLED))


@pytest.mark.thorough
def test_survivors_alone_are_tried_again(second_run) -> None:
    _, told, _ = second_run
    assert told.startswith("1 mutants with tests/test_tiny.py:\n1 mutants with tests:\n")


@pytest.mark.thorough
def test_what_is_listed_of_the_survivors_is_equivalent(first_run, second_run) -> None:
    before, after = first_run[2], second_run[2]
    assert (after["survivors"], after["equivalent"]) == ([], 1)
    assert after["killed"] == before["killed"]


@pytest.mark.thorough
def test_listed_mutant_that_does_not_survive_is_told(second_run) -> None:
    status, told, _ = second_run
    assert f"\n    listed in vain: {KILLED}\n" in told
    assert status == 1


@pytest.mark.thorough
def test_nothing_is_known_of_a_file_that_has_changed(project: TinyProject, second_run) -> None:
    del second_run
    path = project.root / "tiny.py"
    path.write_text(MODULE.replace("[7]", "[7, 9]"), "utf-8")
    _, told, entry = project.run("tiny.py", "--count", "0")
    path.write_text(MODULE, "utf-8")
    assert [len(those) for those in entry["numbers"].values()] == [0, 0, 0], told


@pytest.mark.thorough
def test_nothing_is_tried_when_the_time_is_over(project: TinyProject) -> None:
    record = project.root / "other.json"
    arguments = ("tiny.py", "--seconds", "0", "--record", str(record))
    status, told = project.call(*arguments)
    assert (status, told.splitlines()[1]) == (
        0,
        "There was no time to run the tests without a mutant.",
    )
    numbers = json.loads(record.read_text("utf-8"))["files"]["tiny.py"]["numbers"]
    assert numbers == {"killed": [], "endless": [], "survived": []}


SOURCE = """\
def one(a):
    '''Doc.'''
    return a + 1

class C:
    def two(self):
        return self.b and 2
"""


def test_each_function_tells_that_it_is_reached() -> None:
    told: list[int] = []
    scope: dict = {REACHED: told.append}
    exec(compile(Functions(SOURCE).instrumented(5), "m", "exec"), scope)  # noqa: S102
    assert (scope["one"](1), scope["one"].__doc__, told) == (2, "Doc.", [5])
    scope["C"].b = True
    assert (scope["C"]().two(), told) == (2, [5, 6])


def test_mutant_has_the_text_of_the_module_with_one_change() -> None:
    functions = Functions(SOURCE)
    made = [functions.mutant(number) for number in range(functions.mutants)]
    assert [(one.name, one.line, one.function) for one in made] == [
        ("one: return a + 1 -> return a - 1", 3, 0),
        ("one: return a + 1 -> return a + 2", 3, 0),
        ("C.two: return self.b and 2 -> return self.b or 2", 7, 1),
        ("C.two: return self.b and 2 -> return self.b and 3", 7, 1),
    ]
    assert made[3].text == SOURCE.replace("and 2", "and 3")
    assert made[3].code("m").co_name == "two"


STATEMENTS = """\
def one(a):
    a += f(a)
    if a:
        raise E  # why
    g()
    b = g()
"""


def test_statements_are_left_out_behind_what_mutmut_changes() -> None:
    functions = Functions(STATEMENTS)
    names = [functions.mutant(number).name for number in range(functions.mutants)]
    assert names[-3:] == [
        "one: a += f(a) -> pass",
        "one: raise E # why -> pass",
        "one: g() -> pass",
    ]
    assert not [name for name in names[:-3] if name.endswith("-> pass")]


def test_mutant_that_was_made_before_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions_of_modules, "_MADE", tmp_path)
    made = Functions(SOURCE).mutant(3)
    monkeypatch.delattr(Functions, "_mutant")
    assert Functions(SOURCE).mutant(3) == made


def test_tests_of_a_file_have_its_name() -> None:
    path = "sonnx_ort/runs/diff/difference.py"
    assert mirrors(path, ["tests/runs"]) == ["tests/runs/test_difference.py"]
    assert mirrors("sonnx_ort/runs/__init__.py", ["tests/runs"]) == []


class Item:
    """A test, of which only the name matters."""

    def __init__(self, nodeid: str) -> None:
        """Name it."""
        self.nodeid = nodeid


SECONDS = {"t/test_a.py::x": 1.0, "t/test_a.py::y": 5.0, "t/test_b.py::x": 1.0, "t/test_m.py::x": 9}


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ([], ["t/test_m.py::x", "t/test_b.py::x", "t/test_a.py::x", "t/test_a.py::y"]),
        (
            ["t/test_a.py::y", "t/test_gone.py::x"],
            ["t/test_m.py::x", "t/test_a.py::y", "t/test_b.py::x", "t/test_a.py::x"],
        ),
    ],
)
def test_what_mirrors_the_file_then_what_failed_then_what_is_fast_runs_first(
    failed: list[str], expected: list[str]
) -> None:
    items: Any = [Item(name) for name in SECONDS]
    made = trials._in_turn(items, SECONDS, SECONDS, failed, "test_m")
    assert [item.nodeid for item in made] == expected


@pytest.mark.parametrize(("most", "count"), [(0.5, 1), (5.9, 1), (6.0, 2), (9e9, 4)])
def test_mutant_has_so_many_seconds_of_tests_and_one_test_at_least(most: float, count: int) -> None:
    items: Any = [Item(name) for name in ("t/test_a.py::y", *SECONDS)][:4]
    assert len(trials._within(items, SECONDS, most)) == count


def test_caches_of_modules_that_are_imported_later_are_emptied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []

    def counted() -> int:
        made.append(0)
        return 0

    caches = PackageCaches()
    caches.clear()
    counted.__module__ = "sonnx_ort.of_a_test"
    cached = functools.cache(counted)
    monkeypatch.setitem(sys.modules, "sonnx_ort.of_a_test", ModuleType("of_a_test"))
    for _ in range(3):
        caches.clear()
        cached()
        cached()
    assert len(made) == 3


class Reached:
    """What notes what is reached."""

    def __init__(self) -> None:
        """Nothing was reached."""
        self.seen: set[int] = set()

    def note(self, number: int) -> None:
        """Note that this was reached."""
        self.seen.add(number)

    def reached(self) -> set[int]:
        """What was reached."""
        return {*self.seen}

    def forget(self) -> None:
        """Forget it."""
        self.seen.clear()


@dataclass(frozen=True, eq=False)
class Fixture:
    """A fixture, of which only the scope matters."""

    scope: str


@pytest.mark.parametrize(("scope", "shared"), [("module", {2}), ("function", set())])
def test_what_a_shared_fixture_reaches_counts_for_each_test_that_has_it(
    scope: str, shared: set[int]
) -> None:
    kind: Any = Reached()
    fixture, other = Fixture(scope), Fixture("session")
    plugin = trials._Shared(kind)
    kind.note(1)
    running = plugin.pytest_fixture_setup(fixture)
    next(running)
    kind.note(2)
    with pytest.raises(StopIteration):
        running.send("made")
    assert kind.reached() == {1, 2}
    items: list[Any] = [
        SimpleNamespace(_fixtureinfo=SimpleNamespace(name2fixturedefs={"f": [each]}))
        for each in (fixture, other)
    ]
    assert [plugin.reached(item) for item in [*items, Item("t/test_a.py::x")]] == [
        shared,
        set(),
        set(),
    ]


def test_seed_draws_the_same_mutants_and_another_one_others() -> None:
    modules = {"a.py": Functions(SOURCE), "b.py": Functions(SOURCE)}
    tried = {"a.py": {"killed": [0]}, "b.py": {"killed": []}}
    one, same, other = (mutate.drawn(modules, tried, seed) for seed in (1, 1, 2))
    assert one == same != other
    assert sorted(one) == sorted(other)
    assert ("a.py", 0) not in one


def test_files_that_have_changed_since_a_commit_are_those_of_the_product(tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(tmp_path)]

    def write(*paths: str) -> None:
        for path in paths:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            with (tmp_path / path).open("a", encoding="utf-8") as file:
                file.write("x = 1\n")

    subprocess.check_call([*git, "init", "-q"])
    write("sonnx_ort/ort/a.py", "sonnx_ort/ort/b.py", "sonnx_ort/gone.py", "scripts/s.py")
    subprocess.check_call([*git, "add", "."])
    subprocess.check_call([*git, "commit", "-q", "-m", "m"])
    write("sonnx_ort/ort/b.py", "sonnx_ort/api/rewriting.py", "scripts/s.py")
    (tmp_path / "sonnx_ort" / "gone.py").unlink()
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    assert sorted(mutate.changed_since("HEAD")) == [
        "sonnx_ort/api/rewriting.py",
        "sonnx_ort/ort/b.py",
    ]


def test_room_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        mutate.run(["runtimes"])
    assert "there is no room, file or folder runtimes" in capsys.readouterr().err


@pytest.mark.parametrize("name", forks.VARIABLES)
def test_pythons_that_tests_of_a_mutant_start_can_be_forks(name: str) -> None:
    assert calling._VARIABLES[name] == forks.VARIABLES[name]


def test_nothing_is_called_where_there_is_nothing_to_try() -> None:
    assert statuses("functions", [], ["tests/none"]) == {}


def test_tests_of_the_files_are_tried_before_those_of_the_rest_of_the_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def answers(_: str, mutants: Sequence[tuple[str, int]], tests: Sequence[str], *__: Any) -> dict:
        asked.append(([*mutants], [*tests]))
        return dict(zip(mutants, (1, 0), strict=False))

    monkeypatch.setattr(mutate, "statuses", answers)
    mirrored, other = "sonnx_ort/runs/diff/difference.py", "sonnx_ort/runs/audit/other_places.py"
    mutants = [(other, 1), (mirrored, 1), (mirrored, 2)]
    found = mutate._found(mutants, ["tests/runs"], math.inf, ())
    assert asked == [
        ([(mirrored, 1), (mirrored, 2)], ["tests/runs/test_difference.py"]),
        ([(other, 1), (mirrored, 2)], ["tests/runs"]),
    ]
    assert found == {(mirrored, 1): 1, (other, 1): 1, (mirrored, 2): 0}


def test_every_room_is_tried_with_tests_that_are_there() -> None:
    assert ROOMS.keys() == {*(place.split(".")[0] for place in BELOW), "cli", "__init__"}
    files = {file.relative_to(REPOSITORY).as_posix() for room in ROOMS for file in files_of(room)}
    assert {room_of(file) for file in files} == ROOMS.keys()
    tests = {test for owners in ROOMS.values() for test in owners}
    assert [test for test in sorted(tests) if not (REPOSITORY / test).exists()] == []


def files_of(room: str) -> list:
    place = REPOSITORY / place_of(room)
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def test_every_file_of_the_product_with_functions_is_of_a_room() -> None:
    package = (
        *(REPOSITORY / "sonnx_ort").rglob("*.py"),
        *(REPOSITORY / "custom_ops").rglob("*.py"),
    )
    paths = (file.relative_to(REPOSITORY).as_posix() for file in package)
    without = (path for path in paths if not room_of(path))
    assert [path for path in without if len(Functions((REPOSITORY / path).read_text()))] == []


def test_page_shows_what_was_tried_of_files_as_they_are(tmp_path: Path) -> None:
    one, other = sorted((REPOSITORY / "sonnx_ort" / "samples").glob("*.py"))[1:3]
    numbers = {"killed": [1, 2], "endless": [3], "survived": [4, 5]}
    entry = {
        "mutants": 1200,
        "killed": 2,
        "timeouts": 1,
        "equivalent": 1,
        "survivors": ["x"],
        "numbers": numbers,
    }
    files = {
        file.relative_to(REPOSITORY).as_posix(): entry | {"source": source}
        for file, source in ((one, digest(str(one))), (other, "of another text"))
    }
    record = tmp_path / "mutants.json"
    record.write_text(json.dumps({"files": files}), "utf-8")
    rows = table(record).splitlines()
    assert len(rows) == 2 + len(ROOMS)
    shown = next(row for row in rows if row.startswith("| `samples` |"))
    assert shown == "| `samples` | `tests/samples` | 1 of 4 | 1,200 | 5 | 2 | 1 | 1 | 1 |"


def test_page_tells_what_is_tried_unless_other_numbers_are_given() -> None:
    text = " ".join((REPOSITORY / "docs" / "mutants.md").read_text("utf-8").split())
    assert f"A seed draws {mutate.COUNT} of those that were not tried" in text
    assert f"a call ends after {mutate.SECONDS / 60:g} minutes" in text
    assert mutate.CASES == 6
    assert "As in the quick check, six cases of each test run" in text


def test_recorded_numbers_are_of_mutants_that_there_are() -> None:
    record = json.loads((REPOSITORY / "docs" / "records" / "mutants.json").read_text("utf-8"))
    for path, entry in record["files"].items():
        numbers = [number for those in entry["numbers"].values() for number in those]
        assert len(set(numbers)) == len(numbers), path
        assert set(numbers) <= set(range(entry["mutants"])), path


@pytest.mark.parametrize("path", sorted({listed["path"] for listed in LISTED}))
def test_listed_mutants_are_of_lines_as_they_are(path: str) -> None:
    source = " ".join((REPOSITORY / path).read_text("utf-8").split())
    for listed in (one for entry in LISTED if entry["path"] == path for one in entry["mutants"]):
        parts = listed.partition(": ")[2].split(" -> ")
        assert any(" -> ".join(parts[:count]) in source for count in range(1, len(parts))), listed
