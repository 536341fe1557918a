"""DequantizeLinear for each channel or of other types: a difference of integers, times a scale.

ONNX Runtime computes (x - zero_point) * scale: the difference in int32, converted to float, and the
product in float. A Sub of int32, a Cast and a Mul compute the same. Its optimizers compute in
integers what stands between quantizations, which rounds otherwise, and find none then.
"""

import onnx_ir as ir

from sonnx_ort.conforming.change import Change, NoChangeError, NodeEdit, Safety
from sonnx_ort.conforming.template import Operators

_SIGNATURE = frozenset(
    {"DequantizeLinear.R1", "DequantizeLinear.signature", "DequantizeLinear.types"}
)
_NARROW = frozenset({"int8", "uint8", "int16", "uint16", "int32"})
_INT32 = ir.DataType.INT32


def dequantize_by_products(edit: NodeEdit) -> bool:
    """Write the difference and the product.

    Raises:
        NoChangeError: It is of other types, or for blocks of elements.
    """
    x, scale, zero = edit.operand(0), edit.operand(1), edit.input(2)
    kinds = edit.facts.element_type(x), edit.facts.element_type(scale)
    if kinds[0] not in _NARROW or kinds[1] != "float" or edit.integer("block_size"):
        raise NoChangeError("it is of other types, or for blocks of elements")
    op = Operators(edit, ir.DataType.FLOAT)
    whole = x if kinds[0] == "int32" else op.cast(x, _INT32)
    behind = _axes_behind(op, x, scale)
    if zero is not None:
        less = zero if kinds[0] == "int32" else op.cast(zero, _INT32)
        whole = op.Sub(whole, op.Unsqueeze(less, axes=behind) if behind else less)
    factor = op.Unsqueeze(scale, axes=behind) if behind else scale
    edit.replace_by(op.Mul(op.cast(whole, ir.DataType.FLOAT), factor))
    return True


def _axes_behind(op: Operators, x: ir.Value, scale: ir.Value) -> list[int]:
    """The axes to add behind that of a scale for each channel, so that it is that of X."""
    if op.rank(scale) == 0 or op.edit.shape(scale) == (1,):
        return []
    axis = op.edit.node.attributes.get_int("axis", 1) % op.rank(x)
    return list(range(1, op.rank(x) - axis))


CHANGES = (
    Change(
        "write a difference times the scale",
        _SIGNATURE,
        dequantize_by_products,
        Safety.ROUNDING,
    ),
)
"""The changes of DequantizeLinear, where no other one fixes it."""
