"""Guards of broadcasting by attributes, as early versions of operators have it.

start = axis, or rank(A) - rank(B)
1, ..., 1, sizes of B, 1, ..., 1    is compared with the sizes of A, from `start` on
1, ..., 1, sizes of B               is the shape that aligns with A, after the guard

The `Reshape` is the guard: its name has the operator, the node and the rule.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import Alignment
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.inspection import ALIGNED_SHAPE
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.element_type import ElementType


def aligned_shape(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], alignment: Alignment
) -> ir.Value:
    """Compute the shape by which the second value aligns with the first, and check that it does."""
    a, b = (nodes.shape(value) for value in values)
    a_rank, b_rank = nodes.shape(a), nodes.shape(b)
    start = _start(nodes, alignment.limits.axis, a_rank, b_rank)
    before = _not_negative(nodes, start)
    after = _not_negative(nodes, _minus(nodes, _minus(nodes, a_rank, before), b_rank))
    leading, trailing = _filled(nodes, before, 1), _filled(nodes, after, 1)
    aligned = _joined(nodes, [leading, b, trailing])
    # If B extends beyond A this is longer than the rank of A, so A is padded.
    beyond = _minus(nodes, nodes.shape(aligned), a_rank)
    padded = _joined(nodes, [a, _filled(nodes, beyond, 1)])
    outside = _joined(nodes, [leading, _filled(nodes, b_rank, 0), trailing])
    matching = nodes.add(
        "Or", [nodes.add("Equal", [padded, aligned], "is_equal"), _is(nodes, outside, 1)], "matches"
    )
    part = _all_hold(
        nodes, [matching, _is(nodes, beyond, 0), nodes.add("Equal", [start, before], "is_inside")]
    )
    ones = _is(nodes, b, 1)
    larger_rank = _not_negative(nodes, _minus(nodes, b_rank, a_rank))
    one_element = _all_hold(nodes, [ones, _is(nodes, larger_rank, 0)])
    fits = nodes.add("Or", [part, one_element], "fits")
    shape = _joined(nodes, [b, trailing])
    code = nodes.constant([-alignment.rule.code], "code")
    decided = nodes.add("Where", [fits, nodes.shape(shape), code], "rank_or_code")
    name = guard_name(alignment.operator.name, label, [alignment.rule], ALIGNED_SHAPE.remark)
    return nodes.add("Reshape", [shape, decided], "aligned_shape", name=name)


def _start(nodes: StandardNodes, axis: int | None, a_rank: ir.Value, b_rank: ir.Value) -> ir.Value:
    """The axis of the first operand at which those of the second begin."""
    if axis is None:
        return _minus(nodes, a_rank, b_rank)
    constant = nodes.constant([axis], "axis")
    return nodes.add("Add", [a_rank, constant], "start") if axis < 0 else constant


def _minus(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    return nodes.add("Add", [one, nodes.add("Neg", [other], "negative")], "difference")


def _not_negative(nodes: StandardNodes, number: ir.Value) -> ir.Value:
    zero = nodes.constant([0], "zero")
    negative = nodes.add("Less", [number, zero], "is_negative")
    return nodes.add("Where", [negative, zero, number], "not_negative")


def _filled(nodes: StandardNodes, count: ir.Value, number: int) -> ir.Value:
    element = ir.tensor([number])
    return nodes.add("ConstantOfShape", [count], "filled", {"value": element})


def _joined(nodes: StandardNodes, vectors: Sequence[ir.Value]) -> ir.Value:
    return nodes.add("Concat", vectors, "joined", {"axis": 0})


def _is(nodes: StandardNodes, numbers: ir.Value, number: int) -> ir.Value:
    """Which of the numbers are this one."""
    return nodes.add("Equal", [numbers, nodes.constant([number], "number")], "is_number")


def _all_hold(nodes: StandardNodes, conditions: Sequence[ir.Value]) -> ir.Value:
    """Whether all elements of the vectors are true, as a vector of one element."""
    numbers = [nodes.cast(c, ElementType.INT64, "as_number") for c in conditions]
    smallest = nodes.add("ReduceMin", [_joined(nodes, numbers)], "smallest", {"keepdims": 1})
    return _is(nodes, smallest, 1)
