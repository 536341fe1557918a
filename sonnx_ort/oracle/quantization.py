"""QuantizeLinear and DequantizeLinear.

Sources: the drafts of the working group of these names, section "Function". They have scalars and
one pair of types each, float to uint8 and int32 to float; for vectors of scales and other types
ONNX QuantizeLinear and DequantizeLinear, version 28.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import (
    FLOAT_FORMATS,
    INTEGER_FORMATS,
    IntegerFormat,
    divide_floats,
    multiply_floats,
)
from sonnx_ort.oracle.elements import Exact, encoded_elements, type_numbered
from sonnx_ort.oracle.enclosure import half_a_subnormal, relative_error
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import (
    BinaryFormat,
    Kind,
    Number,
    decode,
    encode,
    nearest_integer,
)
from sonnx_ort.oracle.results import (
    EXACT,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
    number,
    point,
    tensor,
)
from sonnx_ort.profile.element_type import ElementType

Array = npt.NDArray[Any]
Indices = tuple[int, ...]

_NEITHER = "X / y_scale is NaN, or X infinite"
_SCALED = "the difference and the product are each rounded to 16 bits, or the product alone (ours)"
_NARROW = (ElementType.FLOAT16, ElementType.BFLOAT16)
_FLOAT_PRECISION = FLOAT_FORMATS[ElementType.FLOAT].precision


def quantize_linear(node: Node) -> tuple[Result, ...]:
    """QuantizeLinear: round(X / y_scale) + y_zero_point, clamped to the type of the zero point.

    The quotient is rounded in the type of y_scale, or in that of `precision`; then to an integer,
    ties to even. An infinite X, and a quotient that is NaN, have no defined result.

    Raises:
        NotDefinedError: A scale is zero, the zero points have another shape than the scales, or the
            result is no integer of a standard width.
        ValueError: The scales are for blocks.
    """
    x, scales = node.exact(0), node.exact(1)
    if any(scale.is_zero for scale in scales.ravel().tolist()):
        raise NotDefinedError("y_scale is 0")
    quantized_type = _result_type(node, 2, ElementType.UINT8)
    limits = INTEGER_FORMATS.get(quantized_type)
    if limits is None:
        raise NotDefinedError(f"{quantized_type} is no integer type")
    binary = _precision(node)
    place = _scale_of(node)
    zeros = _zero_points(node, scales.shape)
    quantized = [
        _quantized(
            x.item(*index), scales.item(*place(index)), zeros.item(*place(index)), limits, binary
        )
        for index in np.ndindex(x.shape)
    ]
    undefined = np.array([each is None for each in quantized], np.bool_).reshape(x.shape)
    encoded = encoded_elements([each or 0 for each in quantized], quantized_type)
    return (exactly(encoded.reshape(x.shape), undefined, _NEITHER),)


def _quantized(
    x: Number | int, scale: Number, zero: int, limits: IntegerFormat, binary: BinaryFormat | None
) -> int | None:
    dividend = x if isinstance(x, Number) else number(Fraction(x))
    quotient = _rounded(divide_floats(_rounded(dividend, binary), scale), binary)
    if quotient.kind is Kind.NAN or dividend.kind is Kind.INFINITE:
        return None
    if quotient.kind is Kind.INFINITE:
        return limits.smallest if quotient.negative else limits.largest
    level = nearest_integer(quotient.magnitude)
    return max(
        limits.smallest, min(limits.largest, zero + (-level if quotient.negative else level))
    )


def _rounded(datum: Number, binary: BinaryFormat | None) -> Number:
    """The number rounded to a format; as it is over the reals."""
    return datum if binary is None else decode(encode(datum, binary), binary)


def _result_type(node: Node, place: int, otherwise: ElementType) -> ElementType:
    """The type that the node says, else that of an operand, or another if this is left out."""
    chosen = node.integer("output_dtype", 0)
    if chosen:
        return type_numbered(chosen)
    return (node.element_type(place) if node.optional(place) is not None else None) or otherwise


def _precision(node: Node) -> BinaryFormat | None:
    chosen = node.integer("precision", 0)
    return FLOAT_FORMATS[type_numbered(chosen)] if chosen else node.format(1)


def _scale_of(node: Node) -> Callable[[Indices], Indices]:
    """The index of the scale of an element."""
    x, scales = node.operand(0), node.operand(1)
    if scales.ndim == 0:
        return lambda _: ()
    if scales.shape == (1,) and x.ndim < 2:
        return lambda _: (0,)
    axis = node.integer("axis", 1)
    if node.integer("block_size", 0) or scales.ndim > 1:
        raise ValueError("scales for blocks are not computed")
    if not -x.ndim <= axis < x.ndim or scales.shape != (x.shape[axis],):
        raise NotDefinedError(f"scales {scales.shape} do not belong to axis {axis} of {x.shape}")
    return lambda index: (index[axis],)


def _zero_points(node: Node, shape: tuple[int, ...]) -> Exact:
    """The zero points, which have the shape of the scales; 0 if they are left out."""
    if node.optional(2) is None:
        return np.zeros(shape, object)
    zeros = node.exact(2)
    if zeros.shape != shape:
        raise NotDefinedError(f"zero points {zeros.shape} do not belong to scales {shape}")
    return zeros


def dequantize_linear(node: Node) -> tuple[Elements, ...]:
    """DequantizeLinear: float(X - x_zero_point) * x_scale.

    The difference of int32 wraps, as the draft says, and is rounded to float before the product is.
    16-bit floats are ONNX's only, which does not say what is rounded.

    Raises:
        NotDefinedError: The scales do not belong to the axis, or the zero points not to them.
        ValueError: The scales are for blocks.
    """
    x, scales, place = node.exact(0), node.exact(1), _scale_of(node)
    zeros = _zero_points(node, scales.shape)
    result_type = _result_type(node, 1, ElementType.FLOAT)
    binary = FLOAT_FORMATS[result_type]
    wraps = node.element_type(0) is ElementType.INT32
    elements = []
    for index in np.ndindex(x.shape):
        difference = x[index] - zeros[place(index)]
        if wraps:
            difference = (difference + (1 << 31)) % (1 << 32) - (1 << 31)
        elements.append(_product(difference, scales[place(index)], binary))
    bound = _SCALED if result_type in _NARROW else EXACT
    return (Elements(tensor(elements, x.shape), result_type, bound),)


def _product(difference: int, scale: Number, binary: BinaryFormat) -> Enclosed:
    factor = number(Fraction(difference))
    if binary.precision >= _FLOAT_PRECISION:
        return point(multiply_floats(_rounded(factor, binary), scale))
    product = multiply_floats(factor, scale)
    if product.kind is not Kind.FINITE:
        return point(product)
    error = relative_error(2, binary) * product.magnitude + half_a_subnormal(binary)
    return Enclosed(product, product, error, factor.magnitude)
