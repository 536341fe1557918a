"""Exact arithmetic operators over the reals, on integers and on floating-point data.

Over the reals: SONNX Div, typed edition, section "real" (a zero divisor is undefined); SONNX Sub,
preliminary edition, "Informal specification".

On integers: none of the five documents states them (SONNX Div, typed edition, section "INT8, INT16,
INT32" is to be completed). This project decided on truncation towards zero, as ONNX and later
drafts do. Results are stored modulo 2^n, or rounded.

On floating-point data: SONNX Div, typed edition, section "FP16, FP32, FP64, BFLOAT16", and
preliminary edition, "Informal specification" and R5; SONNX Sub, preliminary edition. Where they are
silent, and for the other operators, IEEE 754-2019: 6.1 (infinities), 6.2 (NaNs), 6.3 (signs), 7.2
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
    scaled,
)
from sonnx_ort.profile.element_type import ElementType


def quotient(a: Fraction, b: Fraction) -> Fraction | None:
    """The quotient a / b; None if b is zero."""
    return None if b == 0 else a / b


def difference(a: Fraction, b: Fraction) -> Fraction:
    """The difference a - b."""
    return a - b


@dataclass(frozen=True, slots=True)
class IntegerFormat:
    """A two's-complement or unsigned integer type with a width in bits."""

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
    """The quotient a / b truncated towards zero, of any size; None if b is zero."""
    exact = quotient(Fraction(a), Fraction(b))
    return None if exact is None else trunc(exact)


def p_relu_integers(x: int, slope: int) -> int:
    """The element x if it is not negative, else x * slope, of any size."""
    return x * slope if x < 0 else x


def divide_floats(a: Number, b: Number) -> Number:
    """The quotient a / b, not yet rounded."""
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
    """The quotient of the preliminary edition: +inf whenever b is zero, for any a."""
    return POSITIVE_INFINITY if b.is_zero else divide_floats(a, b)


def multiply_floats(a: Number, b: Number) -> Number:
    """The product, not yet rounded."""
    negative = a.negative != b.negative
    match a.kind, b.kind:
        case (Kind.NAN, _) | (_, Kind.NAN):
            return NAN
        case (Kind.INFINITE, _) | (_, Kind.INFINITE):
            return NAN if a.is_zero or b.is_zero else infinity(negative=negative)
        case _:
            return finite(a.magnitude * b.magnitude, negative=negative)


def p_relu_floats(x: Number, slope: Number) -> Number:
    """The element x if it is not below zero, else x * slope, not yet rounded.

    NaN and both zeros are not below zero.
    """
    below_zero = x.negative and not x.is_zero and x.kind is not Kind.NAN
    return multiply_floats(x, slope) if below_zero else x


_ONE = finite(Fraction(1), negative=False)
_ROOT_BITS = 256
"""Bits of a root, sufficient for correct rounding together with one sticky bit."""


def magnitude_of_float(x: Number) -> Number:
    """The absolute value; NaN stays NaN."""
    return Number(x.kind, negative=False, magnitude=x.magnitude)


def negative_float(x: Number) -> Number:
    """The negated number; NaN stays NaN."""
    return Number(x.kind, negative=not x.negative, magnitude=x.magnitude)


def reciprocal_of_float(x: Number) -> Number:
    """1 / x, not yet rounded."""
    return divide_floats(_ONE, x)


def square_root_of_float(x: Number) -> Number:
    """The square root with more bits than any format; NaN below zero, and each zero for itself."""
    if x.is_zero or x.kind is Kind.NAN:
        return x
    if x.negative:
        return NAN
    if x.kind is Kind.INFINITE:
        return x
    # Scaling by an even power of two makes the radicand an integer with twice the bits.
    exponent = 2 * _ROOT_BITS - 2 * (floor_log2(x.magnitude) // 2)
    numerator, denominator = scaled(x.magnitude.numerator, x.magnitude.denominator, exponent)
    root = isqrt(numerator // denominator)
    inexact = root * root * denominator != numerator
    magnitude = Fraction(*scaled(2 * root + inexact, 2, -exponent // 2))
    return finite(magnitude, negative=False)


def remainder_of_floats(a: Number, b: Number) -> Number:
    """The remainder of a / b truncated, with the sign of a."""
    if Kind.NAN in (a.kind, b.kind) or a.kind is Kind.INFINITE or b.is_zero:
        return NAN
    if b.kind is Kind.INFINITE or a.is_zero:
        return a
    quotient_times = trunc(a.magnitude / b.magnitude)
    return finite(a.magnitude - quotient_times * b.magnitude, negative=a.negative)


def floored_remainder_of_floats(a: Number, b: Number) -> Number:
    """The remainder of a / b floored, with the sign of b.

    Source: ONNX Mod, version 28, `fmod` of 0.
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
    """The sum, not yet rounded."""
    return subtract_floats(a, Number(b.kind, not b.negative, b.magnitude))


def subtract_floats(a: Number, b: Number) -> Number:
    """The difference a - b, not yet rounded."""
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
            # Only -0 - (+0) is -0; the difference of equal numbers is +0.
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
