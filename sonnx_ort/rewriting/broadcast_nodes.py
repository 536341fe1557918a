"""Makes a model's own Broadcast nodes executable, whatever their number of inputs."""

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.rewriting.broadcast_lowering import BroadcastLowering

_WITHOUT_EXPAND = frozenset({"bfloat16"})
"""The types that ONNX Runtime has no Expand for; a Cast there and back would change NaNs."""

_LITERAL_ZEROS = 14
"""The first version of the standard operators in which Reshape can take a 0 for a size."""


def lower_broadcast(
    examined: ExaminedNode, names: ValueNames, opset: int
) -> tuple[list[ir.Node], dict[ir.Value, ir.Value]]:
    """Make the nodes that take the place of a Broadcast.

    Args:
        examined: The Broadcast.
        names: Gives names to new values.
        opset: The version of the standard operators.

    Returns:
        The nodes, and by output what they give for it, for Z0, Z1 and so on as far as the node
        has them. None of these can be reached except by way of the check.
    """
    target = examined.target
    stem = next(output.name for output in target.node.outputs if output.name)
    lowering = BroadcastLowering(names, target.label, stem, opset)
    common = lowering.common_shape(target.inputs, examined.operands)
    copies = {
        output: _element_copies(lowering, examined, index, common, opset)
        for index, output in enumerate(target.node.outputs)
        if output.name
    }
    return lowering.nodes, copies


def _element_copies(
    lowering: BroadcastLowering, examined: ExaminedNode, index: int, common: ir.Value, opset: int
) -> ir.Value:
    value = examined.target.inputs[index]
    plan = examined.broadcast
    if plan is not None and not plan.expanded[index]:
        # It has the common shape; the Reshape copies nothing and waits for the check.
        return lowering.add("Reshape", [value, common], "kept")
    if _element_type(examined, index) in _WITHOUT_EXPAND:
        return _gathered(lowering, value, common, opset)
    return lowering.add("Expand", [value, common], "expanded")


def _gathered(
    lowering: BroadcastLowering, value: ir.Value, common: ir.Value, opset: int
) -> ir.Value:
    """Expand by the elements' positions: flatten, and gather at the expanded positions."""
    shape = lowering.add("Shape", [value], "own_shape")
    flat = lowering.add("Reshape", [value, lowering.constant([-1], "flat_shape")], "flat")
    # ONNX Runtime has no Size for every type.
    sizes = lowering.add("Shape", [flat], "sizes")
    size = lowering.add("Reshape", [sizes, lowering.constant([], "scalar_shape")], "size")
    first, step = lowering.constant(0, "first"), lowering.constant(1, "step")
    positions = lowering.add("Range", [first, size, step], "positions")
    # Without it, a size of 0 would stand for one of the flat positions' own.
    literal = {"allowzero": 1} if opset >= _LITERAL_ZEROS else {}
    placed = lowering.add("Reshape", [positions, shape], "placed", literal)
    expanded = lowering.add("Expand", [placed, common], "expanded_positions")
    return lowering.add("Gather", [flat, expanded], "gathered")


def _element_type(examined: ExaminedNode, index: int) -> str | None:
    known = examined.operands[index].element_type
    claimed = examined.target.inputs[index].dtype
    return known if known is not None or claimed is None else claimed.name.lower()
