"""Lowers a Broadcast to a check of the shapes and standard operators.

    X0, X1, ... -> (the backend's check) -> common shape
    X0, common shape -> Expand -> Z0

Each backend checks in its own way. If there is no common shape, reading it fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import Alignment, BroadcastPlan, ExaminedNode
from sonnx_ort.analysis.values.declarations import declared_type
from sonnx_ort.enforcing.hidden.shapes import (
    hide_misinferred_shapes,
    oldest_opset_with_hidden_shapes,
)
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.requirements.broadcasting import aligned_axes
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Shape

_EXPAND = 8
"""The first opset with Expand."""

_WITHOUT_EXPAND = frozenset({"bfloat16"})
"""The types for which ONNX Runtime has no Expand; a Cast there and back would change NaNs."""

_ALLOWZERO = 14
"""The first opset in which Reshape can set a size to 0; with it, Reshape replaces Expand."""


@dataclass(frozen=True, slots=True)
class ShapeDecisions:
    """How a backend checks shapes in a run; each function takes the label of the node.

    Attributes:
        common: Returns the common shape of values; reading it fails if there is none.
        expanded: Returns values of the common shape; reading all of them fails if there is none.
        aligned: Returns the second value's shape with trailing axes of size 1, so that it aligns
            with the first; reading it fails if the shapes cannot be aligned.
        oldest_opset: The oldest opset that has the needed operators.
    """

    common: Callable[[StandardNodes, str, Sequence[ir.Value], BroadcastPlan], ir.Value]
    expanded: Callable[[StandardNodes, str, Sequence[ir.Value], BroadcastPlan], Sequence[ir.Value]]
    aligned: Callable[[StandardNodes, str, Sequence[ir.Value], Alignment], ir.Value]
    oldest_opset: int


def oldest_opset_with_broadcast(examined: ExaminedNode, decisions: ShapeDecisions) -> int:
    """The oldest opset in which a Broadcast, or the one in front of a node, can be lowered."""
    types = {operand.element_type for operand in examined.operands}
    own = examined.ruled.operator is BROADCAST and ElementType.BFLOAT16 in types
    hidden = oldest_opset_with_hidden_shapes(examined)
    return max(decisions.oldest_opset, hidden, _ALLOWZERO if own else _EXPAND)


def expand(
    nodes: StandardNodes, values: Sequence[ir.Value], plan: BroadcastPlan, common: ir.Value
) -> list[ir.Value]:
    """Expand values to their common shape; those that already have it are returned unchanged.

    The values must be aligned at their last axes.
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
    """Make the shapes of a node's operands equal, as its broadcast plan says.

    The values are the operands, already converted to the type that the node computes in.
    """
    plan, label = examined.broadcast, examined.ruled.label
    if plan is None:
        return values
    hidden = hide_misinferred_shapes(nodes, values, examined)
    aligned = _aligned_values(nodes, label, hidden, plan, decisions)
    known = _known_common_shape(plan)
    if known is not None:
        return expand(nodes, aligned, plan, nodes.constant(known, "common_shape"))
    return decisions.expanded(nodes, label, aligned, _without_uncertain_shapes(plan))


def expand_read_operands(
    nodes: StandardNodes,
    examined: ExaminedNode,
    values: Sequence[ir.Value],
    decisions: ShapeDecisions,
) -> Sequence[ir.Value]:
    """Expand operands as `expand_operands`, except those of which the node reads one element."""
    plan = examined.broadcast
    if plan is None or not any(plan.single):
        return expand_operands(nodes, examined, values, decisions)
    pairs = zip(plan.expanded, plan.single, strict=True)
    others = replace(plan, expanded=tuple(needed and not single for needed, single in pairs))
    if plan.fits and not any(others.expanded):
        return values
    hidden = hide_misinferred_shapes(nodes, values, examined)
    common = common_shape(nodes, examined.ruled.label, hidden, plan, decisions)
    return [
        value
        if single
        else nodes.add("Expand" if needed else "Reshape", [value, common], "expanded")
        for value, needed, single in zip(hidden, others.expanded, plan.single, strict=True)
    ]


def _aligned_values(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    decisions: ShapeDecisions,
) -> Sequence[ir.Value]:
    """The values; the second gets trailing axes of size 1 if legacy broadcasting needs them."""
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
        # In a Reshape, 0 keeps the value's own size.
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
    """The common shape of values aligned at their last axes; reading it fails if there is none."""
    known = _known_common_shape(plan)
    if known is not None:
        return nodes.constant(known, "common_shape")
    return decisions.common(nodes, label, values, _without_uncertain_shapes(plan))


def _without_uncertain_shapes(plan: BroadcastPlan) -> BroadcastPlan:
    """The plan without the shapes of inputs declared as scalars, whose rank may differ in a run."""
    operands = (replace(o, shape=None) if o.scalar_inputs else o for o in plan.operands)
    return replace(plan, operands=tuple(operands))


def _known_common_shape(plan: BroadcastPlan) -> list[int] | None:
    """The common shape, if every size is known and the shapes are compatible."""
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
    """Make the nodes that replace a Broadcast.

    Returns:
        The new value of each named output. All of them depend on the check.
    """
    ruled = examined.ruled
    plan = examined.broadcast
    if plan is None:
        raise ValueError(f"Broadcast '{ruled.label}' has no plan")
    values = hide_misinferred_shapes(nodes, ruled.inputs, examined)
    common = common_shape(nodes, ruled.label, values, plan, decisions)
    made = {}
    for index, output in enumerate(ruled.node.outputs):
        if output.name:
            # Separate nodes keep two outputs from becoming one value.
            separate = nodes.body()
            made[output] = _element_copies(separate, examined, index, values[index], common)
            nodes.nodes += separate.nodes
    return made


def _element_copies(
    nodes: StandardNodes, examined: ExaminedNode, index: int, value: ir.Value, common: ir.Value
) -> ir.Value:
    if examined.broadcast is not None and not examined.broadcast.expanded[index]:
        # The value has the common shape; the Reshape copies nothing, but depends on the check.
        return nodes.add("Reshape", [value, common], "kept")
    if operand_type(examined, index) in _WITHOUT_EXPAND:
        return _gathered(nodes, value, common)
    return nodes.add("Expand", [value, common], "expanded")


def _gathered(nodes: StandardNodes, value: ir.Value, common: ir.Value) -> ir.Value:
    """Expand by index: flatten the value, and gather its elements at the expanded positions."""
    flat = nodes.add("Reshape", [value, nodes.constant([-1], "flat_shape")], "flat")
    # ONNX Runtime does not implement Size for every type.
    size = nodes.add("Reshape", [nodes.shape(flat), nodes.constant([], "scalar_shape")], "size")
    first, step = nodes.constant(0, "first"), nodes.constant(1, "step")
    positions = nodes.add("Range", [first, size, step], "positions")
    # Without allowzero, a size of 0 would mean a size of the flat positions.
    placed = nodes.add("Reshape", [positions, nodes.shape(value)], "placed", {"allowzero": 1})
    expanded = nodes.add("Expand", [placed, common], "expanded_positions")
    return nodes.add("Gather", [flat, expanded], "gathered")


def operand_type(examined: ExaminedNode, index: int) -> str | None:
    """The proved type of an operand of a Broadcast, else the declared one; None if unknown."""
    known = examined.operands[index].element_type
    return known or declared_type(examined.ruled.inputs[index])
