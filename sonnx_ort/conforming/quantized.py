"""Quantized tensors: what is outside the set or the drafts, written by sums, products and scales.

The drafts have QuantizeLinear of float to uint8 and DequantizeLinear of int32 to float, each with
one scale, and ConvInteger without a zero point that would be padded.

DequantizeLinear for each channel or of other types: a difference of integers, times a scale. ONNX
Runtime computes (x - zero_point) * scale: the difference in int32, converted to float, and the
product in float. A Sub of int32, a Cast and a Mul compute the same. QuantizeLinear to int8 is that
to uint8 with a zero point that is larger by 128, less 128, for both round to an integer and cut
what is beyond their type; with a scale for each channel the quotients come first. Its optimizers
compute in integers what stands between quantizations, which rounds otherwise, and find none then.

The QLinear forms compute sums of products of integers, exactly; these, converted to float, are
multiplied by the scale of both operands over that of the result, rounded, and shifted by its zero
point. Sums of products that a float or a double represents, all of them, are exact in it in every
order. What is written here is so by each operator's document; so are the kernels, but for uint8 by
int8, where they cut the sum of two products to 16 bits on processors with AVX2 and without VNNI
(finding R48).
"""

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.bounds import Bound, Inputs, Reference
from sonnx_ort.conforming.change import Change, NoChangeError, NodeEdit, filled
from sonnx_ort.conforming.constants import remove_axis
from sonnx_ort.conforming.operators import Operators, Template
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.facts.bounds import LIMITS

_SCALE, _ZERO_POINT = 1, 2
_NARROW = frozenset({"int8", "uint8", "int16", "uint16", "int32"})
_FLOAT, _INT32, _UINT8 = ir.DataType.FLOAT, ir.DataType.INT32, ir.DataType.UINT8
_INT8 = ir.DataType.INT8
_SHIFT = 128
"""How far the elements of int8 are from those of uint8."""

_MOST_PRODUCT = 255 * 255
_EXACT = ((_FLOAT, 1 << 24), (ir.DataType.DOUBLE, LIMITS["int32"].upper))
"""Types in which sums of products up to these numbers are exact, and whole numbers of int32."""

_PADDED_BY_INPUTS = 11
"""The first version of Pad whose pads are an input."""


def remove_quantization_axis(edit: NodeEdit) -> bool:
    """Give a scale and a zero point that are scalars in place of vectors of one element.

    The kernels take one scale for all elements then, whatever axis is named.
    """
    if edit.integer("block_size") != 0:
        raise NoChangeError("it has one scale for each block of elements")
    return remove_axis(edit, (_SCALE, _ZERO_POINT))


def name_default_axis(edit: NodeEdit) -> bool:
    """Set the attribute `axis` to 1 where the scale is a scalar, which has no axis.

    ONNX says of the axis that it is used for scales of an axis alone.
    """
    if edit.shape(edit.operand(_SCALE)) != ():
        raise NoChangeError("the axis is that of its scales")
    edit.set_attribute("axis", 1)
    return True


def give_zero_point(edit: NodeEdit) -> bool:
    """Give a zero point of 0, which ONNX assumes, in uint8 and in the shape of the scale."""
    if edit.integer("output_dtype") not in (0, _UINT8.value):
        raise NoChangeError("its results are not uint8, which the profile requires")
    shape = edit.sizes(edit.operand(_SCALE))
    edit.set_input(_ZERO_POINT, edit.constant(filled(shape, 0, np.uint8), "zero_point"))
    return True


def dequantize_by_products(edit: NodeEdit) -> bool:
    """Write the difference and the product."""
    x, scale, zero = edit.operand(0), edit.operand(1), edit.input(2)
    kinds = edit.facts.element_type(x), edit.facts.element_type(scale)
    if kinds[0] not in _NARROW or kinds[1] != "float" or edit.integer("block_size"):
        raise NoChangeError("it is of other types, or for blocks of elements")
    op = Operators(edit, _FLOAT)
    whole = x if kinds[0] == "int32" else op.cast(x, _INT32)
    after = _axes_after(op, x, scale)
    if zero is not None:
        less = zero if kinds[0] == "int32" else op.cast(zero, _INT32)
        whole = op.Sub(whole, op.unsqueeze(less, after))
    edit.replace_by(op.Mul(op.cast(whole, _FLOAT), op.unsqueeze(scale, after)))
    return True


def quantize_to_bytes(edit: NodeEdit) -> bool:
    """Write the quotients where there are several scales, and what is of int8 by uint8."""
    x, scale, zero = edit.operand(0), edit.operand(1), edit.input(2)
    kinds = edit.facts.element_type(x), edit.facts.element_type(scale)
    asked = edit.integer("output_dtype") if zero is None else edit.dtype(zero).value
    wanted = asked or _UINT8.value
    if kinds != ("float", "float") or edit.integer("block_size") or wanted not in (_UINT8, _INT8):
        raise NoChangeError("it is of other types, or for blocks of elements")
    kind = ir.DataType(wanted)
    op = Operators(edit, _FLOAT)
    after, shape = _axes_after(op, x, scale), edit.shape(scale)
    if kind is _UINT8 and zero is not None and shape in ((), (1,)):
        raise NoChangeError("it has one scale already")
    one = edit.constant(np.zeros((), kind.numpy()), "zero") if zero is None else zero
    if shape not in ((), (1,)):
        x, scale, one = op.Div(x, op.unsqueeze(scale, after)), op.number(1.0), _one_of(op, one)
    edit.replace_by(_quantized(op, x, scale, one, kind))
    return True


