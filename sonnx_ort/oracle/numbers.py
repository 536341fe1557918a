"""Exact numbers, their comparison, and arithmetic on them: reals, integers and data of floats.

Exact numbers and their comparison. IEEE 754-2019: 5.11 (a NaN is unordered, zeros of both signs are
equal), and 9.6, maximum and minimum (a NaN gives NaN, and 0 is larger than -0).

Exact arithmetic operators over the reals, on integers and on floating-point data. Over the reals:
SONNX Div, typed edition, section "real" (a zero divisor is undefined); SONNX Sub, preliminary
edition, "Informal specification".

On integers: none of the five documents states them (SONNX Div, typed edition, section "INT8, INT16,
INT32" is to be completed). This project decided on truncation towards zero, as ONNX and later
drafts do. Results are stored modulo 2^n, or rounded.

On floating-point data: SONNX Div, typed edition, section "FP16, FP32, FP64, BFLOAT16", and
preliminary edition, "Informal specification" and R5; SONNX Sub, preliminary edition. Where they are
silent, and for the other operators, IEEE 754-2019: 6.1 (infinities), 6.2 (NaNs), 6.3 (signs), 7.2
(invalid operations) and 7.3 (division by zero).
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt, trunc
from types import MappingProxyType
from typing import Any, Final

from sonnx_ort.profile.element_type import ElementType


class Kind(enum.Enum):
    """The three kinds of floating-point data (IEEE 754-2019, 3.3)."""

    FINITE = enum.auto()
    INFINITE = enum.auto()
    NAN = enum.auto()


@dataclass(frozen=True, slots=True)
class Number:
    """A floating-point datum: a sign, and a magnitude if it is finite.

    Attributes:
        kind: Finite, infinity or NaN.
        negative: Its sign; also for zeros, but meaningless for NaN.
        magnitude: Its absolute value; zero if it is not finite.
    """

    kind: Kind
    negative: bool
    magnitude: Fraction

    @property
    def is_zero(self) -> bool:
        """Whether it is a zero of either sign."""
        return self.kind is Kind.FINITE and self.magnitude == 0

    @property
    def value(self) -> Fraction:
        """The signed value of a finite datum; zero for both zeros."""
        return -self.magnitude if self.negative else self.magnitude


NAN: Final = Number(Kind.NAN, negative=False, magnitude=Fraction(0))
POSITIVE_INFINITY: Final = Number(Kind.INFINITE, negative=False, magnitude=Fraction(0))


def finite(magnitude: Fraction, *, negative: bool) -> Number:
    """A finite datum."""
    return Number(Kind.FINITE, negative, magnitude)


def infinity(*, negative: bool) -> Number:
    """An infinity."""
    return Number(Kind.INFINITE, negative, Fraction(0))


@dataclass(frozen=True, slots=True)
class BinaryFormat:
    """A binary floating-point format with gradual underflow, infinities and NaNs.

    Attributes:
        precision: The number of significant bits, including the implicit one: p of IEEE 754.
        exponent_bits: The width of the exponent field: w of IEEE 754.
    """

    precision: int
    exponent_bits: int

    @property
    def largest_exponent(self) -> int:
        """The exponent of the largest finite number: emax of IEEE 754."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def smallest_exponent(self) -> int:
        """The exponent of the smallest normal number: emin of IEEE 754."""
        return 1 - self.largest_exponent


def floor_log2(value: Fraction) -> int:
    """The exponent e with 2^e <= value < 2^(e + 1), for a positive value."""
    numerator, denominator = value.numerator, value.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    above, below = scaled(numerator, denominator, -exponent)
    return exponent if below <= above else exponent - 1


