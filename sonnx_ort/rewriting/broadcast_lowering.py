"""Lowers a Broadcast to a decision about the shapes and standard operators.

    X0, X1, ... -> (the backend's decision) -> common shape
    X0, common shape -> Expand -> Z0

Each backend decides in its own way; where there is no common shape, reading it fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.analysis.broadcast_plan import BroadcastPlan
from sonnx_ort.profile.broadcast import E1
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.operand import Operand, Shape
from sonnx_ort.profile.requirements.broadcastable import aligned_axes
from sonnx_ort.rewriting.hidden_shape import hide_mistakable_shapes
from sonnx_ort.rewriting.standard_nodes import StandardNodes

OLDEST_OPSET = 8
"""The first version of the standard operators that has Expand."""

CommonShape = Callable[[StandardNodes, str, Sequence[ir.Value], BroadcastPlan], ir.Value]
"""Gives the common shape of values that belong to the node of a name."""


def line_up(nodes: StandardNodes, value: ir.Value, rank: int, trailing: int) -> ir.Value:
    """Put axes of size 1 behind a value's own.

    Args:
        nodes: Takes the new nodes.
        value: The value.
        rank: Its rank.
        trailing: How many axes.
    """
    # A 0 stands for the value's own size.
    shape = nodes.constant([0] * rank + [1] * trailing, "aligned_shape")
    return nodes.add("Reshape", [value, shape], "aligned")


def expand(
    nodes: StandardNodes, values: Sequence[ir.Value], plan: BroadcastPlan, common: ir.Value
) -> list[ir.Value]:
    """Bring values to their common shape.

    Args:
        nodes: Takes the new nodes.
        values: The values, lined up at their last axes.
        plan: What is known of them, and which of them have to be expanded.
        common: The common shape.

    Returns:
        The values of the common shape, in their order; those that need no expansion are
        themselves.
    """
    return [
        nodes.add("Expand", [value, common], "expanded") if expanded else value
        for value, expanded in zip(values, plan.expanded, strict=True)
    ]


def expand_operands(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    decide: CommonShape,
) -> tuple[ir.Value, ...]:
    """Make the shapes of a node's operands equal, as its plan says.

    Args:
        nodes: Takes the new nodes.
        label: The node's name, by which errors speak of it.
        values: The operands.
        plan: What is known of them.
        decide: The backend's decision about the shapes.
    """
    *others, last = hide_mistakable_shapes(nodes, values, plan.operands)
    shape = plan.operands[-1].shape
    if plan.trailing and shape is not None:
        last = line_up(nodes, last, len(shape) - plan.trailing, plan.trailing)
    aligned = (*others, last)
    return tuple(expand(nodes, aligned, plan, common_shape(nodes, label, aligned, plan, decide)))


def common_shape(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    decide: CommonShape,
) -> ir.Value:
    """Give the common shape of values; reading it fails where there is none.

    Args:
        nodes: Takes the new nodes.
        label: The name of the node that they are operands of.
        values: The values, lined up at their last axes.
        plan: What is known of them.
        decide: The backend's decision, where the shapes are not known before the run.
    """
    known = _known_common_shape(plan.operands)
    if known is not None:
        return nodes.constant(known, "common_shape")
    operands = (replace(o, shape=None) if o.scalar_inputs else o for o in plan.operands)
    return decide(nodes, label, values, replace(plan, operands=tuple(operands)))


def _known_common_shape(operands: Sequence[Operand]) -> list[int] | None:
    """The common shape, if every size is known and the shapes fit."""
    shapes: list[Shape] = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands) or E1.requirement.judge(operands).status is not Status.PROVED:
        return None
    sizes = [[size for size in axis if isinstance(size, int)] for _, axis in aligned_axes(shapes)]
    if any(len(axis) < len(shapes) for axis in sizes):
        return None
    return [max(axis) for axis in sizes]
