"""Exact numbers and their comparison.

IEEE 754-2019: 5.11 (a NaN is unordered, zeros of both signs are equal), and 9.6, maximum and
minimum (a NaN gives NaN, and 0 is larger than -0).
"""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Final


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
