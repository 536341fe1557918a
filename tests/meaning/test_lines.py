"""Lines tell which elements of the operands an element of a result reads."""

from typing import Any

import numpy as np
import pytest

from sonnx_ort.meaning.documented import OPERATIONS
from sonnx_ort.meaning.excerpts import excerpts
from sonnx_ort.meaning.lines import numbers
from sonnx_ort.meaning.node import Node

F = np.float32


def read(operator: str, shapes: Any, place: int, version: int = 21, **attributes: Any) -> Any:
    """The numbers of what an element reads of each operand."""
    node = Node(version, attributes, tuple(np.ones(shape, F) for shape in shapes))
    make = OPERATIONS[operator].lines
    assert make is not None
    lines = make(node, [numbers(x) for x in node.operands if x is not None])
    assert lines is not None
    return [None if x is None else x.ravel().tolist() for x in lines.at(np.array(place))[1]]


@pytest.mark.parametrize(("operator", "shapes", "attributes", "place", "expected"), [
    ("Sub", [(2, 1), (3,)], {}, 5, [[1], [2]]),
    ("MatMul", [(2, 3), (3, 4)], {}, 6, [[3, 4, 5], [2, 6, 10]]),
    ("MatMul", [(2, 1, 2), (2, 2)], {}, 3, [[2, 3], [1, 3]]),
    ("Gemm", [(3, 2), (3, 4), (4,)], {"transA": 1}, 7, [[1, 3, 5], [3, 7, 11], [3]]),
    ("Conv", [(1, 2, 3), (2, 1, 2), (2,)], {"group": 2, "pads": [1, 0]}, 3,
     [[-1, 3], [2, 3], [1]]),
    ("MaxPool", [(1, 1, 3)], {"kernel_shape": [2], "pads": [1, 0]}, 0, [[0]]),
    ("ReduceMax", [(2, 3)], {"keepdims": 0}, 0, [[0, 1, 2, 3, 4, 5]]),
    ("ArgMax", [(2, 3)], {"axis": 0}, 1, [[1, 4]]),
    ("GlobalAveragePool", [(1, 2, 2)], {}, 1, [[2, 3]]),
    ("Softmax", [(2, 3)], {"axis": 0}, 5, [[2, 5]]),
    ("BatchNormalization", [(1, 2, 2), (2,), (2,), (2,), (2,)], {}, 3, [[3], [1], [1], [1], [1]]),
    ("QuantizeLinear", [(2, 3), (3,)], {}, 4, [[4], [1]]),
    ("QuantizeLinear", [(2, 3), ()], {}, 4, [[4], None]),
    ("Clip", [(2, 3), ()], {}, 4, [[4], None]),
])  # fmt: skip
def test_an_element_reads(
    operator: str, shapes: Any, attributes: dict[str, Any], place: int, expected: Any
) -> None:
    assert read(operator, shapes, place, **attributes) == expected


@pytest.mark.parametrize(("operator", "shapes", "reason"), [
    ("MatMul", [(2, 3), (4, 5)], r"\(2, 3\) and \(4, 5\) have no product"),
    ("Gemm", [(2, 3), (4, 5)], r"\(2, 3\) and \(4, 5\) have no product"),
    ("QuantizeLinear", [(2, 3), (1,)], r"scales \(1,\) do not belong to axis 1 of \(2, 3\)"),
    ("Softmax", [()], r"axis -1 is not in \[0, -1\]"),
])  # fmt: skip
def test_operands_that_do_not_fit_each_other_have_no_lines(
    operator: str, shapes: Any, reason: str
) -> None:
    node = Node(21, {}, tuple(np.ones(shape, F) for shape in shapes))
    with pytest.raises(ValueError, match=f"^{reason}$"):
        list(excerpts(operator, node, [np.ones(shapes[0], F)], lambda *_: np.arange(1)))
