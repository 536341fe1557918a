"""Campaign of conditions: what a condition is, what becomes of mutants, and what is recorded."""

from collections import Counter

import pytest
from conditions import EQUIVALENTS
from mutation.conditions import CONDITION, STOPS, instrumented, mutants
from mutation.outcomes import listed_in

from support.pages import REPOSITORY
from support.tiny_project import TinyProject

LISTED = listed_in(EQUIVALENTS)


@pytest.mark.parametrize(
    ("line", "conditions"),
    [
        ("if a and not (b or c): pass", ["a", "b", "c"]),
        ("while a: pass", ["a"]),
        ("assert a", ["a"]),
        ("x = b if a else c", ["a"]),
        ("x = [a for a in c if a.d if e]", ["a.d", "e"]),
        ("x = any(a and b for a in c)", ["a", "b"]),
        ("x = all(map(a, b))", []),
        ("x = all(a for a in b) or c", ["all((a for a in b))", "a", "c"]),
        ("require(a and b, 'c')", ["a", "b"]),
        ("x = not a", ["a"]),
        ("x = a < b", ["a < b"]),
        ("x = (a < b).all()", []),
        ("x = a or b", ["a"]),
        ("x = a or b < c", ["a", "b < c"]),
        ("while True: pass", []),
        ("match a:\n  case b if c: pass", ["c"]),
        ("def f() -> bool:\n  return a and b", ["a", "b"]),
        ("def f() -> int:\n  return a and b", ["a"]),
    ],
)
def test_conditions_are_what_decides(line: str, conditions: list[str]) -> None:
    names = [mutant.name.partition(": ")[2] for mutant in mutants(line)]
    assert names == [f"{one} -> {value}" for one in conditions for value in (True, False)]


def test_condition_that_a_function_has_twice_is_numbered() -> None:
    names = [mutant.name for mutant in mutants("class C:\n  def f(s):\n    s < 1 < s or s < 1 < s")]
    assert names[::2] == ["C.f: s < 1 < s -> True", "C.f: s < 1 < s (2) -> True"]


@pytest.mark.parametrize(
    ("expression", "made_true", "made_false"),
    [
        ("0 < (b := 3) < 2", True, False),
        ("0 or 'b'", 0, "b"),  # the operand, whatever its truth
        ("1 and 'b'", "b", 1),
        ("0 or [] or 'b'", 0, "b"),
        ("'b' and 1 and 0", 0, "b"),
        ("not []", False, True),
        ("[x for x in (1, 2) if x > 1]", [1, 2], []),
    ],
)
def test_mutant_takes_one_side(expression: str, made_true: object, made_false: object) -> None:
    def value_with(forced: bool) -> object:
        names: dict[str, object] = {
            CONDITION: lambda number, value: value if number else forced,
            STOPS: lambda number, value: (number, value) == (0, forced),
        }
        tree = instrumented(f"x = {expression}")
        exec(compile(tree, "m", "exec"), names)  # noqa: S102 - the text above
        return names["x"]

    assert (value_with(True), value_with(False)) == (made_true, made_false)


MODULE = """\
def outside(low: int, high: int) -> bool:
    return low < 0 or high > 9


def label(name: str) -> str:
    return name or "nobody"


def counted(count: int) -> int:
    while count > 0:
        count -= 1
    return count


def untested(a: bool) -> int:
    return 1 if a else 2


TABLE = [number for number in (1, 2, 3) if number > 1]
"""

TESTS = """\
import tiny


def test_outside():
    assert tiny.outside(-1, 5)
    assert not tiny.outside(1, 5)


def test_label():
    assert [tiny.label(""), tiny.label("a")] == ["nobody", "a"]


def test_counted():
    assert tiny.counted(3) == 0


def test_table():
    assert tiny.TABLE == [2, 3]
"""

SURVIVORS = ["outside: high > 9 -> False", "untested: a -> True", "untested: a -> False"]
KILLED = "outside: low < 0 -> True"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> TinyProject:
    """A project of one module, with the scripts of this one."""
    root = tmp_path_factory.mktemp("project")
    return TinyProject(root, "conditions", "same_conditions.toml", "conditions.json").write(
        MODULE, TESTS
    )


def measure(project: TinyProject, *listed: str) -> tuple[int, str, dict]:
    """The exit status, what is told and what is recorded, with a list of equivalent mutants."""
    return project.run("tiny.py", listed=listed)


@pytest.mark.thorough
def test_both_values_of_each_condition_are_tried_with_the_tests_that_reach_it(
    project: TinyProject,
) -> None:
    status, told, entry = measure(project)
    counts = [entry[name] for name in ("mutants", "killed", "timeouts")]
    assert counts == [12, 8, 1]
    assert entry["survivors"] == SURVIVORS
    assert told.endswith("\n    tiny.py:16: untested: a -> False\n")
    assert status == 1

    status, told, entry = measure(project, *SURVIVORS, KILLED)
    counts = [entry[name] for name in ("killed", "timeouts", "equivalent")]
    assert (counts, entry["survivors"]) == ([8, 1, 3], [])
    assert told.endswith(f"\n    listed in vain: {KILLED}\n")
    assert status == 1


@pytest.mark.parametrize("path", sorted({listed["path"] for listed in LISTED}))
def test_listed_mutants_are_of_conditions_as_they_are(path: str) -> None:
    made = {mutant.name for mutant in mutants((REPOSITORY / path).read_text("utf-8"))}
    assert made.issuperset(
        mutant for one in LISTED if one["path"] == path for mutant in one["mutants"]
    )


@pytest.mark.parametrize("campaign", ["mutate", "conditions"])
def test_every_listed_mutant_has_a_reason_and_is_listed_once(campaign: str) -> None:
    module = pytest.importorskip(campaign)
    entries = listed_in(module.EQUIVALENTS)
    listed = [(entry["path"], one) for entry in entries for one in entry["mutants"]]
    assert max(Counter(listed).values(), default=1) == 1
    assert all(entry["reason"] and entry["mutants"] for entry in entries)
    assert all(entry["path"].startswith(tuple(module.ROOMS)) for entry in entries)
