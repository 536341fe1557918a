"""The arithmetic operators over the reals, on integers and on floating-point data, exactly.

Over the reals: SONNX Div, typed edition, section "real" (a zero divisor is undefined); SONNX Sub,
preliminary edition, "Informal specification".

On integers: no document among the five states them (SONNX Div, typed edition, section "INT8, INT16,
INT32" is to be completed); truncation towards zero is the project's decision, which agrees with
ONNX and with later drafts. Results are taken modulo 2^n, or rounded, where they
are stored.

On floating-point data: SONNX Div, typed edition, section "FP16, FP32, FP64, BFLOAT16", and
preliminary edition, "Informal specification" and R5; SONNX Sub, preliminary edition. Where they are
silent, and of the other operators, IEEE 754-2019: 6.1 (infinities), 6.2 (NaNs), 6.3 (signs), 7.2
(invalid operations) and 7.3 (division by zero).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, trunc
from types import MappingProxyType

from sonnx_ort.oracle.numbers import (
    NAN,
    POSITIVE_INFINITY,
    BinaryFormat,
    Kind,
    Number,
    finite,
    floor_log2,
    infinity,
    power_of_two,
)
from sonnx_ort.profile.element_type import ElementType


def quotient(a: Fraction, b: Fraction) -> Fraction | None:
    """The quotient of two numbers; None where it is undefined, that is, where b is zero.

    Args:
        a: The dividend.
        b: The divisor.
    """
    return None if b == 0 else a / b


def difference(a: Fraction, b: Fraction) -> Fraction:
    """The difference of two numbers.

    Args:
        a: The minuend.
        b: The subtrahend.
    """
    return a - b


@dataclass(frozen=True, slots=True)
class IntegerFormat:
    """A two's-complement or unsigned integer type.

    Attributes:
        bits: Its width.
        signed: Whether it has negative values.
    """

    bits: int
    signed: bool

    @property
    def smallest(self) -> int:
        """Its smallest value."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def largest(self) -> int:
        """Its largest value."""
        return self.smallest + (1 << self.bits) - 1


def divide_integers(a: int, b: int) -> int | None:
    """The quotient truncated towards zero, of any size; None where b is zero.

    Args:
        a: The dividend.
        b: The divisor.
    """
    exact = quotient(Fraction(a), Fraction(b))
    return None if exact is None else trunc(exact)


def p_relu_integers(x: int, slope: int) -> int:
    """An element that is not negative, or its product with the slope, of any size.

    Args:
        x: The element.
        slope: The slope.
    """
    return x * slope if x < 0 else x


def divide_floats(a: Number, b: Number) -> Number:
    """The quotient, not yet rounded to a format.

    Args:
        a: The dividend.
        b: The divisor.
    """
    negative = a.negative != b.negative
    match a.kind, b.kind:
        case (Kind.NAN, _) | (_, Kind.NAN) | (Kind.INFINITE, Kind.INFINITE):
            return NAN
        case Kind.INFINITE, _:
            return infinity(negative=negative)
        case _, Kind.INFINITE:
            return finite(Fraction(0), negative=negative)
        case _:
            magnitude = quotient(a.magnitude, b.magnitude)
            if magnitude is not None:
                return finite(magnitude, negative=negative)
            return NAN if a.is_zero else infinity(negative=negative)


def divide_floats_by_formula(a: Number, b: Number) -> Number:
    """The quotient of the preliminary edition: +inf wherever b is zero, whatever a is.

    Args:
        a: The dividend.
        b: The divisor.
    """
    return POSITIVE_INFINITY if b.is_zero else divide_floats(a, b)


def multiply_floats(a: Number, b: Number) -> Number:
    """The product, not yet rounded to a format.

    Args:
        a: The one factor.
        b: The other factor.
    """
    negative = a.negative != b.negative
    match a.kind, b.kind:
        case (Kind.NAN, _) | (_, Kind.NAN):
            return NAN
        case (Kind.INFINITE, _) | (_, Kind.INFINITE):
            return NAN if a.is_zero or b.is_zero else infinity(negative=negative)
        case _:
            return finite(a.magnitude * b.magnitude, negative=negative)


def p_relu_floats(x: Number, slope: Number) -> Number:
    """An element that is not below zero, or its product with the slope, not yet rounded.

    Args:
        x: The element; NaN and both zeros are not below zero.
        slope: The slope.
    """
    below_zero = x.negative and not x.is_zero and x.kind is not Kind.NAN
    return multiply_floats(x, slope) if below_zero else x


_ONE = finite(Fraction(1), negative=False)
_ROOT_BITS = 256
"""So many bits of a root decide how it is rounded, with one more for what is left."""


