"""Logarithms, powers and angles, enclosed by ball arithmetic.

Requires python-flint, the extra `oracle`, as `recurrent` does; nothing else in the package does.

A rational result is exact. An irrational one is represented by the midpoint of the two neighbouring
256-bit numbers around it. Rounding this midpoint to a format gives the same as rounding the result
itself: no number of a format, nor the midpoint of two, is strictly between such neighbours.

Logarithm: SONNX Log, draft, sections on reals and on floats. Angle: SONNX Acos, draft. Power: SONNX
Pow, draft, and IEEE 754-2019, 9.2.1, pow, for infinities, zeros and NaNs, because cases of the
draft's table overlap.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt, trunc
from typing import TYPE_CHECKING

from sonnx_ort.oracle.intervals import Interval, ball_of, precision
from sonnx_ort.oracle.numbers import (
    NAN,
    POSITIVE_INFINITY,
    Kind,
    Number,
    finite,
    floor_log2,
    infinity,
    power_of_two,
    scaled,
)

if TYPE_CHECKING:
    from flint import arb

Ends = tuple[Fraction, Fraction]
"""Two rationals that enclose a number."""


def logarithm(x: Fraction, bits: int) -> Ends:
    """Enclose the natural logarithm of a positive number, computed with this precision in bits."""
    return enclosed(lambda x: x.log(), bits, x)


def angle(x: Fraction, bits: int) -> Ends:
    """Enclose the arc cosine of x in [-1, 1], computed with this precision in bits."""
    return enclosed(lambda x: x.acos(), bits, x)


def power(x: Fraction, y: Fraction, bits: int) -> Ends:
    """Enclose x to the power y, computed with this precision in bits.

    x is positive, and the binary logarithm of the power must not be large.
    """
    return enclosed(lambda base, exponent: base**exponent, bits, x, y)


def closely(function: "Callable[[arb], arb]", x: Fraction) -> Ends:
    """Enclose the value of a function at a number so that both ends agree in 256 bits.

    The value must not be zero.
    """
    bits = _BITS + 64
    while True:
        with precision(bits):
            found = _computed(function, x)
            # The accuracy is that of the radius, and the ends are two radii apart.
            if found.rel_accuracy_bits() >= _BITS + 2:
                return _ends(found)
        bits *= 2


def enclosed(compute: "Callable[..., arb]", bits: int, *numbers: Fraction) -> Ends:
    """Enclose what is computed of some numbers with this precision in bits."""
    with precision(bits):
        return _ends(_computed(compute, *numbers))


def _computed(compute: "Callable[..., arb]", *numbers: Fraction) -> "arb":
    """The ball computed from the smallest balls around some numbers."""
    return compute(*map(ball_of, numbers))


def _ends(ball: "arb") -> Ends:
    return exact_end(ball.lower()), exact_end(ball.upper())


def exact_end(end: "arb | Interval") -> Fraction:
    """The end of a ball, which is a dyadic number of Arb, or any rational."""
    if isinstance(end, Interval):
        return Fraction(end.low)
    significand, exponent = end.man_exp()
    return Fraction(*scaled(int(significand), 1, int(exponent)))


Enclose = Callable[[int], tuple[Fraction, Fraction]]
"""Returns two rationals that enclose a number, closer together for more bits."""

_BITS = 256
"""Bits, more than in any format, that together with a sticky bit determine correct rounding."""

_BEYOND = 2048
"""Two to this power is infinite in every format; two to its negative rounds to zero."""

_ONE = finite(Fraction(1), negative=False)
_ZERO = finite(Fraction(0), negative=False)


def logarithm_of_float(x: Number) -> Number:
    """The natural logarithm; -inf for both zeros, NaN below zero."""
    if x.kind is Kind.NAN:
        return NAN
    if x.is_zero:
        return infinity(negative=True)
    if x.negative or x.kind is Kind.INFINITE:
        return NAN if x.negative else x
    if x.magnitude == 1:
        return _ZERO
    # The logarithm of the reciprocal has the opposite sign.
    above_one = max(x.magnitude, 1 / x.magnitude)
    magnitude = between_neighbours(lambda bits: logarithm(above_one, bits))
    return finite(magnitude, negative=x.magnitude < 1)


def angle_of_float(x: Number) -> Number:
    """The arc cosine, from 0 to pi; NaN outside [-1, 1]."""
    if x.kind is not Kind.FINITE or x.magnitude > 1:
        return NAN
    if x.value == 1:
        return _ZERO
    return finite(between_neighbours(lambda bits: angle(x.value, bits)), negative=False)


def power_of_floats(x: Number, y: Number) -> Number:
    """The power of a base x and an exponent y."""
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
    """The midpoint of the two neighbouring 256-bit numbers around a positive irrational number."""
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
    """A positive number to a nonzero power."""
    if x == 1:
        return x
    exact = _rational_power(x, y)
    if exact is not None:
        return exact
    ends = [end * y for end in logarithm(x, _BITS)]
    if min(ends) > _BEYOND:
        return power_of_two(_BEYOND)
    if max(ends) < -_BEYOND:
        return power_of_two(-_BEYOND)
    return between_neighbours(lambda bits: power(x, y, bits))


def _rational_power(x: Fraction, y: Fraction) -> Fraction | None:
    """The power of two dyadic numbers if it has few bits and is not `_BEYOND`; otherwise None.

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
        return power_of_two(exponent * times) if abs(exponent * times) <= _BEYOND else None
    # A negative power of an odd number greater than 1 is not dyadic.
    if times < 0 or odd.bit_length() * times > 2 * _BITS:
        return None
    result = odd**times
    return result * power_of_two(exponent * times) if result.bit_length() <= _BITS else None


def _odd_part(x: Fraction) -> int:
    """A positive dyadic number without its factors of two."""
    return x.numerator // (x.numerator & -x.numerator)


def _square_root(x: Fraction) -> Fraction | None:
    """The square root of a positive rational if it is rational; otherwise None."""
    above, below = isqrt(x.numerator), isqrt(x.denominator)
    return Fraction(above, below) if above**2 == x.numerator and below**2 == x.denominator else None
