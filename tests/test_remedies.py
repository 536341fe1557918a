"""Options as data: said to the command, and to Python."""

import copy
import pickle

import pytest

from sonnx_ort.remedies import Advice, Remedy, arguments_of, listed


@pytest.mark.parametrize(("remedy", "command", "python"), [
    (Remedy("rounding"), "--rounding", "rounding=True"),
    (Remedy("name_outputs"), "--name-outputs", "name_outputs=True"),
    (Remedy("unroll", 98), "--unroll 98", "unroll=98"),
    (Remedy("ignore", "Graph.dead_node"), "--ignore Graph.dead_node", "ignore='Graph.dead_node'"),
    (Remedy("assume_shapes", (1, 12, 8), "x"),
     "--assume-shape x=1,12,8", "assume_shapes={'x': (1, 12, 8)}"),
    (Remedy("assume_shapes", (), "t"), "--assume-shape t=", "assume_shapes={'t': ()}"),
    (Remedy("assume", 16000, "sr"), "--assume sr=16000", "assume={'sr': 16000}"),
    (Remedy("assume", True, "on"), "--assume on=true", "assume={'on': True}"),
    (Remedy("assume", None, "sr"), "--assume sr=VALUE", "assume={'sr': VALUE}"),
    (Remedy("assume", 1, "a b"), "--assume 'a b=1'", "assume={'a b': 1}"),
])  # fmt: skip
def test_option_is_said_to_the_command_and_to_python(
    remedy: Remedy, command: str, python: str
) -> None:
    assert (remedy.in_command, remedy.in_python) == (command, python)


SIZES = Remedy("assume_shapes", (2,), "x"), Remedy("assume_shapes", (3,), "y")


def test_advice_is_the_text_for_python_and_knows_its_options() -> None:
    inner = Advice("fix them: ", listed(SIZES))
    advice = Advice("it is open; ", inner)
    assert advice == "it is open; fix them: assume_shapes={'x': (2,)} assume_shapes={'y': (3,)}"
    assert advice.in_command == "it is open; fix them: --assume-shape x=2 --assume-shape y=3"
    assert advice.remedies == SIZES


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
