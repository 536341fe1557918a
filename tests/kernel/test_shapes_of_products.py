"""Shapes of matrix products, convolutions, pooling and recurrent operators."""

from collections.abc import Sequence
from typing import Any

import pytest

from support.shape_rules import Dimensions, Operand, shapes_of

Case = tuple[str, Sequence[Operand], dict[str, Any], Dimensions]

IMAGE = ("n", 3, 10, 12)
FILTERS = (6, 3, 3, 5)
OPEN = (None, None)

PRODUCTS: list[Case] = [
    ("MatMul", [(4, 8), (8, 5)], {}, (4, 5)),
    ("MatMul", [(8,), (8, 5)], {}, (5,)),
    ("MatMul", [(4, 8), (8,)], {}, (4,)),
    ("MatMul", [(8,), (8,)], {}, ()),
    ("MatMul", [("n", 4, 8), (8,)], {}, ("n", 4)),
    ("MatMul", [(8,), ("n", 8, 5)], {}, ("n", 5)),
    ("MatMul", [("n", 4, 8), (8, 5)], {}, ("n", 4, 5)),
    ("MatMul", [(4, 8), ("n", 8, 5)], {}, ("n", 4, 5)),
    ("MatMul", [(2, 1, 4, 8), (3, 8, 5)], {}, (2, 3, 4, 5)),
    ("MatMul", [("n", 4, 8), ("m", 8, 5)], {}, (None, 4, 5)),
    ("MatMul", [(1, 4, 1), (3, 1, 5)], {}, (3, 4, 5)),
    ("MatMul", [(1, 4, 0), (3, 0, 5)], {}, (None, 4, 5)),
    ("MatMul", [(1, 4, "k"), (3, "k", 5)], {}, (None, 4, 5)),
    ("MatMul", [(3, 4, "k"), (1, "k", 5)], {}, (3, 4, 5)),
    ("MatMul", [(3, 4, "k"), (2, 1, "k", 5)], {}, (None, 3, 4, 5)),
    ("MatMul", [(3, 4, "k"), (1, 1, "k", 5)], {}, (1, 3, 4, 5)),
    ("MatMul", [("k",), (3, "k", 5)], {}, (3, 5)),
    ("MatMulInteger", [(4, 8), (8, 5)], {}, (4, 5)),
    ("QLinearMatMul", [("n", 8), (), (), (8, 5), ()], {}, ("n", 5)),
    ("Gemm", [("n", 8), (8, 5)], {}, ("n", 5)),
    ("Gemm", [(8, "n"), (8, 5)], {"transA": 1}, ("n", 5)),
    ("Gemm", [("n", 8), (5, 8)], {"transB": 1}, ("n", 5)),
    ("Gemm", [("n", 8), (8, 5)], {"transA": 0, "transB": 0}, ("n", 5)),
]

WINDOWS: list[Case] = [
    ("Conv", [IMAGE, FILTERS], {}, ("n", 6, 8, 8)),
    ("Conv", [IMAGE, FILTERS], {"strides": [2, 3]}, ("n", 6, 4, 3)),
    ("Conv", [IMAGE, FILTERS], {"dilations": [2, 1]}, ("n", 6, 6, 8)),
    ("Conv", [IMAGE, FILTERS], {"dilations": [4, 2]}, ("n", 6, 2, 4)),
    ("Conv", [IMAGE, FILTERS], {"pads": [1, 2, 3, 4]}, ("n", 6, 12, 14)),
    (
        "Conv",
        [("n", 3, "h", 12), FILTERS],
        {"strides": [2, 3]},
        ("n", 6, "trunc((h - 3)/2) + 1", 3),
    ),
    ("Conv", [(1, 1, 3), (1, 1, 3)], {}, (1, 1, 1)),
    ("Conv", [(1, 1, 2), (1, 1, 3)], {}, (1, 1, None)),
    ("Conv", [(1, 1, 9), (1, 1, 1)], {"strides": [4]}, (1, 1, 3)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "strides": [3, 5]}, ("n", 6, 4, 3)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "SAME_LOWER", "strides": [5, 4]}, ("n", 6, 2, 3)),
    ("Conv", [("n", 3, "h", 12), FILTERS], {"auto_pad": "SAME_UPPER"}, ("n", 6, "h", 12)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "pads": [0] * 4}, ("n", 6, 10, 12)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "dilations": [1, 1]}, ("n", 6, 10, 12)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "dilations": [1, 2]}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "pads": [0, 0, 0, 1]}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "VALID", "strides": [2, 3]}, ("n", 6, 4, 3)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "VALID", "dilations": [2, 1]}, ("n", 6, 6, 8)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "VALID", "pads": [0, 0, 0, 1]}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, FILTERS], {"auto_pad": "NOTSET", "pads": [1, 2, 3, 4]}, ("n", 6, 12, 14)),
    ("Conv", [IMAGE, FILTERS], {"kernel_shape": [3]}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, FILTERS], {"strides": [1]}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, FILTERS], {"dilations": [1, 1, 1]}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, FILTERS], {"pads": [0, 0, 0]}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, (6, 3, "k", 5)], {}, ("n", 6, *OPEN)),
    ("Conv", [IMAGE, ("f", 3, "k", 5)], {"kernel_shape": [2, 5]}, ("n", "f", 9, 8)),
    ("ConvInteger", [IMAGE, FILTERS], {"group": 2}, ("n", 6, 8, 8)),
    ("AveragePool", [IMAGE], {"kernel_shape": [3, 5], "ceil_mode": 0}, ("n", 3, 8, 8)),
    ("AveragePool", [IMAGE], {"kernel_shape": [3, 5], "ceil_mode": 1}, ("n", 3, *OPEN)),
    ("AveragePool", [IMAGE], {}, ("n", 3, *OPEN)),
    ("LpPool", [("n", "c", 9)], {"kernel_shape": [2]}, ("n", "c", 8)),
    ("GlobalMaxPool", [IMAGE], {}, ("n", 3, 1, 1)),
    ("GlobalAveragePool", [("n", "c", "h")], {}, ("n", "c", 1)),
]

