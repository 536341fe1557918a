"""Functions that are enclosed in balls: logarithms, powers, angles.

Needs python-flint, the extra `oracle`; nothing else in the package does.

A result is exact where it is rational. Elsewhere it is the middle between two neighbours of 256
bits that it lies between, so that rounding it to a format gives what rounding the result itself
would: no format has a number, nor a midpoint of two, strictly between such neighbours.

Logarithm: SONNX Log, draft, sections on reals and on floats. Angle: SONNX Acos, draft. Power: SONNX
Pow, draft, and IEEE 754-2019, 9.2.1, pow, for infinities, zeros and NaNs, of which the draft's
table is not finished.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt, trunc
from typing import TYPE_CHECKING

from sonnx_ort.oracle.numbers import (
    NAN,
    POSITIVE_INFINITY,
    Kind,
    Number,
    finite,
    floor_log2,
    infinity,
    power_of_two,
)

if TYPE_CHECKING:
    from flint import arb

Ends = tuple[Fraction, Fraction]
"""Two rationals, with a number between them."""


def logarithm(x: Fraction, bits: int) -> Ends:
    """Enclose the natural logarithm.

    Args:
        x: A positive number.
        bits: The precision of what is computed on the way.
    """
    return _ends(lambda ball: ball.log(), bits, x)


def angle(x: Fraction, bits: int) -> Ends:
    """Enclose the angle between 0 and pi whose cosine a number is.

    Args:
        x: A number between -1 and 1.
        bits: The precision of what is computed on the way.
    """
    return _ends(lambda ball: ball.acos(), bits, x)


def power(x: Fraction, y: Fraction, bits: int) -> Ends:
    """Enclose a power.

    Args:
        x: A positive number.
        y: The exponent; the power has to be one whose binary logarithm is no large number.
        bits: The precision of what is computed on the way.
    """
    return _ends(lambda base, exponent: base**exponent, bits, x, y)


def _ends(compute: "Callable[..., arb]", bits: int, *numbers: Fraction) -> Ends:
    """The ends of the ball that is computed of the smallest balls around some numbers."""
    import flint  # noqa: PLC0415 - the package does without it

    with flint.ctx.workprec(bits):
        quotients = [flint.fmpq(number.numerator, number.denominator) for number in numbers]
        ball = compute(*map(flint.arb, quotients))
        return _exact(ball.lower()), _exact(ball.upper())


def _exact(end: "arb") -> Fraction:
    significand, exponent = end.man_exp()
    return Fraction(int(significand)) * power_of_two(int(exponent))


Enclose = Callable[[int], tuple[Fraction, Fraction]]
"""Gives two rationals with a number between them, which are closer for more bits."""

_BITS = 256
"""So many bits, more than any format has, and what is left decide how a number is rounded."""

_BEYOND = 2048
"""Two to this is infinite in every format, two to its negative rounds to zero."""

_ONE = finite(Fraction(1), negative=False)
_ZERO = finite(Fraction(0), negative=False)


def logarithm_of_float(x: Number) -> Number:
    """The natural logarithm; -inf of both zeros, NaN of what is below zero.

    Args:
        x: The number.
    """
    if x.kind is Kind.NAN:
        return NAN
    if x.is_zero:
        return infinity(negative=True)
    if x.negative or x.kind is Kind.INFINITE:
        return NAN if x.negative else x
    if x.magnitude == 1:
        return _ZERO
    # The logarithm of the reciprocal has the other sign.
    above_one = max(x.magnitude, 1 / x.magnitude)
    magnitude = between_neighbours(lambda bits: logarithm(above_one, bits))
    return finite(magnitude, negative=x.magnitude < 1)


def angle_of_float(x: Number) -> Number:
    """The angle between 0 and pi whose cosine a number is; NaN beyond -1 and 1.

    Args:
        x: The cosine.
    """
    if x.kind is not Kind.FINITE or x.magnitude > 1:
        return NAN
    if x.value == 1:
        return _ZERO
    return finite(between_neighbours(lambda bits: angle(x.value, bits)), negative=False)


def power_of_floats(x: Number, y: Number) -> Number:
    """The first number to the power of the second one.

    Args:
        x: The base.
        y: The exponent.
    """
    if y.is_zero or _is_one(x):
        return _ONE
    if Kind.NAN in (x.kind, y.kind):
        return NAN
    if y.kind is Kind.INFINITE:
        return _to_infinite_power(x, y)
    odd = y.value.denominator == 1 and y.value.numerator % 2 == 1
    if x.kind is Kind.INFINITE or x.is_zero:
        grows = y.negative is x.is_zero
        return infinity(negative=x.negative and odd) if grows else _zero(x.negative and odd)
    if x.negative and y.value.denominator != 1:
        return NAN
    return finite(_power(x.magnitude, y.value), negative=x.negative and odd)


def between_neighbours(enclose: Enclose) -> Fraction:
    """The middle between the two neighbours of 256 bits that an irrational number lies between.

    Args:
        enclose: Encloses the number, which is positive.
    """
    bits = 2 * _BITS
    while True:
        lower, upper = enclose(bits)
        if lower > 0:
            spacing = power_of_two(floor_log2(lower) - _BITS + 1)
            below = trunc(lower / spacing)
            if upper <= (below + 1) * spacing:
                return (below + Fraction(1, 2)) * spacing
        bits *= 2


def _is_one(x: Number) -> bool:
    return x.kind is Kind.FINITE and x.value == 1


def _zero(negative: bool) -> Number:
    return finite(Fraction(0), negative=negative)


def _to_infinite_power(x: Number, y: Number) -> Number:
    if x.kind is Kind.FINITE and x.magnitude == 1:
        return _ONE
    large = x.kind is Kind.INFINITE or x.magnitude > 1
    return _ZERO if large is y.negative else POSITIVE_INFINITY


def _power(x: Fraction, y: Fraction) -> Fraction:
    """A positive number to a power that is not zero."""
    if x == 1:
        return x
    ends = [end * y for end in logarithm(x, _BITS)]
    if min(ends) > _BEYOND:
        return power_of_two(_BEYOND)
    if max(ends) < -_BEYOND:
        return power_of_two(-_BEYOND)
    exact = _rational_power(x, y)
    return between_neighbours(lambda bits: power(x, y, bits)) if exact is None else exact


def _rational_power(x: Fraction, y: Fraction) -> Fraction | None:
    """The power of two dyadic numbers where it has 256 bits or less; None where it has not.

    A dyadic number to a power n / 2^k, n odd, is rational only if it has a 2^k-th root.
    """
    while y.denominator > 1:
        root = _square_root(x)
        if root is None:
            return None
        x, y = root, 2 * y
    exponent = floor_log2(x) - _odd_part(x).bit_length() + 1
    odd, times = _odd_part(x), y.numerator
    if odd == 1:
        return power_of_two(exponent * times)
    # No power of an odd number beyond 1 with a negative exponent is dyadic.
    if times < 0 or odd.bit_length() * times > 2 * _BITS:
        return None
    found = odd**times
    return found * power_of_two(exponent * times) if found.bit_length() <= _BITS else None


def _odd_part(x: Fraction) -> int:
    """What is left of a positive dyadic number without its factors of two."""
    return x.numerator // (x.numerator & -x.numerator)


def _square_root(x: Fraction) -> Fraction | None:
    """The square root of a positive rational where it is rational too."""
    above, below = isqrt(x.numerator), isqrt(x.denominator)
    return Fraction(above, below) if above**2 == x.numerator and below**2 == x.denominator else None