def magnitude_of_float(x: Number) -> Number:
    """The number without its sign; NaN stays NaN.

    Args:
        x: The number.
    """
    return Number(x.kind, negative=False, magnitude=x.magnitude)


def negative_float(x: Number) -> Number:
    """The number with the other sign; NaN stays NaN.

    Args:
        x: The number.
    """
    return Number(x.kind, negative=not x.negative, magnitude=x.magnitude)


def reciprocal_of_float(x: Number) -> Number:
    """1 divided by a number, not yet rounded.

    Args:
        x: The divisor.
    """
    return divide_floats(_ONE, x)


def square_root_of_float(x: Number) -> Number:
    """The square root, to more bits than any format has; NaN of what is below zero.

    Args:
        x: The number; both zeros are their own roots.
    """
    if x.is_zero or x.kind is Kind.NAN:
        return x
    if x.negative:
        return NAN
    if x.kind is Kind.INFINITE:
        return x
    # An even power of two makes the radicand an integer of twice as many bits.
    exponent = 2 * _ROOT_BITS - 2 * (floor_log2(x.magnitude) // 2)
    radicand = x.magnitude * power_of_two(exponent)
    root = isqrt(trunc(radicand))
    inexact = Fraction(root) ** 2 != radicand
    return finite((root + Fraction(int(inexact), 2)) * power_of_two(-exponent // 2), negative=False)


def remainder_of_floats(a: Number, b: Number) -> Number:
    """What is left of a number that another one is taken from, with the sign of the first.

    Args:
        a: The dividend.
        b: The divisor.
    """
    if Kind.NAN in (a.kind, b.kind) or a.kind is Kind.INFINITE or b.is_zero:
        return NAN
    if b.kind is Kind.INFINITE or a.is_zero:
        return a
    times = trunc(a.magnitude / b.magnitude)
    return finite(a.magnitude - times * b.magnitude, negative=a.negative)


def floored_remainder_of_floats(a: Number, b: Number) -> Number:
    """What is left of a number that another one is taken from, with the sign of the other one.

    Source: ONNX Mod, version 28, `fmod` of 0.

    Args:
        a: The dividend.
        b: The divisor.
    """
    left = remainder_of_floats(a, b)
    if left.is_zero:
        return finite(left.magnitude, negative=b.negative)
    if left.kind is Kind.NAN or left.negative == b.negative:
        return left
    if b.kind is Kind.INFINITE:
        return b
    return finite(b.magnitude - left.magnitude, negative=b.negative)


def add_floats(a: Number, b: Number) -> Number:
    """The sum, not yet rounded to a format.

    Args:
        a: The one summand.
        b: The other summand.
    """
    return subtract_floats(a, Number(b.kind, not b.negative, b.magnitude))


def subtract_floats(a: Number, b: Number) -> Number:
    """The difference, not yet rounded to a format.

    Args:
        a: The minuend.
        b: The subtrahend.
    """
    match a.kind, b.kind:
        case (Kind.NAN, _) | (_, Kind.NAN):
            return NAN
        case Kind.INFINITE, Kind.INFINITE:
            return NAN if a.negative == b.negative else a
        case Kind.INFINITE, _:
            return a
        case _, Kind.INFINITE:
            return infinity(negative=not b.negative)
        case _:
            value = difference(a.value, b.value)
            # A zero is negative only as -0 - (+0): an exact difference of equals is +0.
            negative = value < 0 or (value == 0 and a.negative and not b.negative and a.is_zero)
            return finite(abs(value), negative=negative)


FLOAT_FORMATS: Mapping[ElementType, BinaryFormat] = MappingProxyType(
    {
        ElementType.FLOAT16: BinaryFormat(precision=11, exponent_bits=5),
        ElementType.BFLOAT16: BinaryFormat(precision=8, exponent_bits=8),
        ElementType.FLOAT: BinaryFormat(precision=24, exponent_bits=8),
        ElementType.DOUBLE: BinaryFormat(precision=53, exponent_bits=11),
    }
)
"""binary16, binary32 and binary64 of IEEE 754-2019, table 3.5, and bfloat16."""

INTEGER_FORMATS: Mapping[ElementType, IntegerFormat] = MappingProxyType(
    {
        ElementType.INT8: IntegerFormat(8, signed=True),
        ElementType.INT16: IntegerFormat(16, signed=True),
        ElementType.INT32: IntegerFormat(32, signed=True),
        ElementType.INT64: IntegerFormat(64, signed=True),
        ElementType.UINT8: IntegerFormat(8, signed=False),
        ElementType.UINT16: IntegerFormat(16, signed=False),
        ElementType.UINT32: IntegerFormat(32, signed=False),
        ElementType.UINT64: IntegerFormat(64, signed=False),
    }
)
"""The eight integer types of ONNX."""
