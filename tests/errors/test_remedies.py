"""Options as data: said to the command, and to Python."""

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.errors.remedies import Advice, Option, Remedy, arguments_of, in_command, listed


@pytest.mark.parametrize(("remedy", "command", "python"), [
    (Remedy("rounding"), "--rounding", "rounding=True"),
    (Remedy("name_outputs"), "--name-outputs", "name_outputs=True"),
    (Remedy("unroll", 98), "--unroll 98", "unroll=98"),
    (Remedy("ignore", "Graph.dead_node"), "--ignore Graph.dead_node", 'ignore="Graph.dead_node"'),
    (Remedy("tolerance", 0.1 + 0.2),
     "--tolerance 0.30000000000000004", "tolerance=0.30000000000000004"),
    (Remedy("time_limit", 0.0), "--time-limit 0", "time_limit=0"),
    (Remedy("tolerance", 0.5), "--tolerance 0.5", "tolerance=0.5"),
    (Option("make_explicit"), "--make-explicit", "make_explicit="),
    (Option("samples", "--data"), "--data", "samples="),
    (Option("input_shapes"), "--input-shape", "input_shapes="),
    (Remedy("assume_shapes", (1, 12, 8), "x"),
     "--assume-shape x=1,12,8", "assume_shapes={'x': (1, 12, 8)}"),
    (Remedy("assume_shapes", (), "t"), "--assume-shape t=", "assume_shapes={'t': ()}"),
    (Remedy("assume", 16000, "sr"), "--assume sr=16000", "assume={'sr': 16000}"),
    (Remedy("assume", True, "on"), "--assume on=true", "assume={'on': True}"),
    (Remedy("assume", None, "sr"), "--assume sr=VALUE", "assume={'sr': VALUE}"),
    (Remedy("assume", 1, "a b"), "--assume 'a b=1'", "assume={'a b': 1}"),
])  # fmt: skip
def test_option_is_said_to_the_command_and_to_python(
    remedy: Remedy | Option, command: str, python: str
) -> None:
    assert (remedy.in_command, remedy.in_python) == (command, python)


SIZES = Remedy("assume_shapes", (2,), "x"), Remedy("assume_shapes", (3,), "y")


def test_advice_is_the_text_for_python_and_knows_its_options() -> None:
    inner = Advice("fix them: ", listed(SIZES))
    advice = Advice("it is open; ", inner)
    assert advice == "it is open; fix them: assume_shapes={'x': (2,)} assume_shapes={'y': (3,)}"
    assert advice.in_command == "it is open; fix them: --assume-shape x=2 --assume-shape y=3"
    assert advice.remedies == SIZES


def test_changed_texts_leave_the_options() -> None:
    changed = Advice("it is open; fix it: ", *SIZES[:1]).with_texts(str.upper)
    assert changed == "IT IS OPEN; FIX IT: assume_shapes={'x': (2,)}"
    assert changed.in_command == "IT IS OPEN; FIX IT: --assume-shape x=2"


def test_text_without_advice_is_the_same_in_the_command() -> None:
    assert in_command("the attribute broadcast=1 requests it, as broadcast=True does") == (
        "the attribute broadcast=1 requests it, as broadcast=True does"
    )


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])  # noqa: S301
def test_copied_advice_keeps_its_options(copied) -> None:
    advice = copied(Advice("try ", *SIZES[:1]))
    assert (advice, advice.remedies) == ("try assume_shapes={'x': (2,)}", SIZES[:1])


def test_options_become_the_arguments_of_a_function() -> None:
    given = (*SIZES, Remedy("rounding"), Remedy("unroll", 20))
    assert arguments_of(given) == {
        "assume_shapes": {"x": (2,), "y": (3,)},
        "rounding": True,
        "unroll": 20,
    }


SOURCES = sorted(
    path
    for folder in ("sonnx_ort", "custom_ops")
    for path in (Path(__file__).parents[2] / folder).rglob("*.py")
)


@cache
def options() -> set[str]:
    """The options of all commands."""
    return {option for name in COMMANDS for each in load(name).params for option in each.opts}


def constructed(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The class and the option of each `Option` and `Remedy` that names it."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("Option" | "Remedy" as kind), [ast.Constant(str(name)), *_]):
                yield kind, name


def test_each_option_that_a_sentence_advises_is_one_of_the_command() -> None:
    named = {
        (path.name, name): Option(name).in_command
        for path in SOURCES
        for _, name in constructed(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert len(named) > 10
    assert {place: option for place, option in named.items() if option not in options()} == {}


def texts(tree: ast.AST) -> Iterator[str]:
    """The texts of a module but its documentation."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documentation:
            yield from [node.value] if isinstance(node.value, str) else []


@cache
def in_python() -> re.Pattern[str]:
    """What a text has that names an option as an argument of a function."""
    names = "|".join(sorted({each.replace("-", "_").strip("_") for each in options()}))
    return re.compile(rf'(?<![\w-])({names}|inputs|sizes|input_shapes)=(True|"|$|[ ,;.)])')


OTHERS = {
    *("next_steps.py", "verdict.py", "rules_pages.py", "contract_files.py", "formats.py"),
    "notebook.py",
}
"""They write calls of functions, for readers of Python alone, or what is no option."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_plain_text_names_an_option_of_a_function(path: Path) -> None:
    if path.name not in OTHERS:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert [text for text in texts(tree) if in_python().search(text)] == []
