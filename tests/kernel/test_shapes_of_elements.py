"""Shapes of operators that compute element by element."""

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
import pytest

from sonnx_ort.kernel.node import AtLeast
from sonnx_ort.kernel.sizes import common_shape
from sonnx_ort.knowledge.graph_node import reads_elements_of, rule_for
from support.shape_rules import Dimensions, Operand, known_inputs, shapes_of

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
        ("Cast", {"to": 1, "round_mode": "up"}, 28, False),
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
