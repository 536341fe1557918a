"""Balls: finite numbers that are known by an enclosure.

A ball is a number and a radius: all reals that an element may be. They are those of Arb
(python-flint, the extra `oracle`), or rational intervals, which stand for them where python-flint
is not installed, and which enclose what is not rational exactly. Intervals are exact, and take
longer; functions that are not rational need python-flint.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import cache
from math import trunc
from typing import TYPE_CHECKING, Any, NoReturn, Union, cast

from sonnx_ort.meaning.numbers import floor_log2, power_of_two, scaled

if TYPE_CHECKING:
    from flint import arb

WITHOUT_FLINT = "cannot be judged without python-flint: pip install python-flint"
"""The reason for not judging a meaning that needs real functions."""

BITS = 256
"""Bits, more than in any format, that together with a sticky bit determine correct rounding."""

Operand = Union["Interval", Fraction, int]


class NotFollowedError(ValueError):
    """The results of a node are not known as balls; the message is a clause that says why."""


@cache
def has_flint() -> bool:
    """Whether python-flint is installed."""
    try:
        import flint  # noqa: F401, PLC0415 - an optional dependency
    except ImportError:
        return False
    return True


@cache
def ball_type() -> "type[arb]":
    """The type of balls: that of Arb, or `Interval` without it."""
    if not has_flint():
        return cast("type[arb]", Interval)
    from flint import arb  # noqa: PLC0415 - an optional dependency

    return arb


def ball_of(number: Fraction) -> "arb":
    """The smallest ball around a rational number."""
    if not has_flint():
        return cast("arb", Interval(number))
    from flint import arb, fmpq  # noqa: PLC0415 - an optional dependency

    return arb(fmpq(number.numerator, number.denominator))


def anything() -> "arb":
    """The ball of all reals."""
    return ball_type()(0, math.inf)


def precision(bits: int) -> AbstractContextManager[None]:
    """The context in which balls are computed with this precision; intervals are exact."""
    if not has_flint():
        return nullcontext()
    import flint  # noqa: PLC0415 - an optional dependency

    context: AbstractContextManager[None] = flint.ctx.workprec(bits)
    return context


def precisely() -> AbstractContextManager[None]:
    """The context in which balls are computed: all that rounds there is far below any format."""
    return precision(BITS)


def exact_end(end: "arb | Interval") -> Fraction:
    """The end of a ball, which is a dyadic number of Arb, or any rational."""
    if isinstance(end, Interval):
        return Fraction(end.low)
    significand, exponent = end.man_exp()
    return Fraction(*scaled(int(significand), 1, int(exponent)))


def ends(ball: "arb | Interval") -> tuple[Fraction, Fraction]:
    """Both ends of a finite ball."""
    return exact_end(ball.lower()), exact_end(ball.upper())


def closely(function: "Callable[[arb], arb]", x: Fraction) -> "Interval":
    """Enclose the value of a function at a number so that both ends agree in 256 bits.

    The value must not be zero.
    """
    bits = BITS + 64
    while True:
        with precision(bits):
            found = function(ball_of(x))
            # The accuracy is that of the radius, and the ends are two radii apart.
            if found.rel_accuracy_bits() >= BITS + 2:
                return Interval.between(*ends(found))
        bits *= 2


def enclosed(compute: "Callable[..., arb]", bits: int, *numbers: Fraction) -> "Interval":
    """Enclose what is computed of some numbers with this precision in bits."""
    with precision(bits):
        return Interval.between(*ends(compute(*map(ball_of, numbers))))


def between_neighbours(enclose: "Callable[[int], Interval]") -> Fraction:
    """The midpoint of the two neighbouring 256-bit numbers around a positive irrational number.

    Rounding it to a format gives the same as rounding the number itself: no number of a format, nor
    the midpoint of two, is strictly between such neighbours. `enclose` encloses it in some bits.
    """
    bits = 2 * BITS
    while True:
        found = enclose(bits)
        if found.low > 0:
            spacing = power_of_two(floor_log2(found.low) - BITS + 1)
            below: int = trunc(found.low / spacing)
            if found.high <= (below + 1) * spacing:
                return (below + Fraction(1, 2)) * spacing
        bits *= 2


def _needs_flint(*_: object) -> NoReturn:
    raise ImportError(WITHOUT_FLINT)


class Interval:
    """All reals from one rational to another, with the names and the meaning that `arb` has.

    A comparison is true if it is true of all numbers of both intervals. Only both ends together are
    infinite, except of what `max` and `min` give.
    """

    __slots__ = ("high", "low")

    low: Any
    high: Any

    def __init__(self, middle: Any = 0, radius: Any = 0) -> None:
        """Take a number or an interval, and the distance of both ends from it."""
        if isinstance(middle, Interval):
            low, high = middle.low, middle.high
        else:
            low = high = _number(middle)
        reach = radius.high if isinstance(radius, Interval) else _number(radius)
        self.low, self.high = low - reach, high + reach

    @staticmethod
    def between(low: Any, high: Any) -> "Interval":
        """The interval with these ends."""
        made = Interval.__new__(Interval)
        made.low, made.high = low, high
        return made

    @staticmethod
    def around(x: Any) -> "Interval":
        """The interval that is a finite datum; an interval stays what it is."""
        return x if isinstance(x, Interval) else Interval(x.value)

    def __repr__(self) -> str:
        """Show both ends."""
        return f"[{self.low}, {self.high}]"

    def is_finite(self) -> bool:
        """Whether both ends are numbers."""
        return not (isinstance(self.low, float) or isinstance(self.high, float))

    def is_exact(self) -> bool:
        """Whether it is one number."""
        return bool(self.low == self.high)

    def is_integer(self) -> bool:
        """Whether it is one integer."""
        return self.is_exact() and self.is_finite() and self.low.denominator == 1

    def unique_fmpz(self) -> int | None:
        """Its only integer; None if it has several, or none."""
        if not self.is_finite():
            return None
        largest: int = math.floor(self.high)
        return largest if largest == math.ceil(self.low) else None

    def lower(self) -> "Interval":
        """The lower end."""
        return Interval.between(self.low, self.low)

    def upper(self) -> "Interval":
        """The upper end."""
        return Interval.between(self.high, self.high)

    def abs_upper(self) -> "Interval":
        """The upper end of the absolute value."""
        return abs(self).upper()

    def mid(self) -> "Interval":
        """The number in the middle; 0 if an end is infinite."""
        return Interval((self.low + self.high) / 2 if self.is_finite() else 0)

    def union(self, other: Operand) -> "Interval":
        """The smallest interval around both."""
        b = _interval(other)
        return Interval.between(min(self.low, b.low), max(self.high, b.high))

    def max(self, other: Operand) -> "Interval":
        """The larger number of each pair."""
        b = _interval(other)
        return Interval.between(max(self.low, b.low), max(self.high, b.high))

    def min(self, other: Operand) -> "Interval":
        """The smaller number of each pair."""
        b = _interval(other)
        return Interval.between(min(self.low, b.low), min(self.high, b.high))

    def floor(self) -> "Interval":
        """The largest integers that are not above its numbers."""
        return self._rounded(math.floor)

    def ceil(self) -> "Interval":
        """The smallest integers that are not below its numbers."""
        return self._rounded(math.ceil)

    def _rounded(self, to_integer: Callable[[Any], int]) -> "Interval":
        if not self.is_finite():
            return _everything()
        return Interval.between(Fraction(to_integer(self.low)), Fraction(to_integer(self.high)))

    def __abs__(self) -> "Interval":
        if self.low >= 0:
            return self
        if self.high <= 0:
            return -self
        return Interval.between(Fraction(0), max(-self.low, self.high))

    def __neg__(self) -> "Interval":
        return Interval.between(-self.high, -self.low)

    def __add__(self, other: Operand) -> "Interval":
        b = _interval(other)
        if not (self.is_finite() and b.is_finite()):
            return _everything()
        return Interval.between(self.low + b.low, self.high + b.high)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> "Interval":
        return self + -_interval(other)

    def __rsub__(self, other: Operand) -> "Interval":
        return _interval(other) - self

    def __mul__(self, other: Operand) -> "Interval":
        b = _interval(other)
        if not (self.is_finite() and b.is_finite()):
            return _everything()
        ends = [x * y for x in (self.low, self.high) for y in (b.low, b.high)]
        return Interval.between(min(ends), max(ends))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> "Interval":
        b = _interval(other)
        if not b.is_finite() or b.low <= 0 <= b.high:
            return _everything()
        return self * Interval.between(1 / b.high, 1 / b.low)

    def __rtruediv__(self, other: Operand) -> "Interval":
        return _interval(other) / self

    def __eq__(self, other: object) -> bool:
        b = _interval(other)
        return self.is_exact() and b.is_exact() and bool(self.low == b.low)

    def __ne__(self, other: object) -> bool:
        b = _interval(other)
        return bool(self.high < b.low or b.high < self.low)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Operand) -> bool:
        return bool(self.high < _interval(other).low)

    def __le__(self, other: Operand) -> bool:
        return bool(self.high <= _interval(other).low)

    def __gt__(self, other: Operand) -> bool:
        return bool(self.low > _interval(other).high)

    def __ge__(self, other: Operand) -> bool:
        return bool(self.low >= _interval(other).high)

    acos = cos = erf = exp = log = log1p = pi = sin = sqrt = tanh = _needs_flint
    __pow__ = __rpow__ = _needs_flint


def _number(value: Any) -> Any:
    """A rational; an infinity is the only float."""
    return value if isinstance(value, float) and math.isinf(value) else Fraction(value)


def _interval(value: Any) -> Interval:
    return value if isinstance(value, Interval) else Interval(value)


def _everything() -> Interval:
    return Interval.between(-math.inf, math.inf)
