"""Makes a model's own Broadcast nodes executable, whatever their number of inputs."""

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.rewriting.broadcast_lowering import OLDEST_OPSET, ShapeDecisions, common_shape
from sonnx_ort.rewriting.hidden_shape import hide_mistakable_shapes
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_WITHOUT_EXPAND = frozenset({"bfloat16"})
"""The types that ONNX Runtime has no Expand for; a Cast there and back would change NaNs."""

_BFLOAT16 = 14
"""From here on Reshape can take a 0 for a size, which takes the place of Expand for bfloat16."""


def oldest_opset_of_broadcast(examined: ExaminedNode) -> int:
    """The oldest version of the standard operators in which a Broadcast can be lowered.

    Args:
        examined: The Broadcast.
    """
    types = {operand.element_type for operand in examined.operands}
    return _BFLOAT16 if ElementType.BFLOAT16 in types else OLDEST_OPSET


def lower_broadcast(
    examined: ExaminedNode, names: ValueNames, opset: int, decisions: ShapeDecisions
) -> tuple[list[ir.Node], dict[ir.Value, ir.Value]]:
    """Make the nodes that take the place of a Broadcast.

    Args:
        examined: The Broadcast.
        names: Gives names to new values.
        opset: The version of the standard operators.
        decisions: How the backend decides about the shapes.

    Returns:
        The nodes, and by output what they give for it, for Z0, Z1 and so on as far as the node
        has them. None of these can be reached except by way of the check.
    """
    target = examined.target
    stem = next(str(output.name) for output in target.node.outputs if output.name)
    nodes = StandardNodes(names, stem, opset)
    plan = examined.broadcast
    if plan is None:
        raise ValueError(f"Broadcast '{target.label}' has no plan")
    values = hide_mistakable_shapes(nodes, target.inputs, plan.operands)
    common = common_shape(nodes, target.label, values, plan, decisions)
    copies = {
        output: _element_copies(nodes, examined, index, values[index], common)
        for index, output in enumerate(target.node.outputs)
        if output.name
    }
    return nodes.nodes, copies


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
    shape = nodes.add("Shape", [value], "own_shape")
    flat = nodes.add("Reshape", [value, nodes.constant([-1], "flat_shape")], "flat")
    # ONNX Runtime has no Size for every type.
    sizes = nodes.add("Shape", [flat], "sizes")
    size = nodes.add("Reshape", [sizes, nodes.constant([], "scalar_shape")], "size")
    first, step = nodes.constant(0, "first"), nodes.constant(1, "step")
    positions = nodes.add("Range", [first, size, step], "positions")
    # Without allowzero, a size of 0 would stand for one of the flat positions' own.
    placed = nodes.add("Reshape", [positions, shape], "placed", {"allowzero": 1})
    expanded = nodes.add("Expand", [placed, common], "expanded_positions")
    return nodes.add("Gather", [flat, expanded], "gathered")


def _element_type(examined: ExaminedNode, index: int) -> str | None:
    known = examined.operands[index].element_type
    claimed = examined.target.inputs[index].dtype
    return known if known is not None or claimed is None else claimed.name.lower()
