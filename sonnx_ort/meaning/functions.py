"""The functions of single elements, each of which is a `Number` or a ball.

A ball is a finite number of which only an enclosure is known; what that does not decide raises
`NotFollowedError`. Where a result is not rational, that of a `Number` is the midpoint of two
neighbouring 256-bit numbers around it, which rounds as it does, or an `Interval` that encloses it.

Logarithm: SONNX Log, draft, sections on reals and on floats. Angle: SONNX Acos, draft. Power: SONNX
Pow, draft, and IEEE 754-2019, 9.2.1, pow, for infinities, zeros and NaNs, because cases of the
draft's table overlap. Exp, Sin, Sigmoid, Tanh and Relu: the drafts of these names, and
ericjenn/sonnx for Sin. Erf and Softplus: ONNX, which has them over the reals; their values at
infinities are the limits (ours).
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt, trunc
from typing import TYPE_CHECKING, Any

from sonnx_ort.meaning.balls import (
    BITS,
    Interval,
    NotFollowedError,
    ball_of,
    ball_type,
    between_neighbours,
    closely,
    enclosed,
    ends,
)
from sonnx_ort.meaning.numbers import (
    NAN,
    ONE,
    POSITIVE_INFINITY,
    ZERO,
    Kind,
    Number,
    finite,
    floor_log2,
    infinity,
    number,
    power_of_two,
    quotient,
    scaled,
)

if TYPE_CHECKING:
    from flint import arb

FAR = 2048
"""Two to this power is infinite in every format, two to its negative rounds to zero in all."""

_TINY = power_of_two(-FAR)


def size(x: Any) -> Any:
    """The magnitude of an element: a rational, which is 0 if it is not finite, or a ball."""
    return x.magnitude if isinstance(x, Number) else abs(x)


def highest(x: Any) -> Fraction:
    """The largest magnitude that an element may have; 0 if it is not finite."""
    return x.magnitude if isinstance(x, Number) else max(map(abs, ends(x)))


def magnitude(x: Any) -> Any:
    """The absolute value; that of Arb is below 0 too, where a ball is on both sides of it."""
    if isinstance(x, Number) or x >= 0 or x <= 0:
        return abs(x)
    return x.abs_upper().union(x * 0)


def divide_integers(a: int, b: int) -> int | None:
    """The quotient a / b truncated towards zero, of any size; None if b is zero."""
    exact = quotient(Fraction(a), Fraction(b))
    return None if exact is None else trunc(exact)


def relu(x: Any) -> Any:
    """0 below 0, else the element; NaN stays NaN."""
    if isinstance(x, Number):
        return ZERO if x.below_zero else x
    return x.max(0)


def p_relu(x: Any, slope: Any) -> Any:
    """The element or integer x if it is not below zero, else x * slope, not yet rounded.

    NaN and both zeros are not below zero.
    """
    if isinstance(x, Number):
        return x * slope if x.below_zero else x
    if x >= 0:
        return x
    return slope * x if x < 0 else x.max(0).union(slope * x.min(0))


def square_root(x: Any) -> Any:
    """The square root with more bits than any format; NaN below zero, and each zero for itself."""
    if not isinstance(x, Number):
        if not x >= 0:
            raise NotFollowedError("a radicand may be negative")
        return x.sqrt()
    if x.is_zero or x.kind is Kind.NAN:
        return x
    if x.negative:
        return NAN
    if x.kind is Kind.INFINITE:
        return x
    # Scaling by an even power of two makes the radicand an integer with twice the bits.
    exponent = 2 * BITS - 2 * (floor_log2(x.magnitude) // 2)
    numerator, denominator = scaled(x.magnitude.numerator, x.magnitude.denominator, exponent)
    root = isqrt(numerator // denominator)
    inexact = root * root * denominator != numerator
    return number(Fraction(*scaled(2 * root + inexact, 2, -exponent // 2)))


def logarithm(x: Any) -> Any:
    """The natural logarithm; -inf for both zeros, NaN below zero."""
    if not isinstance(x, Number):
        if not x > 0:
            raise NotFollowedError("the operand of a logarithm may be 0 or negative")
        return x.log()
    if x.kind is Kind.NAN:
        return NAN
    if x.is_zero:
        return infinity(negative=True)
    if x.negative or x.kind is Kind.INFINITE:
        return NAN if x.negative else x
    if x.magnitude == 1:
        return ZERO
    # The logarithm of the reciprocal has the opposite sign.
    above_one = max(x.magnitude, 1 / x.magnitude)
    return finite(between_neighbours(lambda bits: _log(above_one, bits)), negative=x.magnitude < 1)


def _log(x: Fraction, bits: int) -> Interval:
    return enclosed(lambda ball: ball.log(), bits, x)


def arc_cosine(x: Any) -> Any:
    """The arc cosine, from 0 to pi; NaN outside [-1, 1]."""
    if not isinstance(x, Number):
        if not (x >= -1 and x <= 1):
            raise NotFollowedError("the operand of an arc cosine may be outside [-1, 1]")
        return x.acos()
    if x.kind is not Kind.FINITE or x.magnitude > 1:
        return NAN
    if x.value == 1:
        return ZERO
    return number(between_neighbours(lambda bits: enclosed(lambda b: b.acos(), bits, x.value)))


def power(x: Any, y: Any) -> Any:  # noqa: PLR0911 - one for each special case of the table
    """The power of a base x and an exponent y, which may be an integer."""
    if not isinstance(x, Number):
        return _power_of_balls(x, y)
    y = y if isinstance(y, Number) else number(y)
    if y.is_zero or (x.kind is Kind.FINITE and x.value == 1):
        return ONE
    if Kind.NAN in (x.kind, y.kind):
        return NAN
    if y.kind is Kind.INFINITE:
        return _to_infinite_power(x, y)
    odd = y.value.denominator == 1 and y.value.numerator % 2 == 1
    negative = x.negative and odd
    if x.kind is Kind.INFINITE or x.is_zero:
        grows = y.negative is x.is_zero
        return infinity(negative=negative) if grows else finite(Fraction(0), negative=negative)
    if x.negative and y.value.denominator != 1:
        return NAN
    return finite(_power(x.magnitude, y.value), negative=negative)


def _power_of_balls(x: Any, y: Any) -> Any:
    exponent = ball_type()(y)
    whole = exponent.unique_fmpz() if exponent.is_exact() and exponent.is_integer() else None
    if whole is not None and (whole >= 0 or x != 0):
        odd = whole % 2
        even = _even_power(x, exponent - odd)
        return x * even if odd else even
    if x > 0:
        return x**exponent
    if x == 0 and exponent > 0:
        return exponent * 0
    raise NotFollowedError("the base of a power may be 0 or negative")


def _even_power(x: Any, exponent: Any) -> Any:
    """An even power; that of Arb is below 0 too, where a ball is on both sides of it."""
    if x.is_exact():
        return x**exponent
    base = magnitude(x)
    low, high = (end.max(0) ** exponent for end in (base.lower(), base.upper()))
    return low.union(high)


def _to_infinite_power(x: Number, y: Number) -> Number:
    if x.kind is Kind.FINITE and x.magnitude == 1:
        return ONE
    large = x.kind is Kind.INFINITE or x.magnitude > 1
    return ZERO if large is y.negative else POSITIVE_INFINITY


def _power(x: Fraction, y: Fraction) -> Fraction:
    """A positive number to a nonzero power."""
    if x == 1:
        return x
    exact = _rational_power(x, y)
    if exact is not None:
        return exact
    exponents = _log(x, BITS) * y
    if exponents.low > FAR:
        return power_of_two(FAR)
    if exponents.high < -FAR:
        return _TINY
    return between_neighbours(lambda bits: enclosed(lambda a, b: a**b, bits, x, y))


def _rational_power(x: Fraction, y: Fraction) -> Fraction | None:
    """The power of two dyadic numbers if it has few bits and is not beyond `FAR`; otherwise None.

    A dyadic number to a power n / 2^k, n odd, is rational only if it has a 2^k-th root.
    """
    while y.denominator > 1:
        root = _rational_root(x)
        if root is None:
            return None
        x, y = root, 2 * y
    exponent = floor_log2(x) - _odd_part(x).bit_length() + 1
    odd, times = _odd_part(x), y.numerator
    if odd == 1:
        return power_of_two(exponent * times) if abs(exponent * times) <= FAR else None
    # A negative power of an odd number greater than 1 is not dyadic.
    if times < 0 or odd.bit_length() * times > 2 * BITS:
        return None
    result = odd**times
    return result * power_of_two(exponent * times) if result.bit_length() <= BITS else None


def _odd_part(x: Fraction) -> int:
    """A positive dyadic number without its factors of two."""
    return x.numerator // (x.numerator & -x.numerator)


def _rational_root(x: Fraction) -> Fraction | None:
    """The square root of a positive rational if it is rational; otherwise None."""
    above, below = isqrt(x.numerator), isqrt(x.denominator)
    return Fraction(above, below) if above**2 == x.numerator and below**2 == x.denominator else None


def exponential(x: Any) -> Any:
    """E to the power x; beyond 2048 only that it is beyond all formats."""
    if not isinstance(x, Number):
        return x.exp()
    match x.kind:
        case Kind.NAN:
            return NAN
        case Kind.INFINITE:
            return ZERO if x.negative else x
    if x.is_zero:
        return ONE
    if x.magnitude > FAR:
        return Interval.between(Fraction(0), _TINY) if x.negative else POSITIVE_INFINITY
    return closely(lambda ball: ball.exp(), x.value)


def sine(x: Any) -> Any:
    """The sine; NaN of infinities, and each zero for itself."""
    if not isinstance(x, Number):
        return x.sin()
    if x.kind is not Kind.FINITE:
        return NAN
    return x if x.is_zero else closely(lambda ball: ball.sin(), x.value)


def _logistic(x: "arb") -> "arb":
    return 1 / (1 + (-x).exp())


def logistic(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    if not isinstance(x, Number):
        return _monotone(_logistic, x)
    match x.kind:
        case Kind.NAN:
            return NAN
        case Kind.INFINITE:
            return ZERO if x.negative else ONE
    if x.is_zero:
        return number(Fraction(1, 2))
    if x.magnitude > FAR:
        near = Interval.between(1 - _TINY, Fraction(1))
        return Interval.between(Fraction(0), _TINY) if x.negative else near
    return closely(_logistic, x.value)


def hyperbolic_tangent(x: Any) -> Any:
    """The hyperbolic tangent; each zero for itself."""
    return _from_end_to_end(lambda ball: ball.tanh(), x)


def error_function(x: Any) -> Any:
    """The error function; each zero for itself."""
    return _from_end_to_end(lambda ball: ball.erf(), x)


def _from_end_to_end(function: "Callable[[arb], arb]", x: Any) -> Any:
    """An odd function that grows from -1 to 1, and has zeros for themselves."""
    if not isinstance(x, Number):
        return _monotone(function, x)
    if x.kind is Kind.NAN or x.is_zero:
        return x
    if x.kind is Kind.INFINITE:
        return number(-1 if x.negative else 1)
    if x.magnitude <= FAR:
        return closely(function, x.value)
    near = Interval.between(1 - _TINY, Fraction(1))
    return -near if x.negative else near


def _monotone(function: "Callable[[arb], arb]", x: "arb") -> "arb":
    """A function that grows, and beyond 2048 by less than two to the negative power of that."""
    low, high = (function(end.max(-FAR).min(FAR)) for end in (x.lower(), x.upper()))
    made = low.union(high)
    return made if not abs(x).upper() > FAR else made + ball_type()(0, ball_of(_TINY))


def _softplus(x: "arb") -> "arb":
    power = (-abs(x)).exp()
    return x.max(0) + power.log1p()


def soft_plus(x: Any) -> Any:
    """The logarithm of 1 + e^x."""
    if not isinstance(x, Number):
        low, high = (
            _softplus(end.max(-FAR).min(FAR)) + (end - FAR).max(0) for end in (x.lower(), x.upper())
        )
        made = low.union(high)
        return made if not abs(x).upper() > FAR else made + ball_type()(0, ball_of(_TINY))
    match x.kind:
        case Kind.NAN:
            return NAN
        case Kind.INFINITE:
            return ZERO if x.negative else x
    if x.magnitude <= FAR:
        return closely(_softplus, x.value)
    if x.negative:
        return Interval.between(Fraction(0), _TINY)
    return Interval.between(x.value, x.value + _TINY)
