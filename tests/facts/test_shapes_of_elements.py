"""Shapes of operators that compute element by element, of reductions and of products."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import reads_elements_of, rule_for
from sonnx_ort.facts.node import AtLeast
from sonnx_ort.facts.sizes import common_shape
from support.shape_rules import Dimensions, Operand, integers, known_inputs, shapes_of

IMAGE = ("n", 4, 8)
RATIO = np.array(0.5, np.float32)


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("Relu", [IMAGE], [IMAGE]),
        ("ScatterND", [IMAGE, ("k", 1), ("k", 4, 8)], [IMAGE]),
        ("DynamicQuantizeLinear", [IMAGE], [IMAGE, (), ()]),
        ("Dropout", [IMAGE], [IMAGE, IMAGE]),
        ("Dropout", [IMAGE, RATIO, np.array(False)], [IMAGE, IMAGE]),
        ("Dropout", [IMAGE, None, np.array(False)], [IMAGE, IMAGE]),
        ("Add", [IMAGE, (8,)], [IMAGE]),
        ("Add", [(8,), IMAGE], [IMAGE]),
        ("Add", [("n", 1), (4,)], [("n", 4)]),
        ("Add", [("n", 4), ("m", 1)], [(None, 4)]),
        ("Add", [("n", "m"), (1, 3)], [("n", 3)]),
        ("Add", [("n",), ("n",)], [("n",)]),
        ("Add", [("n",), (1,)], [("n",)]),
        ("Add", [("n",), (0,)], [(0,)]),
        ("Add", [("n",), (2,)], [(2,)]),
        ("Add", [(1,), (1,)], [(1,)]),
        ("Add", [(), ()], [()]),
        ("Where", [("n", 1), (1, "m"), (4, 1, 1)], [(4, "n", "m")]),
    ],
    ids=str,
)
def test_shape_is_that_of_the_input_or_the_common_one(
    operator: str, operands: Sequence[Operand], expected: list[Dimensions]
) -> None:
    assert shapes_of(operator, *operands) == expected


@pytest.mark.parametrize(
    ("operator", "operands"),
    [("Relu", [...]), ("Add", [IMAGE, ...]), ("Add", [IMAGE, None]), ("Dropout", [IMAGE, ()])],
    ids=str,
)
def test_nothing_is_certain_where_an_input_is_not(
    operator: str, operands: Sequence[Operand]
) -> None:
    assert shapes_of(operator, *operands) is None


def test_ratio_that_a_caller_gives_is_as_good_as_a_constant() -> None:
    inputs = known_inputs("Dropout", IMAGE, ())
    ir.Graph([value for value in inputs.node.inputs if value is not None], [], nodes=[])
    rule = rule_for(inputs.node, 22)
    assert rule is not None
    assert len(rule.shapes(inputs)) == 2


def test_no_shapes_have_the_common_shape_of_scalars() -> None:
    assert common_shape([]) == ()


@pytest.mark.parametrize(
    ("operator", "attributes", "version", "verified"),
    [
        ("Relu", {}, 17, True),
        ("Relu", {}, 5, False),
        ("Relu", {}, 6, True),
        ("Gelu", {}, 19, False),
        ("Gelu", {}, 20, True),
        ("Gelu", {"approximate": "tanh"}, 20, True),
        ("Gelu", {"approximate": "other"}, 20, False),
        ("Relu", {"axis": 1}, 17, False),
        ("Mod", {"fmod": 1}, 17, True),
        ("Mod", {"fmod": 2}, 17, False),
        ("Mod", {"fmod": 0}, 28, True),
        ("BitShift", {"direction": "LEFT"}, 28, True),
        ("Cast", {"to": 1}, 28, True),
        ("Cast", {"to": 1, "round_mode": "up"}, 28, True),
        ("Cast", {"to": 1, "round_mode": "down"}, 28, False),
        ("Transpose", {"perm": [1, 0]}, 17, True),
        ("MaxPool", {"strides": [1, 2], "pads": [0, 1, 0, 1]}, 17, True),
        ("MaxPool", {"strides": [1, 0]}, 17, False),
        ("MaxPool", {"strides": [1], "pads": [0, -1]}, 17, False),
        ("ConvInteger", {}, 10, True),
        ("Det", {}, 17, False),
    ],
    ids=str,
)
def test_rule_is_for_the_versions_and_attributes_that_were_verified(
    operator: str, attributes: dict[str, object], version: int, verified: bool
) -> None:
    node = ir.node(operator, [], attributes)
    assert (rule_for(node, version) is not None) is verified


def test_attribute_that_a_function_s_caller_gives_is_not_verified() -> None:
    attribute = ir.RefAttr("fmod", "given", ir.AttributeType.INT)
    assert rule_for(ir.Node("", "Mod", [], attributes=[attribute]), 17) is None


def test_operator_of_another_domain_has_no_rule() -> None:
    assert rule_for(ir.node("Relu", [], domain="my"), 17) is None


@pytest.mark.parametrize(
    ("smallest", "value", "expected"),
    [
        (1, 1, True),
        (1, 0, False),
        (1, [1, 2], True),
        (1, [1, 0], False),
        (1, (0, 1), False),
        (1, [], True),
        (1, "1", False),
        (1, 1.5, False),
        (1, [2.0], False),
        (0, 0, True),
        (0, [-1], False),
    ],
    ids=str,
)
def test_integers_from_a_smallest_one_on(smallest: int, value: object, expected: bool) -> None:
    assert (value in AtLeast(smallest)) is expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("Add", [0, 1, 2]),
        ("Dropout", []),
        ("Shape", []),
        ("Identity", [0, 1, 2]),
        ("Reshape", []),
        ("MatMul", [0]),
        ("Conv", [0]),
        ("ReduceSum", [0]),
    ],
)
def test_elements_that_every_output_is_computed_from(operator: str, expected: list[int]) -> None:
    node = ir.node(operator, [ir.val(None) for _ in range(3)])
    assert list(reads_elements_of(node)) == expected


Case = tuple[str, Sequence[Operand], dict[str, Any], Dimensions]

REDUCTIONS: list[Case] = [
    ("ReduceSum", [("n", 4, 8), integers(0, 1)], {}, (1, 1, 8)),
    ("ReduceSum", [("n", 4, 8), integers(0, 1)], {"keepdims": 1}, (1, 1, 8)),
    ("ReduceSum", [("n", 4, 8), integers(0, 1)], {"keepdims": 0}, (8,)),
    ("ReduceSum", [("n", 4, 8)], {}, (1, 1, 1)),
    ("ReduceSum", [("n", 4, 8)], {"keepdims": 0}, ()),
    ("ReduceSum", [("n", 4, 8), integers()], {}, (1, 1, 1)),
    ("ReduceSum", [("n", 4, 8)], {"noop_with_empty_axes": 0}, (1, 1, 1)),
    ("ReduceSum", [("n", 1, 8)], {"noop_with_empty_axes": 1}, (None, 1, None)),
    ("ReduceSum", [("n", 1, 8), integers(2)], {"noop_with_empty_axes": 1}, ("n", 1, 1)),
    ("ReduceSum", [("n", 1, 8), ("k",)], {}, (None, 1, None)),
    ("ReduceSum", [("n", 1, 8), integers(-1)], {}, ("n", 1, None)),
    ("ReduceSum", [("n", 1, 8), integers(-2)], {}, ("n", 1, 8)),
    ("ReduceSum", [(2, 1, 8), integers(-1)], {}, (2, 1, 1)),
    ("ReduceSum", [(2, 1, 8), integers(-1)], {"keepdims": 0}, (2, 1)),
    ("ReduceSum", [(0, 1, 8), integers(0, -1)], {}, (None, 1, None)),
    ("ReduceSum", [()], {}, ()),
    ("ReduceMax", [("n", 4, 8)], {"axes": [1], "version": 13}, ("n", 1, 8)),
    ("ReduceMax", [("n", 4, 8), integers(1)], {}, ("n", 1, 8)),
    ("ArgMax", [("n", 4, 8)], {}, (1, 4, 8)),
    ("ArgMin", [("n", 4, 8)], {"axis": 2, "keepdims": 0}, ("n", 4)),
    ("ArgMin", [(2, 4, 8)], {"axis": -2}, (2, 1, 8)),
]


@pytest.mark.parametrize(("operator", "operands", "rest", "expected"), REDUCTIONS, ids=str)
def test_reduced_axes_are_gone_or_one_element_long(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert shapes_of(operator, *operands, **rest) == [expected]


@pytest.mark.parametrize(
    ("operator", "operands", "rest"),
    [
        ("ReduceSum", [...], {}),
        ("ReduceSum", [("n", 4, 8), ("k",)], {"keepdims": 0}),
        ("ReduceSum", [("n", 4, 8)], {"keepdims": 0, "noop_with_empty_axes": 1}),
        ("ReduceSum", [("n", 4, 8), integers(-1)], {"keepdims": 0}),
        ("ReduceSum", [(0, 4, 8), integers(-1)], {"keepdims": 0}),
        ("ReduceSum", [("n", 4, 8), integers(3)], {}),
        ("ArgMax", [("n", 4, 8)], {"axis": -4}),
    ],
    ids=str,
)
def test_nothing_is_certain_where_no_axis_is(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any]
) -> None:
    assert shapes_of(operator, *operands, **rest) is None


LARGE_IMAGE = ("n", 3, 10, 12)
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
    ("Conv", [LARGE_IMAGE, FILTERS], {}, ("n", 6, 8, 8)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"strides": [2, 3]}, ("n", 6, 4, 3)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"dilations": [2, 1]}, ("n", 6, 6, 8)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"dilations": [4, 2]}, ("n", 6, 2, 4)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"pads": [1, 2, 3, 4]}, ("n", 6, 12, 14)),
    ("Conv", [("n", 3, "h", 12), FILTERS], {"strides": [2, 3]},
     ("n", 6, "trunc((h - 3)/2) + 1", 3)),
    ("Conv", [(1, 1, 3), (1, 1, 3)], {}, (1, 1, 1)),
    ("Conv", [(1, 1, 2), (1, 1, 3)], {}, (1, 1, None)),
    ("Conv", [(1, 1, 9), (1, 1, 1)], {"strides": [4]}, (1, 1, 3)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "strides": [3, 5]}, ("n", 6, 4, 3)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "SAME_LOWER", "strides": [5, 4]}, ("n", 6, 2, 3)),
    ("Conv", [("n", 3, "h", 12), FILTERS], {"auto_pad": "SAME_UPPER"}, ("n", 6, "h", 12)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "pads": [0] * 4}, ("n", 6, 10, 12)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "dilations": [1, 1]},
     ("n", 6, 10, 12)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "dilations": [1, 2]},
     ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "SAME_UPPER", "pads": [0, 0, 0, 1]},
     ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "VALID", "strides": [2, 3]}, ("n", 6, 4, 3)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "VALID", "dilations": [2, 1]}, ("n", 6, 6, 8)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "VALID", "pads": [0, 0, 0, 1]}, ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"auto_pad": "NOTSET", "pads": [1, 2, 3, 4]},
     ("n", 6, 12, 14)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"kernel_shape": [3]}, ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"strides": [1]}, ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"dilations": [1, 1, 1]}, ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, FILTERS], {"pads": [0, 0, 0]}, ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, (6, 3, "k", 5)], {}, ("n", 6, *OPEN)),
    ("Conv", [LARGE_IMAGE, ("f", 3, "k", 5)], {"kernel_shape": [2, 5]}, ("n", "f", 9, 8)),
    ("ConvInteger", [LARGE_IMAGE, FILTERS], {"group": 2}, ("n", 6, 8, 8)),
    ("AveragePool", [LARGE_IMAGE], {"kernel_shape": [3, 5], "ceil_mode": 0}, ("n", 3, 8, 8)),
    ("AveragePool", [LARGE_IMAGE], {"kernel_shape": [3, 5], "ceil_mode": 1}, ("n", 3, *OPEN)),
    ("AveragePool", [LARGE_IMAGE], {}, ("n", 3, *OPEN)),
    ("LpPool", [("n", "c", 9)], {"kernel_shape": [2]}, ("n", "c", 8)),
    ("GlobalMaxPool", [LARGE_IMAGE], {}, ("n", 3, 1, 1)),
    ("GlobalAveragePool", [("n", "c", "h")], {}, ("n", "c", 1)),
]  # fmt: skip

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
    ("operator", "operands", "rest", "expected"), PRODUCTS + WINDOWS + SPREAD, ids=str
)
def test_shape_follows_from_those_of_the_inputs(
    operator: str, operands: Sequence[Operand], rest: dict[str, Any], expected: Dimensions
) -> None:
    assert shapes_of(operator, *operands, **rest) == [expected]


def test_places_of_what_is_found_have_the_shape_of_it() -> None:
    found = shapes_of("MaxPool", LARGE_IMAGE, outputs=2, kernel_shape=[3, 5])
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
        ("Conv", [LARGE_IMAGE, (6, 3, 3)], {}),
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
