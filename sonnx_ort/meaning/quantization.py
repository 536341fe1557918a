"""QuantizeLinear and DequantizeLinear.

Sources: the drafts of the working group of these names, section "Function". They have scalars and
one pair of types each, float to uint8 and int32 to float; for vectors of scales and other types
ONNX QuantizeLinear and DequantizeLinear, version 28.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.meaning.balls import NotFollowedError, ball_type, ends
from sonnx_ort.meaning.division import divide
from sonnx_ort.meaning.elementwise import is_narrow
from sonnx_ort.meaning.functions import size
from sonnx_ort.meaning.lines import Lines, Numbers, first_lines, of_arrays
from sonnx_ort.meaning.node import BallNode, Node
from sonnx_ort.meaning.numbers import (
    FLOAT_FORMATS,
    INTEGER_FORMATS,
    Array,
    BinaryFormat,
    Exact,
    IntegerFormat,
    Kind,
    Number,
    decode,
    encode,
    encoded_elements,
    nearest_integer,
    number,
    tensor,
    type_numbered,
)
from sonnx_ort.meaning.results import (
    EXACT,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
    mask,
)
from sonnx_ort.profile.element_type import ElementType

if TYPE_CHECKING:
    from flint import arb


_SCALED = "the difference and the product are each rounded to 16 bits, or the product alone (ours)"


def quantize_linear(node: Node) -> tuple[Result, ...]:
    """QuantizeLinear: round(X / y_scale) + y_zero_point, clamped to the type of the zero point.

    The quotient is rounded in the type of y_scale, or in that of `precision`; then to an integer,
    ties to even. An infinite X, and a quotient that is NaN, have no defined result.

    Raises:
        NotDefinedError: A scale is zero, the zero points have another shape than the scales, or the
            result is no integer of a standard width.
        ValueError: The scales are for blocks, or a scale may be zero.
    """
    shape, quantized_type = node.operand(0).shape, _result_type(node, 2, ElementType.UINT8)
    limits = INTEGER_FORMATS.get(quantized_type)
    if limits is None:
        raise NotDefinedError(f"{quantized_type} is no integer type")
    places = _with_scales(node)
    if isinstance(node, BallNode):
        made = tensor((_quantized_ball(node, *place, limits) for place in places), shape)
        return (exactly(integers_or_balls(made, quantized_type.dtype)),)
    if any(scale.is_zero for scale in node.exact(1).ravel().tolist()):
        raise NotDefinedError("y_scale is 0")
    binary = _precision(node)
    quantized = [_quantized(*place, limits, binary) for place in places]
    undefined = mask((each is None for each in quantized), shape)
    encoded = encoded_elements(tensor((each or 0 for each in quantized), shape), quantized_type)
    return (exactly(encoded, undefined, "X / y_scale is NaN, or X infinite"),)


def _quantized(
    x: Number | int, scale: Number, zero: int, limits: IntegerFormat, binary: BinaryFormat | None
) -> int | None:
    dividend = x if isinstance(x, Number) else number(x)
    quotient = _rounded(_rounded(dividend, binary) / scale, binary)
    if quotient.kind is Kind.NAN or dividend.kind is Kind.INFINITE:
        return None
    return _level(quotient, zero, limits)


def _level(quotient: Number, zero: int, limits: IntegerFormat) -> int:
    """The integer nearest to a quotient, moved by the zero point and clamped."""
    if quotient.kind is Kind.INFINITE:
        return limits.smallest if quotient.negative else limits.largest
    level = nearest_integer(quotient.magnitude) * (-1 if quotient.negative else 1)
    return max(limits.smallest, min(limits.largest, zero + level))


def _quantized_ball(
    node: BallNode, x: "arb", scale: "arb", zero: int, limits: IntegerFormat
) -> "arb":
    """A ball around all integers that are possible."""
    ball = ball_type()
    quotient = node.rounded(divide(x, scale))
    if not quotient.is_finite():
        return ball(limits.smallest).union(ball(limits.largest))
    lower, upper = (_level(number(end), zero, limits) for end in ends(quotient))
    return ball(lower) if lower == upper else ball(lower).union(ball(upper))


def _rounded(datum: Number, binary: BinaryFormat | None) -> Number:
    """The number rounded to a format; as it is over the reals."""
    return datum if binary is None else decode(encode(datum, binary), binary)


def _result_type(node: Node, place: int, otherwise: ElementType) -> ElementType:
    """The type that the node says, else that of an operand, or another if this is omitted."""
    chosen = node.integer("output_dtype", 0)
    if chosen:
        return type_numbered(chosen)
    # Integers have a type beside balls too.
    given = None if node.optional(place) is None else Node.element_type(node, place)
    return given or otherwise


def _precision(node: Node) -> BinaryFormat | None:
    chosen = node.integer("precision", 0)
    return FLOAT_FORMATS[type_numbered(chosen)] if chosen else node.format(1)


def _with_scales(node: Node) -> Iterator[tuple[Any, Any, Any]]:
    """Each element of the first operand with its scale and its zero point."""
    x, scales = node.operand(0), node.exact(1)
    given = [0] * scales.size if node.optional(2) is None else node.known(2).ravel().tolist()
    if node.optional(2) is not None and node.operand(2).shape != scales.shape:
        zero_points = f"zero points {node.operand(2).shape}"
        raise NotDefinedError(f"{zero_points} do not belong to scales {scales.shape}")
    along = _shape_along_axis(node, x.shape, scales.shape)
    spread = (each.reshape(along) for each in (scales, tensor(given, scales.shape)))
    operands = (node.exact(0), *(np.broadcast_to(each, x.shape) for each in spread))
    return zip(*(each.ravel().tolist() for each in operands), strict=True)


def _shape_along_axis(node: Node, x: tuple[int, ...], scales: tuple[int, ...]) -> list[int]:
    """The shape of scales that are broadcast to the first operand."""
    if not scales or (scales == (1,) and len(x) < 2):
        return []
    axis = node.integer("axis", 1)
    if node.integer("block_size", 0) or len(scales) > 1:
        raise ValueError("scales for blocks are not computed")
    if not -len(x) <= axis < len(x) or scales != (x[axis],):
        raise NotDefinedError(f"scales {scales} do not belong to axis {axis} of {x}")
    return [-1 if k == axis % len(x) else 1 for k in range(len(x))]


def lines_of_quantization(node: Node, operands: Numbers) -> Lines | None:
    """Lines of one element, with its scale and its zero point, or with those of all elements."""
    x, scales = of_arrays(operands[:2])
    if scales.ndim > 1:
        return None
    along, attributes = (
        _shape_along_axis(node, x.shape, scales.shape),
        {**node.attributes, "axis": 0},
    )
    if not along:
        return replace(first_lines(node, operands), attributes=attributes)
    others = (each if each is None else each.reshape(along) for each in operands[1:])
    spread = [None if each is None else np.broadcast_to(each, x.shape) for each in others]
    return Lines(x.shape, [x, *spread], attributes, together=True)


def dequantize_linear(node: Node) -> tuple[Elements, ...]:
    """DequantizeLinear: float(X - x_zero_point) * x_scale.

    The difference of int32 wraps, as the draft says, and is rounded to float before the product is.
    16-bit floats are ONNX's only, which does not say what is rounded.

    Raises:
        NotDefinedError: The scales do not belong to the axis, or the zero points not to them.
        ValueError: The scales are for blocks.
    """
    made = (_dequantized(node, *place) for place in _with_scales(node))
    result_type = None if isinstance(node, BallNode) else _result_type(node, 1, ElementType.FLOAT)
    wide = result_type is not None and not is_narrow(FLOAT_FORMATS[result_type])
    bound = EXACT if wide else _SCALED
    return (Elements(tensor(made, node.operand(0).shape), result_type, bound),)


def _dequantized(node: Node, x: Any, scale: Any, zero: int) -> Any:
    """A difference and a product, each of which may be rounded to 16 bits."""
    difference = x - zero
    limits = INTEGER_FORMATS[ElementType.INT32]
    if isinstance(node, BallNode):
        if not (difference >= limits.smallest and difference <= limits.largest):
            raise NotFollowedError("a difference may be outside int32")
        factor, binary = difference + 0 * scale, node.binary
    else:
        if node.element_type(0) is ElementType.INT32:
            difference = (difference - limits.smallest) % (1 << limits.bits) + limits.smallest
        factor = number(difference)
        binary = FLOAT_FORMATS[_result_type(node, 1, ElementType.FLOAT)]
        if not is_narrow(binary):
            return Enclosed(_rounded(factor, binary) * scale)
    return node.rounded(factor * scale, 2, reach=(size(factor),), underflow=1, binary=binary)


def integers_or_balls(elements: Exact, dtype: npt.DTypeLike) -> Array:
    """Integers of a dtype if all balls are integers; else the balls."""
    if all(each.is_exact() for each in elements.ravel()):
        whole = [int(each.unique_fmpz()) for each in elements.ravel()]
        return np.array(whole, dtype).reshape(elements.shape)
    return elements
