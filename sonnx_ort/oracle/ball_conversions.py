"""Cast, QuantizeLinear and DequantizeLinear on balls: between floats, integers and bools.

Sources: `elements` for Cast, `quantization` for the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS, INTEGER_FORMATS
from sonnx_ort.oracle.ball_elements import FLOAT_PRECISION, divided, size_of_first, truncated
from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    NotFollowedError,
    Operation,
    are_balls,
    balls,
    mapped,
)
from sonnx_ort.oracle.elements import TYPES, Exact, encoded_elements
from sonnx_ort.oracle.functions import exact_end
from sonnx_ort.oracle.intervals import ball_type
from sonnx_ort.oracle.numbers import power_of_two
from sonnx_ort.profile.element_type import ElementType, Family

if TYPE_CHECKING:
    from flint import arb


def _cast(node: BallNode) -> tuple[Array, ...]:
    target = TYPES.get(node.integer("to", 0))
    if target is None:
        raise NotFollowedError("it casts to a type of which nothing is known")
    x = node.operand(0)
    if target.family is Family.FLOAT:
        return (_cast_to_float(node, balls(x), target),)
    if not are_balls(x):
        kept = [int(each) for each in x.ravel().tolist()]
        if target is ElementType.BOOL:
            return (x.astype(np.bool_),)
        return (encoded_elements(kept, target).reshape(x.shape),)
    convert = _truth if target is ElementType.BOOL else _integer_of(target)
    return (mapped(convert, x).astype(target.dtype),)


def _cast_to_float(node: BallNode, x: Exact, target: ElementType) -> Exact:
    """Numbers in another format, by way of float to the narrow ones."""
    if node.binary is None:
        return x
    binary = FLOAT_FORMATS[target]
    there = replace(node, binary=binary)
    roundings = 2 if binary.precision < FLOAT_PRECISION else 1
    held = power_of_two(binary.precision).numerator

    def converted(each: "arb") -> "arb":
        small = each.is_exact() and each.is_integer() and abs(each) <= held
        return each if small else there.rounded(each, roundings)

    return mapped(converted, x)


def _truth(x: "arb") -> bool:
    if x == 0 or x != 0:
        return bool(x != 0)
    raise NotFollowedError("a number is too close to 0 to be cast to a bool")


def _integer_of(target: ElementType) -> "Callable[[arb], int]":
    limits = INTEGER_FORMATS[target]

    def convert(x: "arb") -> int:
        if not (x > limits.smallest - 1 and x < limits.largest + 1):
            raise NotFollowedError(f"a number may be outside {target}")
        whole = truncated(x)
        if whole is None:
            raise NotFollowedError("a number is too close to an integer to be truncated")
        return int(whole)

    return convert


def integers_or_balls(elements: Exact, dtype: npt.DTypeLike) -> Array:
    """Integers of a dtype if all balls are integers; else the balls."""
    if all(each.is_exact() for each in elements.ravel()):
        whole = [int(each.unique_fmpz()) for each in elements.ravel()]
        return np.array(whole, dtype).reshape(elements.shape)
    return elements


def _quantize(node: BallNode) -> tuple[Array, ...]:
    """QuantizeLinear: a ball around all integers that are possible."""
    ball = ball_type()
    zeros = node.optional(2)
    if zeros is not None:
        dtype: np.dtype[Any] = node.known(2).dtype
    else:
        dtype = TYPES[node.integer("output_dtype", 0) or 2].dtype
    if dtype.kind not in "iu":
        raise NotFollowedError("its results are no integers of a standard width")
    limits = np.iinfo(dtype)

    def end(quotient: "arb", zero: int) -> int:
        near = quotient.max(int(limits.min) - zero - 1).min(int(limits.max) - zero + 1)
        return max(int(limits.min), min(int(limits.max), round(exact_end(near)) + zero))

    def of_element(x: "arb", scale: "arb", zero: int) -> "arb":
        quotient = divided(node, x, scale)
        if not quotient.is_finite():
            lower, upper = int(limits.min), int(limits.max)
        else:
            lower, upper = (end(each, zero) for each in (quotient.lower(), quotient.upper()))
        return ball(lower) if lower == upper else ball(lower).union(ball(upper))

    zero = np.zeros((), object) if zeros is None else zeros
    scale, zero = (_along_axis(node, each) for each in (node.operand(1), zero))
    return (integers_or_balls(mapped(of_element, node.operand(0), scale, zero), dtype),)


def _dequantize(node: BallNode) -> tuple[Array, ...]:
    """DequantizeLinear: a difference and a product, each of which may be rounded."""
    zero = np.zeros((), object) if node.optional(2) is None else node.known(2)
    scale, zero = (_along_axis(node, each) for each in (node.operand(1), zero))
    limits = INTEGER_FORMATS[ElementType.INT32]

    def of_element(x: Any, factor: "arb", subtrahend: int) -> "arb":
        difference = x - subtrahend
        if not (difference >= limits.smallest and difference <= limits.largest):
            raise NotFollowedError("a difference may be outside int32")
        return node.rounded(difference * factor, 3, reach=abs(difference + 0 * factor))

    return (mapped(of_element, node.operand(0), scale, zero),)


def _along_axis(node: BallNode, per_slice: Array) -> Array:
    """Scales or zero points in a shape that is broadcast to that of the first operand."""
    x, axis = node.operand(0), node.integer("axis", 1)
    if per_slice.ndim == 0 or (per_slice.shape == (1,) and x.ndim < 2):
        return per_slice.reshape(())
    if node.integer("block_size", 0) or per_slice.ndim > 1:
        raise NotFollowedError("its scales are for blocks")
    if not -x.ndim <= axis < x.ndim or per_slice.shape != (x.shape[axis],):
        raise NotFollowedError("its scales do not belong to the axis")
    return per_slice.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])


CONVERSIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "Cast": Operation(_cast, size_of_first, exact=True),
        "DequantizeLinear": Operation(_dequantize, size_of_first),
        "QuantizeLinear": Operation(_quantize, size_of_first),
    }
)
"""The operators that convert."""