@cache
def power_of_two(exponent: int) -> Fraction:
    """2^exponent, for any integer exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def upper_bound(value: Fraction) -> Fraction:
    """A dyadic number of 64 bits that is not below a nonnegative one, for bounds of errors."""
    if value == 0:
        return value
    exponent = floor_log2(value) - 63
    above, below = scaled(value.numerator, value.denominator, -exponent)
    return Fraction(*scaled(-(-above // below), 1, exponent))


def nearest_integer(value: Fraction) -> int:
    """The integer nearest to a nonnegative number, ties to even."""
    return _nearest_quotient(value.numerator, value.denominator)


def _nearest_quotient(numerator: int, denominator: int) -> int:
    floor, remainder = divmod(numerator, denominator)
    doubled = 2 * remainder
    return floor + (doubled > denominator or (doubled == denominator and floor % 2 == 1))


def scaled(numerator: int, denominator: int, exponent: int) -> tuple[int, int]:
    """A fraction times 2^exponent, not reduced."""
    if exponent < 0:
        return numerator, denominator << -exponent
    return numerator << exponent, denominator


def decode(bits: int, binary_format: BinaryFormat) -> Number:
    """The number for a bit pattern, given as an unsigned integer."""
    fraction_bits = binary_format.precision - 1
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = (bits >> fraction_bits) & _all_ones(binary_format)
    negative = bool(bits >> (fraction_bits + binary_format.exponent_bits))
    if exponent == _all_ones(binary_format):
        return NAN if fraction else infinity(negative=negative)
    significand = fraction if exponent == 0 else fraction | (1 << fraction_bits)
    power = max(exponent, 1) - binary_format.largest_exponent - fraction_bits
    return finite(Fraction(*scaled(significand, 1, power)), negative=negative)


def encode(number: Number, binary_format: BinaryFormat) -> int:
    """The bit pattern of a datum, rounded to nearest even; NaN is the positive quiet one."""
    fraction_bits = binary_format.precision - 1
    sign = int(number.negative) << (fraction_bits + binary_format.exponent_bits)
    infinite = _all_ones(binary_format) << fraction_bits
    match number.kind:
        case Kind.NAN:
            return infinite | (1 << (fraction_bits - 1))
        case Kind.INFINITE:
            return sign | infinite
        case Kind.FINITE:
            return sign | min(infinite, _rounded_bits(number.magnitude, binary_format))


def _rounded_bits(magnitude: Fraction, binary_format: BinaryFormat) -> int:
    """The exponent and fraction fields of a magnitude rounded to nearest, ties to even.

    A significand that is rounded up to the next power of two carries into the exponent.
    """
    if magnitude == 0:
        return 0
    fraction_bits = binary_format.precision - 1
    exponent = max(floor_log2(magnitude), binary_format.smallest_exponent)
    ends = scaled(magnitude.numerator, magnitude.denominator, fraction_bits - exponent)
    place = exponent - binary_format.smallest_exponent
    return (place << fraction_bits) + _nearest_quotient(*ends)


def _all_ones(binary_format: BinaryFormat) -> int:
    return (1 << binary_format.exponent_bits) - 1


_Place = tuple[int, Fraction]


def equal(a: Number, b: Number) -> bool:
    """Whether two numbers are equal; NaN equals nothing."""
    return _ordered(a, b) and _place(a) == _place(b)


def less(a: Number, b: Number) -> bool:
    """Whether a < b."""
    return _ordered(a, b) and _place(a) < _place(b)


def less_or_equal(a: Number, b: Number) -> bool:
    """Whether a <= b."""
    return less(a, b) or equal(a, b)


def precedes(x: Any, y: Any) -> bool:
    """Whether x < y, for numbers or integers."""
    return less(x, y) if isinstance(x, Number) else x < y


def largest(*data: Number) -> Number:
    """The largest of at least one datum, or NaN if any is NaN."""
    return _at_the_end(max, data)


def smallest(*data: Number) -> Number:
    """The smallest of at least one datum, or NaN if any is NaN."""
    return _at_the_end(min, data)


def _at_the_end(end: Callable[..., Number], data: Sequence[Number]) -> Number:
    if any(datum.kind is Kind.NAN for datum in data):
        return NAN
    return end(data, key=lambda datum: (_place(datum), not datum.negative))


def _ordered(a: Number, b: Number) -> bool:
    return Kind.NAN not in (a.kind, b.kind)


def _place(datum: Number) -> _Place:
    """A sort key: an infinite end, or a fraction."""
    if datum.kind is Kind.INFINITE:
        return (-1 if datum.negative else 1), Fraction(0)
    return 0, datum.value


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