SPREAD: list[Case] = [
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {}, ("n", 3, 7, 7)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"group": 2}, ("n", 6, 7, 7)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, "f", 3, 2)], {"group": 2}, ("n", "2*f", 7, 7)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"strides": [2, 3]}, ("n", 3, 11, 17)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"dilations": [2, 3]}, ("n", 3, 9, 9)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"pads": [1, 0, 2, 1]}, ("n", 3, 4, 6)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"output_padding": [1, 2]}, ("n", 3, 8, 9)),
    (
        "ConvTranspose",
        [("n", 4, 5, 6), (4, 3, 3, 2)],
        {"strides": [2, 3], "output_padding": [1, 2], "dilations": [4, 2], "pads": [1, 2, 3, 4]},
        ("n", 3, 14, 14),
    ),
    ("ConvTranspose", [("n", 4, "h"), (4, 3, 3)], {"strides": [2]}, ("n", 3, "2*h + 1")),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, "k", 2)], {"kernel_shape": [3, 2]}, ("n", 3, 7, 7)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, "k", 2)], {}, ("n", 3, *OPEN)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"auto_pad": "NOTSET"}, ("n", 3, 7, 7)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"auto_pad": "VALID"}, ("n", 3, *OPEN)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"output_shape": [9, 9]}, ("n", 3, *OPEN)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"kernel_shape": [3]}, ("n", 3, *OPEN)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"strides": [1]}, ("n", 3, *OPEN)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"dilations": [1]}, ("n", 3, *OPEN)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"pads": [1, 1]}, ("n", 3, *OPEN)),
    ("ConvTranspose", [("n", 4, 5, 6), (4, 3, 3, 2)], {"output_padding": [1]}, ("n", 3, *OPEN)),
]


@pytest.mark.parametrize(
    ("operator", "operands", "rest", "expected"),
    PRODUCTS + WINDOWS + SPREAD,
    ids=str,
)
def test_shape_follows_from_those_of_the_inputs(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert shapes_of(operator, *operands, **rest) == [expected]


def test_places_of_what_is_found_have_the_shape_of_it() -> None:
    found = shapes_of("MaxPool", IMAGE, outputs=2, kernel_shape=[3, 5])
    assert found == [("n", 3, 8, 8)] * 2


@pytest.mark.parametrize(
    ("attributes", "directions"),
    [
        ({}, 1),
        ({"direction": "forward"}, 1),
        ({"direction": "reverse"}, 1),
        ({"direction": "bidirectional"}, 2),
        ({"layout": 0}, 1),
    ],
    ids=str,
)
def test_recurrent_operator_gives_all_states_and_the_last_of_each_direction(
    attributes: dict[str, Any], directions: int
) -> None:
    found = shapes_of("LSTM", ("s", "b", 7), (), (), outputs=3, hidden_size=5, **attributes)
    state = (directions, "b", 5)
    assert found == [("s", directions, "b", 5), state, state]


@pytest.mark.parametrize(
    ("operator", "operands", "rest"),
    [
        ("MatMul", [(), (8, 5)], {}),
        ("MatMul", [(4, 8), ()], {}),
        ("MatMul", [(4, 8), ...], {}),
        ("Gemm", [(8,), (8, 5)], {}),
        ("Gemm", [(4, 8), (8,)], {}),
        ("Gemm", [(1, 4, 8), (8, 5)], {}),
        ("Conv", [IMAGE, (6, 3, 3)], {}),
        ("Conv", [("n", 3), (6, 3)], {}),
        ("ConvTranspose", [("n", 3), (6, 3)], {}),
        ("MaxPool", [("n", 3)], {"kernel_shape": []}),
        ("GlobalMaxPool", [("n", 3)], {}),
        ("GRU", [("s", "b", 7)], {"hidden_size": 5, "layout": 1}),
        ("GRU", [("s", "b")], {"hidden_size": 5}),
    ],
    ids=str,
)
def test_nothing_is_certain_where_an_input_or_an_axis_is_not(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any]
) -> None:
    assert shapes_of(operator, *operands, **rest) is None