def _axes_after(op: Operators, x: ir.Value, scale: ir.Value) -> list[int]:
    """The axes to add after that of a scale for each channel, so that it is that of X."""
    if op.rank(scale) == 0 or op.edit.shape(scale) == (1,):
        return []
    axis = op.axis_of(op.edit.node.attributes.get_int("axis", 1), op.rank(x))
    return list(range(1, op.rank(x) - axis))


def _one_of(op: Operators, zero: ir.Value) -> ir.Value:
    """The zero point of all channels, as a scalar."""
    if op.edit.facts.shape(zero) == ():
        return zero
    found = np.unique(op.elements(zero))
    if found.size != 1:
        raise NoChangeError("its channels have several zero points")
    return op.edit.constant(np.asarray(found.reshape(())), "zero_point")


def _quantized(
    op: Operators, x: ir.Value, scale: ir.Value, zero: ir.Value, kind: ir.DataType
) -> ir.Value:
    """QuantizeLinear to uint8 or int8."""
    found = op.QuantizeLinear(x, scale, _as_uint8(op, zero, kind))
    if kind is _UINT8:
        return found
    return op.cast(op.Sub(op.cast(found, _INT32), op.number(_SHIFT, _INT32)), _INT8)


def _as_uint8(op: Operators, value: ir.Value, kind: ir.DataType) -> ir.Value:
    """Elements or a zero point: those of int8 all by 128 larger, in uint8."""
    if kind is _UINT8:
        return value
    known = op.edit.facts.constant(value)
    if known is not None:
        shifted = np.asarray(known.astype(np.int32) + _SHIFT, np.uint8)
        return op.edit.constant(shifted, "as_uint8")
    return op.cast(op.Add(op.cast(value, _INT32), op.number(_SHIFT, _INT32)), _UINT8)


def _sums(
    op: Operators, a: ir.Value, b: ir.Value, zero_a: ir.Value | None, zero_b: ir.Value | None
) -> tuple[ir.Value, ir.DataType]:
    """The product of matrices of bytes, less their zero points, and the type that it is of."""
    length = op.edit.shape(a)[-1]
    if zero_a is not None and op.edit.facts.shape(zero_a) not in ((), (1,)):
        raise NoChangeError("its first operand has several zero points")
    most = length * _MOST_PRODUCT if isinstance(length, int) else None
    fits = (kind for kind, limit in _EXACT if most is not None and most <= limit)
    kind = next(fits, _INT32)

    def difference(x: ir.Value, zero: ir.Value | None) -> ir.Value:
        known = None if zero is None else op.edit.facts.constant(zero)
        whole = op.cast(x, kind)
        if zero is None or (known is not None and not known.any()):
            return whole
        return op.Sub(whole, op.cast(zero, kind))

    return op.MatMul(difference(a, zero_a), difference(b, zero_b)), kind


def product_of_integers(
    op: Operators,
    a: ir.Value,
    b: ir.Value,
    zero_a: ir.Value | None = None,
    zero_b: ir.Value | None = None,
) -> ir.Value:
    """MatMulInteger: the product of both, less their zero points."""
    sums, kind = _sums(op, a, b, zero_a, zero_b)
    return sums if kind is _INT32 else op.cast(sums, _INT32)


def quantized_product(op: Operators, *inputs: ir.Value) -> ir.Value:
    """QLinearMatMul: the product of integers, in the scale of the result."""
    a, scale_a, zero_a, b, scale_b, zero_b, scale, zero = inputs
    for each in (scale_a, zero_a, scale, zero):
        if op.edit.shape(each) not in ((), (1,)):
            raise NoChangeError(f"'{each.name}' has not one element")
    sums, kind = _sums(op, a, b, zero_a, zero_b)
    return _rescaled(op, sums, kind, (scale_a, scale_b, scale), zero)


def _rescaled(
    op: Operators,
    sums: ir.Value,
    kind: ir.DataType,
    scales: Sequence[ir.Value],
    zero: ir.Value,
) -> ir.Value:
    """Sums times the scales of both operands over that of the result, quantized."""
    op = Operators(op.edit, _FLOAT)
    one, other, result = scales
    factor = op.Div(op.Mul(one, other), result)
    numbers = op.Mul(sums if kind is _FLOAT else op.cast(sums, _FLOAT), factor)
    return _quantized(op, numbers, op.number(1.0), zero, op.edit.dtype(zero))


