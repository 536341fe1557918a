"""What is known of an enforced node's output, so that inference need not end there."""

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.operand import Shape, broadcast_shape
from sonnx_ort.profile.requirements.broadcastable import Broadcastable
from sonnx_ort.profile.requirements.same_shape import SameShape

DATA_TYPES: dict[ElementType, ir.DataType] = {
    element_type: ir.DataType.from_numpy(element_type.dtype) for element_type in ElementType
}
"""The element types as the graph library knows them."""


def element_type_of(examined: ExaminedNode) -> ElementType | None:
    """The type of a node's operands by the facts; failing them, by what the file claims.

    A wrong claim here changes no result: a session whose types do not fit does not start.

    Args:
        examined: The node.
    """
    for operand in examined.operands:
        if operand.element_type is not None:
            return ElementType.named(operand.element_type)
    target = examined.target
    for value in (*target.inputs, target.output):
        for element_type, data_type in DATA_TYPES.items():
            if value.dtype == data_type:
                return element_type
    return None


def declare_output(examined: ExaminedNode) -> None:
    """Declare what follows for a node's output where the file leaves it to inference.

    Inference ends at a custom operator, and a Scan does not run without its body's shapes. Sizes
    are declared, no symbols: a symbol would be a claim about other values too. Where the rules
    about shapes are not proved, not all sizes are: ONNX Runtime would compute a Shape from them,
    and leave the node out if nothing else reads it.

    Args:
        examined: The node, with operands that keep its rules.
    """
    output = examined.target.output
    element_type = element_type_of(examined)
    if output.dtype is None and element_type is not None:
        output.type = ir.TensorType(DATA_TYPES[element_type])
    given_out = output.is_graph_output() and output.shape is not None
    if output.shape is None:
        shape = _common_shape(examined)
        if shape is not None:
            output.shape = ir.Shape([d if isinstance(d, int) else None for d in shape])
    if not _shapes_proved(examined) and not given_out:
        _leave_open(output)


def _leave_open(output: ir.Value) -> None:
    """Keep the rank alone where every size is declared, so that no Shape is computed from them."""
    if output.shape is not None and all(isinstance(size, int) for size in output.shape):
        rank = len(output.shape)
        output.shape = ir.Shape([None] * rank) if rank > 0 else None


def _shapes_proved(examined: ExaminedNode) -> bool:
    kinds = (SameShape, Broadcastable)
    about_shapes = [o for o in examined.obligations if isinstance(o.rule.requirement, kinds)]
    return all(obligation.status is Status.PROVED for obligation in about_shapes)


def _common_shape(examined: ExaminedNode) -> Shape | None:
    plan = examined.broadcast
    operands = examined.operands if plan is None else plan.operands
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if not shapes or (len(shapes) < len(operands) and plan is not None):
        return None
    return broadcast_shape(*shapes)
