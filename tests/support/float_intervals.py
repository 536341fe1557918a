"""The interval that a rule gives a node of which only this is known: its operands."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.catalog import INTERVAL_RULES
from sonnx_ort.facts.intervals import of_elements
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.facts.sizes import Bounds, Sizes, Symbolic

Operand = Interval | float | npt.NDArray[Any] | Bounds | None


def interval_of(
    operator: str,
    *operands: Operand,
    shapes: Sequence[Sequence[int | str] | None] = (),
    version: int = 20,
    dtype: str = "float",
    **attributes: Any,
) -> Interval:
    """What the rule says of the first float result; `node_of` has the arguments."""
    node, _ = node_of(
        operator, *operands, shapes=shapes, version=version, dtype=dtype, **attributes
    )
    return said_of(node)


def said_of(node: GraphNode) -> Interval:
    """What the rule says of the first float result of a node."""
    return next(each for each in INTERVAL_RULES[node.op_type](node) if each is not None)


def node_of(
    operator: str,
    *operands: Operand,
    shapes: Sequence[Sequence[int | str] | None] = (),
    version: int = 20,
    dtype: str = "float",
    **attributes: Any,
) -> tuple[GraphNode, dict[ir.Value, Interval]]:
    """A node, and the intervals of its operands, which may be replaced.

    Args:
        operator: The operator.
        operands: Each an interval, a constant, bounds of integers, or None if it is left out.
        shapes: The shapes of operands that are no constants; texts are open sizes.
        version: The version of the standard operators.
        dtype: The type of all floats.
        attributes: The attributes.
    """
    values = [None if each is None else ir.Value() for each in operands]
    intervals, bounds = dict[ir.Value, Interval](), dict[ir.Value, Bounds]()
    known, contents = dict[ir.Value, Sizes](), dict[ir.Value, tuple[int, ...]]()
    for value, operand in zip(values, operands, strict=True):
        match operand:
            case Interval():
                intervals[value] = operand
            case Bounds():
                bounds[value] = operand
            case float() | np.ndarray():
                array = np.asarray(operand, np.float32 if isinstance(operand, float) else None)
                value.const_value = ir.tensor(array)
                known[value] = array.shape
                if array.dtype.kind == "i":
                    contents[value] = tuple(array.ravel().tolist())
                elif array.dtype.kind == "f":
                    intervals[value] = of_elements(array)
    for value, shape in zip(values, shapes, strict=False):
        if value is not None and shape is not None:
            known[value] = tuple(Symbolic.named(s) if isinstance(s, str) else s for s in shape)
    node = GraphNode(
        ir.node(operator, values, attributes, num_outputs=3),
        version,
        Held(
            element_type=lambda value: "int8" if value in bounds else dtype,
            shapes=known,
            contents=contents,
            bounds=bounds,
            intervals=intervals,
            reads_weights=True,
        ),
    )
    return node, intervals


def assert_is(found: Interval, lower: float, upper: float, *, nan: bool) -> None:
    """An interval has these ends, but for what kernels may round, and NaN or not."""
    assert found.nan is nan
    largest = max(abs(end) if math.isfinite(end) else 0 for end in (lower, upper))
    near = pytest.approx((lower, upper), rel=0, abs=2e-5 * max(largest, 1))
    assert (found.whole.lower, found.whole.upper) == near
