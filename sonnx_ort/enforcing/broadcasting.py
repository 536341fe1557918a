"""Lowers a Broadcast to a decision about the shapes and standard operators.

    X0, X1, ... -> (the backend's decision) -> common shape
    X0, common shape -> Expand -> Z0

Each backend decides in its own way; where there is no common shape, reading it fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.enforcing.hidden_shapes import (
    hide_mistakable_shapes,
    oldest_opset_with_hidden_shapes,
)
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.knowledge.declarations import declared_type
from sonnx_ort.obligations.examined_node import Alignment, BroadcastPlan, ExaminedNode
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operand import Shape
from sonnx_ort.profile.requirements.broadcasting import aligned_axes
from sonnx_ort.profile.rule import Status

_EXPAND = 8
"""The first version of the standard operators that has Expand."""

_WITHOUT_EXPAND = frozenset({"bfloat16"})
"""The types that ONNX Runtime has no Expand for; a Cast there and back would change NaNs."""

_ALLOWZERO = 14
"""From here on Reshape can take a 0 for a size, which takes the place of Expand for bfloat16."""


@dataclass(frozen=True, slots=True)
class ShapeDecisions:
    """How a backend decides about shapes in a run, for values that belong to the node of a name.

    Attributes:
        common: Gives the common shape of values; reading it fails where there is none.
        expanded: Gives values of the common shape; reading all of them fails where there is none.
        aligned: Gives the second value's shape with the axes of size 1 behind its own by which it
            lines up with the first; reading it fails where it does not.
        oldest_opset: The oldest version of the standard operators in which it can.
    """

    common: Callable[[StandardNodes, str, Sequence[ir.Value], BroadcastPlan], ir.Value]
    expanded: Callable[[StandardNodes, str, Sequence[ir.Value], BroadcastPlan], Sequence[ir.Value]]
    aligned: Callable[[StandardNodes, str, Sequence[ir.Value], Alignment], ir.Value]
    oldest_opset: int


def oldest_opset_with_broadcast(examined: ExaminedNode, decisions: ShapeDecisions) -> int:
    """The oldest version of the standard operators in which a node's Broadcast can be lowered.

    Args:
        examined: A Broadcast, or a node with one in front.
        decisions: How the backend decides about the shapes.
    """
    types = {operand.element_type for operand in examined.operands}
    own = examined.target.operator is BROADCAST and ElementType.BFLOAT16 in types
    hidden = oldest_opset_with_hidden_shapes(examined)
    return max(decisions.oldest_opset, hidden, _ALLOWZERO if own else _EXPAND)


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
    examined: ExaminedNode,
    values: Sequence[ir.Value],
    decisions: ShapeDecisions,
) -> Sequence[ir.Value]:
    """Make the shapes of a node's operands equal, as its plan says.

    Args:
        nodes: Takes the new nodes.
        examined: The node.
        values: What it reads, converted where that is needed.
        decisions: How the backend decides about the shapes.
    """
    plan, label = examined.broadcast, examined.target.label
    if plan is None:
        return values
    hidden = hide_mistakable_shapes(nodes, values, examined)
    aligned = _lined_up(nodes, label, hidden, plan, decisions)
    known = _known_common_shape(plan)
    if known is not None:
        return expand(nodes, aligned, plan, nodes.constant(known, "common_shape"))
    return decisions.expanded(nodes, label, aligned, _without_doubtful_shapes(plan))


def expand_read_operands(
    nodes: StandardNodes,
    examined: ExaminedNode,
    values: Sequence[ir.Value],
    decisions: ShapeDecisions,
) -> Sequence[ir.Value]:
    """Make the shapes of those operands equal of which a node does not read one element.

    Args:
        nodes: Takes the new nodes.
        examined: The node.
        values: What it reads, converted where that is needed.
        decisions: How the backend decides about the shapes.
    """
    plan = examined.broadcast
    if plan is None or not any(plan.single):
        return expand_operands(nodes, examined, values, decisions)
    pairs = zip(plan.expanded, plan.single, strict=True)
    others = replace(plan, expanded=tuple(lacking and not single for lacking, single in pairs))
    if plan.fits and not any(others.expanded):
        return values
    hidden = hide_mistakable_shapes(nodes, values, examined)
    common = common_shape(nodes, examined.target.label, hidden, plan, decisions)
    return [
        value
        if single
        else nodes.add("Expand" if lacking else "Reshape", [value, common], "expanded")
        for value, lacking, single in zip(hidden, others.expanded, plan.single, strict=True)
    ]


def _lined_up(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    decisions: ShapeDecisions,
) -> Sequence[ir.Value]:
    """The values, with axes of size 1 behind those of the second one where it lines up so."""
    alignment = plan.alignment
    if alignment is None:
        return values
    a, b = values
    shape = plan.operands[1].shape
    if alignment.judgement.status is not Status.PROVED or shape is None:
        aligned_shape = decisions.aligned(nodes, label, values, alignment)
    elif not alignment.trailing:
        return values
    else:
        # A 0 stands for the value's own size.
        own = [0] * (len(shape) - alignment.trailing)
        aligned_shape = nodes.constant(own + [1] * alignment.trailing, "aligned_shape")
    return a, nodes.add("Reshape", [b, aligned_shape], "aligned")


def common_shape(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    decisions: ShapeDecisions,
) -> ir.Value:
    """Give the common shape of values; reading it fails where there is none.

    Args:
        nodes: Takes the new nodes.
        label: The name of the node that they are operands of.
        values: The values, lined up at their last axes.
        plan: What is known of them.
        decisions: How the backend decides where the shapes are not known before the run.
    """
    known = _known_common_shape(plan)
    if known is not None:
        return nodes.constant(known, "common_shape")
    return decisions.common(nodes, label, values, _without_doubtful_shapes(plan))


def _without_doubtful_shapes(plan: BroadcastPlan) -> BroadcastPlan:
    """The plan as it is where a tensor of any rank may stand for a scalar."""
    operands = (replace(o, shape=None) if o.scalar_inputs else o for o in plan.operands)
    return replace(plan, operands=tuple(operands))


def _known_common_shape(plan: BroadcastPlan) -> list[int] | None:
    """The common shape, if every size is known and the shapes fit."""
    shapes: list[Shape] = [o.shape for o in plan.operands if o.shape is not None]
    if len(shapes) < len(plan.operands) or not plan.fits:
        return None
    sizes = [[size for size in axis if isinstance(size, int)] for _, axis in aligned_axes(shapes)]
    if any(len(axis) < len(shapes) for axis in sizes):
        return None
    return [max(axis) for axis in sizes]


def lower_broadcast(
    nodes: StandardNodes, examined: ExaminedNode, decisions: ShapeDecisions
) -> dict[ir.Value, ir.Value]:
    """Make the nodes that take the place of a Broadcast.

    Args:
        nodes: Takes the new nodes.
        examined: The Broadcast.
        decisions: How the backend decides about the shapes.

    Returns:
        By output what the nodes give for it, for Z0, Z1 and so on as far as the node has them. None
        of these can be reached except by way of the check.
    """
    target = examined.target
    plan = examined.broadcast
    if plan is None:
        raise ValueError(f"Broadcast '{target.label}' has no plan")
    values = hide_mistakable_shapes(nodes, target.inputs, examined)
    common = common_shape(nodes, target.label, values, plan, decisions)
    made = {}
    for index, output in enumerate(target.node.outputs):
        if output.name:
            # No two outputs are one value, even if they are computed alike.
            apart = nodes.body()
            made[output] = _element_copies(apart, examined, index, values[index], common)
            nodes.nodes += apart.nodes
    return made


def _element_copies(
    nodes: StandardNodes, examined: ExaminedNode, index: int, value: ir.Value, common: ir.Value
) -> ir.Value:
    if examined.broadcast is not None and not examined.broadcast.expanded[index]:
        # It has the common shape; the Reshape copies nothing and waits for the check.
        return nodes.add("Reshape", [value, common], "kept")
    if _element_type(examined, index) in _WITHOUT_EXPAND:
        return _gathered(nodes, value, common)
    return nodes.add("Expand", [value, common], "expanded")


def _gathered(nodes: StandardNodes, value: ir.Value, common: ir.Value) -> ir.Value:
    """Expand by the elements' positions: flatten, and gather at the expanded positions."""
    flat = nodes.add("Reshape", [value, nodes.constant([-1], "flat_shape")], "flat")
    # ONNX Runtime has no Size for every type.
    size = nodes.add("Reshape", [nodes.shape(flat), nodes.constant([], "scalar_shape")], "size")
    first, step = nodes.constant(0, "first"), nodes.constant(1, "step")
    positions = nodes.add("Range", [first, size, step], "positions")
    # Without allowzero, a size of 0 would stand for one of the flat positions' own.
    placed = nodes.add("Reshape", [positions, nodes.shape(value)], "placed", {"allowzero": 1})
    expanded = nodes.add("Expand", [placed, common], "expanded_positions")
    return nodes.add("Gather", [flat, expanded], "gathered")


def _element_type(examined: ExaminedNode, index: int) -> str | None:
    known = examined.operands[index].element_type
    return known or declared_type(examined.target.inputs[index])