def quantized_convolution(op: Operators, *inputs: ir.Value) -> ir.Value:
    """QLinearConv: ConvInteger of what is padded before, in the scale of the result."""
    x, scale_x, zero_x, w, scale_w, zero_w, scale, zero, *bias = inputs
    if op.rank(x) != 4 or op.attribute("auto_pad") not in (None, "NOTSET"):
        raise NoChangeError("X has not two spatial axes, or its padding follows from its sizes")
    kinds = op.dtype, op.edit.dtype(w)
    x, w = (_as_uint8(op, each, kind) for each, kind in zip((x, w), kinds, strict=True))
    zero_x, zero_w = (
        _as_uint8(op, _one_of(op, each), kind)
        for each, kind in zip((zero_x, zero_w), kinds, strict=True)
    )
    pads = list(op.attribute("pads") or ())
    if any(pads):
        if op.edit.opset < _PADDED_BY_INPUTS:
            raise NoChangeError(f"version {op.edit.opset} of the standard operators pads floats")
        x = op.Pad(x, [0, 0, *pads[:2], 0, 0, *pads[2:]], zero_x)
    names = ("kernel_shape", "strides", "dilations", "group")
    window = {name: op.attribute(name) or None for name in names}
    sums = op.ConvInteger(x, w, zero_x, zero_w, **window)
    if bias and bias[0] is not None:
        sums = op.Add(sums, op.Unsqueeze(bias[0], axes=[0, 2, 3]))
    if op.edit.facts.shape(scale_w) not in ((), (1,)):
        scale_w = op.Unsqueeze(scale_w, axes=[0, 2, 3])
    return _rescaled(op, sums, _INT32, (scale_x, scale_w, scale), zero)


def quantize_dynamically(op: Operators, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """DynamicQuantizeLinear: by the scale and zero point of the least and largest element and 0."""
    flat = op.Reshape(x, [-1])
    if any(not isinstance(size, int) or not size for size in op.edit.shape(x)):
        # ArgMax of nothing is an error; 0 is among the elements in any case.
        flat = op.Concat(flat, np.zeros(1, np.float32), axis=0)

    def element(order: ir.Value) -> ir.Value:
        return op.Gather(flat, op.ArgMax(order, axis=0, keepdims=0), axis=0)

    least = op.Min(element(op.Neg(flat)), 0.0)
    most = op.Max(element(flat), 0.0)
    steps = op.Div(op.Sub(most, least), 255.0)
    scale = op.Where(op.Equal(most, least), op.number(1.0), steps)
    nothing = op.edit.constant(np.zeros((), np.uint8), "nothing")
    place = op.Sub(0.0, op.Div(least, scale))
    # Of infinities it is NaN, of which the kernel makes the largest zero point.
    zero = op.QuantizeLinear(op.Where(op.Equal(place, place), place, 255.0), 1.0, nothing)
    return op.QuantizeLinear(x, scale, zero), scale, zero


_BYTES = frozenset({"uint8", "int8"})
_CUT = Bound(
    0,
    remark="of uint8 by int8 on processors with AVX2 and without VNNI the kernel cuts the sum of "
    "two products to 16 bits",
)
_SIGNED, _OTHERS = frozenset({"int8"}), frozenset({"uint8"})

TEMPLATES = (
    Template("MatMulInteger", product_of_integers, _SIGNED, _OTHERS, _CUT),
    Template("QLinearMatMul", quantized_product, _SIGNED, _OTHERS, _CUT),
    Template("QLinearConv", quantized_convolution, _SIGNED, _OTHERS, _CUT),
    Template(
        "DynamicQuantizeLinear",
        quantize_dynamically,
        near=frozenset({"float"}),
        bound=Bound(0, inputs=Inputs.NUMBERS, remark="of NaN another scale may follow"),
    ),
)
"""The templates of operators of quantized tensors."""

_UNOPTIMIZED = "optimizers of ONNX Runtime may compute in integers what was quantized"
_DEQUANTIZE = ("DequantizeLinear.R1", "DequantizeLinear.signature", "DequantizeLinear.types")
_QUANTIZE = tuple(f"QuantizeLinear.{name}" for name in ("R1", "R3", "signature", "types"))

CHANGES = (
    Change(
        "convert scale and zero point to scalars",
        frozenset({"QuantizeLinear.signature", "DequantizeLinear.signature"}),
        remove_quantization_axis,
        verified_of("QuantizeLinear", "DequantizeLinear"),
    ),
    Change(
        "set the axis to its default, because it is not used",
        frozenset({"QuantizeLinear.R1", "DequantizeLinear.R1"}),
        name_default_axis,
        verified_of("QuantizeLinear", "DequantizeLinear"),
    ),
    Change(
        "add a zero point of 0",
        frozenset({"QuantizeLinear.given"}),
        give_zero_point,
        verified_of("QuantizeLinear"),
    ),
    Change(
        "write a difference times the scale",
        frozenset(_DEQUANTIZE),
        dequantize_by_products,
        verified_of("DequantizeLinear"),
        Bound(0, remark=_UNOPTIMIZED),
    ),
    Change(
        "quantize to uint8 with one scale",
        frozenset({*_QUANTIZE, "QuantizeLinear.zero_point"}),
        quantize_to_bytes,
        verified_of("QuantizeLinear"),
        Bound(1, Reference.INTEGER, remark=_UNOPTIMIZED),
    ),
)
"""The changes of QuantizeLinear and DequantizeLinear."""
