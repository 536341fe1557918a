"""Intervals of the states of LSTM and GRU, of layers of one cell that read one number.

Where nothing else is said, X is from -4 to 4, and W and R are from -1 to 1.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.catalog import INTERVAL_RULES
from sonnx_ort.facts.ranges import ANYTHING, Interval
from sonnx_ort.facts.sizes import Bounds, Rejected, Size, Symbolic

ONE = 1 + 2.0**-7
"""What a Sigmoid, a Tanh or their product is at most."""

RELU, SIGMOID = ["Relu", "Tanh", "Tanh"], ["Sigmoid", "Tanh", "Tanh"]

OPERANDS = ("x", "w", "r", "b", "lengths", "h", "c", "p")
"""The operands by names of our own; `lengths` are sequence_lens."""

STEPS = Symbolic.named("n")
SOME_STEPS = Symbolic.named("some", Bounds(2, 5))


def states_of(
    operator: str,
    steps: Size = 3,
    *,
    dtype: str = "float",
    shapes: Mapping[str, tuple[Size, ...]] | None = None,
    **others: Any,
) -> Sequence[Interval | None]:
    """What the rule says of a layer of one cell.

    Args:
        operator: LSTM or GRU.
        steps: How many steps there are.
        dtype: The type.
        shapes: The shapes of operands that have others than they should.
        others: Attributes, and for operands the ends of what they can be.
    """
    gates = {"GRU": 3, "LSTM": 4}[operator]
    ends = {name: each for name, each in others.items() if name in OPERANDS}
    attributes = {name: each for name, each in others.items() if name not in OPERANDS}
    given = {"x": (-4, 4), "w": (-1, 1), "r": (-1, 1), **ends}
    inputs = [ir.val(name) if name in given or name == "lengths" else None for name in OPERANDS]
    values = {value.name: value for value in inputs if value is not None}
    sizes: dict[str, tuple[Size, ...]] = {
        "x": (steps, 1, 1),
        "w": (1, gates, 1),
        "r": (1, gates, 1),
        **(shapes or {}),
    }
    node = ir.node(operator, inputs, {"hidden_size": 1, **attributes}, num_outputs=gates - 1)
    known = GraphNode(
        node,
        20,
        Held(
            shapes={values[name]: shape for name, shape in sizes.items()},
            element_type=lambda value: "int32" if value.name == "lengths" else dtype,
            intervals={
                values[name]: each if isinstance(each, Interval) else Interval.of(*each)
                for name, each in given.items()
            },
        ),
    )
    return INTERVAL_RULES[operator](known)


def ends_of(found: Interval | None) -> tuple[float, float] | None:
    return None if found is None else (float(found.lower), float(found.upper))


def about(lower: float, upper: float) -> Any:
    return pytest.approx((lower, upper), rel=1e-3)


@pytest.mark.parametrize(
    ("given", "hidden", "cell"),
    [
        ({}, ONE, 3 * ONE),
        ({"activations": SIGMOID, "p": (0, 0), "b": (-9, 9)}, ONE, 3 * ONE),
        ({"h": (-5, 7)}, ONE, 3 * ONE),
        ({"c": (-5, 7)}, ONE, 7 + 3 * ONE),
        ({"c": (-5, 7), "p": (-1e30, 1e30)}, ONE, 7 + 3 * ONE),
        ({"input_forget": 1, "clip": 0.5}, ONE, 3 * ONE),
        ({"direction": "reverse", "steps": SOME_STEPS}, ONE, 5 * ONE),
        ({"steps": 10_000}, ONE, 10_000 * ONE * 1.0096),
    ],
    ids=str,
)
def test_hidden_state_of_an_lstm_is_at_most_1_and_its_cell_grows_by_1_in_a_step(
    given: dict[str, Any], hidden: float, cell: float
) -> None:
    y, last, content = map(ends_of, states_of("LSTM", **given))
    assert y == last == about(-hidden, hidden)
    assert content == about(-cell, cell)


@pytest.mark.parametrize("steps", [STEPS, 0, Symbolic.named("few", Bounds(0, 3))], ids=str)
def test_last_states_are_not_known_if_there_may_be_no_step(steps: Size) -> None:
    assert [*map(ends_of, states_of("LSTM", steps))] == [about(-ONE, ONE)]


def test_cell_is_not_known_after_steps_that_may_be_many() -> None:
    many = Symbolic.named("many", Bounds(1, 1 << 40))
    assert [*map(ends_of, states_of("LSTM", many))] == [about(-ONE, ONE)] * 2 + [None]


@pytest.mark.parametrize(
    ("given", "hidden", "cell"),
    [
        ({"steps": 1}, 4.031, 4.031),
        # The gates are at most 4, and then 4 + 4.031 * 1.0078.
        ({"steps": 2}, 8.126, 40.63),
        ({"steps": 1, "b": (-1, 1), "c": (0, 3)}, 6.047, 24.05),
        # The last gate reads the new cell.
        ({"steps": 1, "p": (-1, 2), "c": (0, 3)}, 84.81, 40.08),
        ({"steps": 1, "input_forget": 1, "c": (0, 3)}, 4.031, 19.03),
        ({"steps": 9, "clip": 0.5}, 0.5039, 1.0058),
        ({"steps": 1, "direction": "reverse"}, 4.031, 4.031),
    ],
    ids=str,
)
def test_states_of_an_lstm_of_relu_grow_with_its_gates(
    given: dict[str, Any], hidden: float, cell: float
) -> None:
    y, last, content = map(ends_of, states_of("LSTM", activations=RELU, **given))
    assert y == last == about(-hidden, hidden)
    assert content == about(-cell, cell)


def test_directions_of_an_lstm_may_have_other_functions() -> None:
    shapes = {"w": (2, 4, 1), "r": (2, 4, 1)}
    both = {"direction": "bidirectional", "activations": [*SIGMOID, *RELU]}
    y, _, content = map(ends_of, states_of("LSTM", 1, shapes=shapes, x=(0, 0.25), **both))
    assert y == about(-ONE * ONE, ONE * ONE)
    assert content == about(-ONE * ONE, ONE * ONE)


@pytest.mark.parametrize(
    ("given", "lower", "upper"),
    [
        ({}, -ONE, ONE),
        ({"activations": ["Sigmoid", "Tanh"], "b": (-9, 9)}, -ONE, ONE),
        ({"h": (0, 3)}, -ONE, 3),
        ({"h": (-9, -2), "linear_before_reset": 1}, -9, ONE),
        ({"steps": SOME_STEPS, "clip": 0.5}, -ONE, ONE),
        # Each step rounds a state.
        ({"steps": 10_000}, -1.0174, 1.0174),
        ({"steps": 100, "dtype": "float16"}, -2.218, 2.218),
    ],
    ids=str,
)
def test_state_of_a_gru_stays_between_the_first_one_and_1(
    given: dict[str, Any], lower: float, upper: float
) -> None:
    y, last = map(ends_of, states_of("GRU", **given))
    assert y == last == about(lower, upper)


LARGE = Interval.of(-1e38, 1e38)
FUNCTIONS = "its functions are not verified"
INFINITE_GATE = "a gate may be infinite"
INFINITE_OPERAND = "an operand may be infinite"
INFINITE_CELL = "the cell may become infinite"


@pytest.mark.parametrize(
    ("operator", "given", "reason"),
    [
        ("LSTM", {"activations": ["Tanh", "Tanh", "Tanh"]}, FUNCTIONS),
        ("LSTM", {"activations": ["Relu", "Tanh", "Relu"]}, FUNCTIONS),
        ("LSTM", {"activations": [*SIGMOID, *SIGMOID]}, FUNCTIONS),
        ("LSTM", {"activations": SIGMOID, "direction": "bidirectional"}, FUNCTIONS),
        ("GRU", {"activations": ["Relu", "Tanh"]}, FUNCTIONS),
        ("GRU", {"activations": SIGMOID}, FUNCTIONS),
        ("LSTM", {"layout": 1}, "its layout is not known"),
        ("LSTM", {"dtype": "int32"}, "X is no float"),
        ("LSTM", {"clip": 0.0}, "it clips to no interval"),
        ("LSTM", {"clip": math.nan}, "it clips to no interval"),
        ("LSTM", {"shapes": {"w": (1, 4, 2)}}, "its weights are of other shapes"),
        ("LSTM", {"shapes": {"r": (1, 4, 2)}}, "its weights are of other shapes"),
        ("LSTM", {"direction": "bidirectional"}, "its weights are of other shapes"),
        ("GRU", {"x": (-math.inf, 4)}, INFINITE_OPERAND),
        ("GRU", {"w": ANYTHING}, INFINITE_OPERAND),
        ("LSTM", {"h": ANYTHING}, INFINITE_OPERAND),
        ("LSTM", {"c": (0, math.inf)}, INFINITE_OPERAND),
        ("LSTM", {"p": (0, math.inf)}, INFINITE_OPERAND),
        ("LSTM", {"x": LARGE, "w": (0, 4)}, INFINITE_GATE),
        ("LSTM", {"h": LARGE, "r": (0, 4)}, INFINITE_GATE),
        ("LSTM", {"c": LARGE, "p": (0, 4)}, INFINITE_GATE),
        ("LSTM", {"b": (0, 2e38)}, INFINITE_GATE),
        ("LSTM", {"x": (0, 60_000), "w": (0, 2), "dtype": "float16"}, INFINITE_GATE),
        ("LSTM", {"steps": STEPS, "p": (0, 1e-9)}, INFINITE_GATE),
        ("GRU", {"steps": STEPS}, INFINITE_GATE),
        ("LSTM", {"steps": STEPS, "c": (0, 2e6)}, INFINITE_CELL),
        ("LSTM", {"steps": STEPS, "dtype": "float16"}, INFINITE_CELL),
        ("LSTM", {"activations": RELU, "steps": 3, "c": LARGE}, INFINITE_CELL),
        ("LSTM", {"activations": RELU, "steps": STEPS}, "it has too many steps"),
    ],
    ids=str,
)
def test_nothing_is_known_of_a_layer_in_which_a_number_may_be_nan(
    operator: str, given: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Rejected) as caught:
        states_of(operator, **given)
    assert str(caught.value) == reason
