"""Rational intervals, which stand for the balls of Arb where python-flint is not installed.

They are exact, and take longer. Functions that are not rational need python-flint.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Union, cast

if TYPE_CHECKING:
    from flint import arb

WITHOUT_FLINT = "cannot be judged without python-flint: pip install python-flint"
"""What is said of a meaning that needs real functions."""

Operand = Union["Interval", Fraction, int]


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


def precision(bits: int) -> AbstractContextManager[None]:
    """The context in which balls are computed with this precision; intervals are exact."""
    if not has_flint():
        return nullcontext()
    import flint  # noqa: PLC0415 - an optional dependency

    context: AbstractContextManager[None] = flint.ctx.workprec(bits)
    return context


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

    acos = cos = erf = exp = log = pi = sin = sqrt = tanh = _needs_flint
    __pow__ = __rpow__ = _needs_flint


def _number(value: Any) -> Any:
    """A rational; an infinity is the only float."""
    return value if isinstance(value, float) and math.isinf(value) else Fraction(value)


def _interval(value: Any) -> Interval:
    return value if isinstance(value, Interval) else Interval(value)


def _everything() -> Interval:
    return Interval.between(-math.inf, math.inf)
