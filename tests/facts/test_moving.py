"""Whose elements the results of a node have, if it makes no others."""

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.node import Moved
from sonnx_ort.facts.operators import RULES
from sonnx_ort.facts.sizes import Bounds, Rejected, Sizes, Symbolic

N = Symbolic.named("n")
X = (2, 3)
TRUE, FALSE = np.array(True), np.array(False)
TRUTHS, BYTES = np.array([True, False]), np.array([1, 2], np.uint8).view(bool)

Given = Sizes | np.ndarray | None


def moved(operator: str, *operands: Given, version: int = 20, **attributes: Any) -> Moved:
    """What the row says, given a shape or a constant for each operand; None leaves it out."""
    values = [None if each is None else ir.Value() for each in operands]
    shapes = dict[ir.Value, Sizes]()
    for value, given in zip(values, operands, strict=True):
        if value is not None and isinstance(given, np.ndarray):
            value.const_value = ir.tensor(given)
            shapes[value] = given.shape
        elif value is not None and isinstance(given, tuple):
            shapes[value] = given
    rule = RULES[operator].moves
    assert rule is not None
    return rule(GraphNode(ir.node(operator, values, attributes), version, Held(shapes)))


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "expected"),
    [
        ("Identity", (X,), {}, Moved([0])),
        ("TopK", (X, (1,)), {}, Moved([0], results=1)),
        ("Unique", (X,), {}, Moved([0], results=1)),
        ("OneHot", (X, (), (2,)), {}, Moved([2])),
        ("Dropout", (X,), {}, Moved([0], results=1)),
        ("Dropout", (X, np.array(0.5)), {}, Moved([0], results=1)),
        ("Dropout", (X, None, FALSE), {}, Moved([0], results=1)),
        ("Compress", (X, TRUTHS), {}, Moved([0])),
        ("Concat", (X, X, X), {"axis": 0}, Moved(range(3))),
        ("Pad", (X, np.ones(4, np.int64)), {}, Moved([0], zero=True)),
        ("Pad", (X, np.ones(4, np.int64), ()), {}, Moved([0, 2])),
        ("ScatterND", (X, (1, 1), (1, 3)), {}, Moved([0, 2])),
        ("Trilu", (X,), {}, Moved([0], zero=True)),
        ("Where", (TRUTHS, X, X), {}, Moved([1, 2])),
        ("Where", (BYTES, X, X), {}, Moved([1, 2], zero=True)),
        ("Where", (X, X, X), {}, Moved([1, 2], zero=True)),
        ("ReduceMax", (X,), {}, Moved([0])),
        ("ReduceMin", ((0, 3), np.array([1])), {}, Moved([0])),
    ],
    ids=str,
)
def test_elements_are_those_of_operands(
    operator: str, operands: tuple[Given, ...], attributes: dict[str, Any], expected: Moved
) -> None:
    assert moved(operator, *operands, **attributes) == expected


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "reason"),
    [
        ("Dropout", (X, None, TRUE), {}, "it may train"),
        ("Dropout", (X, ()), {}, "its ratio is computed"),
        ("Dropout", (X, None, ()), {}, "its ratio is computed"),
        ("Compress", (X, BYTES), {}, "more elements may be counted than are written"),
        ("Concat", (X, (0, 4)), {"axis": 1}, "an operand may be empty and of other sizes"),
        ("Pad", (X, (4,)), {}, "a pad may be negative"),
        ("ScatterND", (X, (1, 1), (1, 3)), {"reduction": "add"}, "it reduces"),
        ("ReduceMax", ((N, 3),), {}, "a size is open"),
        ("ReduceMax", ((0, 3), np.array([0])), {}, "a size is open"),
    ],
    ids=str,
)
def test_nothing_is_told_where_results_may_have_others(
    operator: str, operands: tuple[Given, ...], attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Rejected, match=f"^{reason}$"):
        moved(operator, *operands, **attributes)


def test_a_number_that_an_attribute_adds_is_no_element() -> None:
    with pytest.raises(Rejected, match=r"^an attribute has what is added$"):
        moved("Pad", X, version=2, pads=[1, 1, 1, 1], value=2.0)


def test_bounds_follow_of_the_results_that_have_elements() -> None:
    x = ir.Value()
    node = ir.node("Split", [x], num_outputs=3)
    known = GraphNode(node, 20, Held(element_type=lambda _: "int32", bounds={x: Bounds(3, 9)}))
    rule = RULES["Split"].bounds
    assert rule is not None
    assert rule(known) == [Bounds(3, 9)] * 3
