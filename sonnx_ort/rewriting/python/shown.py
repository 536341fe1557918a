"""What the kernels of custom operators are shown of a node's operands."""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.custom_ops.inspection import LEFT_OUT
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.rewriting.standard_nodes import StandardNodes
from sonnx_ort.rewriting.value_info import DATA_TYPES


def shown_operands(
    nodes: StandardNodes, examined: ExaminedNode, operands: Sequence[ir.Value]
) -> tuple[list[ir.Value], list[ir.Value]]:
    """What an operator that is not element-wise is shown, and what the node reads then.

    It is shown shapes, and elements of some operands; the node reads those that were shown.

    Args:
        nodes: Takes the new nodes.
        examined: The node.
        operands: Its operands, in its order.
    """
    operator, names = examined.target.operator, examined.target.operand_names
    shown, read = [], list(operands)
    for name in operator.looked_at:
        position = names.index(name) if name in names else None
        if position is None:
            shown.append(nodes.constant([LEFT_OUT], "left_out"))
        elif name in operator.by_shape:
            shown.append(nodes.shape(operands[position]))
        else:
            elements, read[position] = _as_kernels_take(nodes, examined, position, read[position])
            shown.append(elements)
    return shown, read


def _as_kernels_take(
    nodes: StandardNodes, examined: ExaminedNode, position: int, value: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The elements of an operand in a type that kernels take, and the same as the node does."""
    operand = examined.operands[position]
    own = ElementType.named(operand.element_type)
    fixed = examined.target.operator.operand_types.get(operand.name)
    wanted = ElementType.named(fixed) or CARRIERS.get(own or ElementType.FLOAT)
    if wanted is None or wanted is own:
        return value, value
    elements = nodes.cast(value, DATA_TYPES[wanted], f"{value.name}_as_{wanted}")
    if own is None or own not in CARRIERS:
        return elements, elements
    return elements, nodes.cast(elements, DATA_TYPES[own], f"{value.name}_as_{own}")
