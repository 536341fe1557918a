"""Expands the operands of a node by operators that are guards as well.

A node fails if one of its operands cannot be expanded, and `Expand` fails if sizes differ and
neither is 1. It does not fail for a size of 0 against 1, so that is checked separately:

    Expand(A, Where(Shape(A) + Shape(B) = 1, 2, Shape(B))) -> A
    Expand(B, Shape(of the expanded A)) -> B

    Reshape(A, Max(Shape(A), 1)) -> A       if only A has sizes other than 1
    Expand(B, Shape(A)) -> B

The name of the failing node has the operator, the node and the rule.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import BroadcastPlan
from sonnx_ort.custom_ops.failure_channel import guard_name, refusing_guard_name
from sonnx_ort.enforcing.broadcasting import ShapeDecisions, expand
from sonnx_ort.enforcing.native.broadcasting import (
    axes_exempt_from_size_0,
    common_shape,
    index_of_common_shape,
    padded_shapes,
    rank_of,
)
from sonnx_ort.enforcing.native.legacy_broadcasting import aligned_shape
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.requirements.broadcasting import aligned_axes, fit_in_every_run
from sonnx_ort.terms.operand import Operand

_PAIR = 2

_MAX_OF_INTEGERS = 12
"""The first opset in which Max takes integers."""


def _expanded(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> Sequence[ir.Value]:
    """Expand values, aligned at their last axes, to their common shape.

    Reading all of them fails if there is none.
    """
    few = None if plan.fits else _expanded_in_few_nodes(nodes, label, values, plan)
    return few or expand(nodes, values, plan, common_shape(nodes, label, values, plan))


def _expanded_in_few_nodes(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> Sequence[ir.Value] | None:
    """The expanded values if the common shape need not be computed, else None."""
    operands = plan.operands
    reference = index_of_common_shape(plan)
    if reference is None:
        pair = len(values) == _PAIR
        return _expanded_to_each_other(nodes, label, values, operands) if pair else None
    exempt = axes_exempt_from_size_0(operands, reference)
    if exempt is not None:
        return _expanded_to_positive(nodes, label, values, plan, (reference, exempt))
    if len(values) == _PAIR and rank_of(operands) is not None:
        return _expanded_to_one(nodes, label, values, operands, reference)
    return None


def _expanded_to_positive(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    position: tuple[int, Sequence[bool]],
) -> list[ir.Value]:
    """Expand to the shape of one value, after a guard that fails for a size of 0.

    `position` is the position of the value, and for each of its axes whether the size may be 0.
    """
    reference, exempt = position
    sizes = nodes.shape(values[reference])
    if any(exempt) or nodes.opset < _MAX_OF_INTEGERS:
        forbidden = nodes.constant([-1 if axis else 0 for axis in exempt] or [0], "forbidden")
        empty = nodes.add("Equal", [sizes, forbidden], "is_empty")
        kept = _kept_unless(nodes, label, values[reference], sizes, empty)
    else:
        # An empty tensor cannot be reshaped to a shape without a 0.
        positive = nodes.add("Max", [sizes, nodes.constant([1], "one")], "positive_sizes")
        name = refusing_guard_name(BROADCAST.name, label, E1)
        kept = nodes.add("Reshape", [values[reference], positive], "kept", name=name)
    results = expand(nodes, values, plan, sizes)
    results[reference] = kept
    return results


def _kept_unless(
    nodes: StandardNodes, label: str, value: ir.Value, sizes: ir.Value, clash: ir.Value
) -> ir.Value:
    """A value, after a guard that fails if an axis has a clash."""
    code = nodes.constant([-E1.code], "code")
    asked = nodes.add("Where", [clash, code, sizes], "sizes_or_code")
    name = guard_name(BROADCAST.name, label, [E1])
    return nodes.add("Reshape", [value, asked], "kept", name=name)


def _expanded_to_one(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    operands: Sequence[Operand],
    reference: int,
) -> list[ir.Value]:
    """Expand one of two values of known rank to the shape of the other."""
    results = list(values)
    sizes = nodes.shape(values[reference])
    if _may_clash_at_0(operands):
        clash = _zero_against_one(nodes, *padded_shapes(nodes, values, operands))
        results[reference] = _kept_unless(nodes, label, values[reference], sizes, clash)
    name = refusing_guard_name(BROADCAST.name, label, E1)
    other = 1 - reference
    results[other] = nodes.add("Expand", [values[other], sizes], "expanded", name=name)
    return results


def _expanded_to_each_other(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], operands: Sequence[Operand]
) -> list[ir.Value]:
    """Expand each of two values to the shape of the other."""
    one, other = values
    if _may_clash_at_0(operands):
        sizes, wanted = padded_shapes(nodes, values, operands)
        # 2 cannot be reached from 0 or 1 and be compatible with the other.
        impossible = nodes.constant([2], "impossible")
        clash = _zero_against_one(nodes, sizes, wanted)
        wanted = nodes.add("Where", [clash, impossible, wanted], "sizes_or_impossible")
    else:
        wanted = nodes.shape(other)
    name = refusing_guard_name(BROADCAST.name, label, E1)
    first = nodes.add("Expand", [one, wanted], "expanded", name=name)
    second = nodes.add("Expand", [other, nodes.shape(first)], "expanded", name=f"{name} (B)")
    return [first, second]


def _zero_against_one(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    """For each axis of two shapes of equal rank, whether one size is 0 and the other 1."""
    sums = nodes.add("Add", [one, other], "sums")
    return nodes.add("Equal", [sums, nodes.constant([1], "one")], "is_0_against_1")


def _may_clash_at_0(operands: Sequence[Operand]) -> bool:
    """Whether two operands may have sizes of 0 and 1 on the same axis."""
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands):
        return True
    return any(
        not fit_in_every_run(operands, sizes)
        and all(size in (0, 1) for size in sizes if isinstance(size, int))
        for _, sizes in aligned_axes(shapes)
    )


BY_OPERATORS = ShapeDecisions(
    common=common_shape, expanded=_expanded, aligned=aligned_shape, oldest_opset=9
)
"""Checks by standard operators."""
