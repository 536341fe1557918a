"""Arithmetic of intervals in a type of floats: what a kernel may compute, however it rounds.

A rule names the numbers that a kernel forms on the way, such as a factor, a difference or a sum,
and each of them is one call here. So each is rounded, may be infinite beyond the largest number of
its type, and NaN by what follows from that; and it may be 0 below the smallest normal number, for a
session may flush it.

ONNX Runtime computes chains of 16-bit floats in float and rounds once, or after each node. An
interval of a 16-bit type contains both: its ends are as far away as the type rounds, and infinite
where the type ends.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from .node import FLOATS
from .ranges import Ends, Interval

SLACK = 16
"""How many units of its type a result of a single function may be away from the exact one."""

_OF_SUMS = 4
"""How many units per term a sum may be away from the exact one."""

MOST_ENDS = 1 << 12
"""An interval with more entries is replaced by one for the whole tensor."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Numbers that a kernel adds in any order, also block by block into the last one.

    Attributes:
        lower: The smallest exact sum.
        upper: The largest.
        magnitude: The largest sum of the magnitudes, so that no partial sum is larger.
        count: How many numbers there are.
        nan: Whether one can be NaN.
        positive: Whether none is negative, so that no sum is.
        largest: How large a partial sum can be before it is scaled.
        lost: By how much what underflows was multiplied.
    """

    lower: Ends
    upper: Ends
    magnitude: Ends
    count: int
    nan: bool = False
    positive: bool = False
    largest: Ends | float = 0.0
    lost: float = 1.0

    def scaled(self, factor: Interval) -> "Terms":
        """The terms multiplied by a factor, before they are added or after it."""
        scale, largest = float(factor.magnitude.max()), np.maximum(self.largest, self.magnitude)
        ends = corners(Interval(self.lower, self.upper, self.nan), factor, np.multiply)
        positive = self.positive and bool((factor.lower >= 0).all())
        lost = max(self.lost, self.lost * scale) + 1
        return Terms(*ends, self.magnitude * scale, self.count, self.nan, positive, largest, lost)

    def with_term(self, other: Interval) -> "Terms":
        """The terms and one more."""
        positive = self.positive and bool((other.lower >= 0).all())
        with np.errstate(all="ignore"):
            lower, upper = self.lower + other.lower, self.upper + other.upper
        return replace(
            self,
            lower=lower,
            upper=upper,
            magnitude=self.magnitude + other.magnitude,
            count=self.count + 1,
            nan=self.nan or other.nan,
            positive=positive,
        )


@dataclass(frozen=True, slots=True)
class Format:
    """A type of floats, and what kernels compute in it.

    Attributes:
        unit: Half the distance from 1 to the next number.
        largest: The largest finite number.
        normal: The smallest positive number that is not subnormal.
    """

    unit: float
    largest: float
    normal: float

    def held(self, lower: Ends, upper: Ends, *, nan: bool = False) -> Interval:
        """Numbers of the type between two, which are not rounded."""
        lower, upper = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
        lower = np.where(np.isnan(lower) | (lower < -self.largest), -np.inf, lower)
        upper = np.where(np.isnan(upper) | (upper > self.largest), np.inf, upper)
        # A number beyond the type may be rounded to its largest one.
        lower, upper = np.minimum(lower, self.largest), np.maximum(upper, -self.largest)
        lower, upper = np.broadcast_arrays(lower, upper)
        found = self.flushed(lower, upper, nan=nan)
        return found if lower.size <= MOST_ENDS else found.uniform

    def flushed(self, lower: Ends, upper: Ends, *, nan: bool = False) -> Interval:
        """The numbers between two, and 0 if they come closer to it than normal numbers."""
        lower = np.where((lower > 0) & (lower < self.normal), 0.0, lower)
        upper = np.where((upper < 0) & (upper > -self.normal), 0.0, upper)
        return Interval(lower, upper, nan)

    def rounded(
        self, lower: Ends, upper: Ends, *, nan: bool = False, error: Ends | float = 0.0
    ) -> Interval:
        """What a kernel gives for exact results between two numbers.

        Args:
            lower: The smallest exact result.
            upper: The largest.
            nan: Whether a result can be NaN.
            error: How far a result can be from the exact one, beside `SLACK`.
        """
        share = SLACK * self.unit
        with np.errstate(all="ignore"):
            lower = lower - (share * np.abs(lower) + error)
            upper = upper + (share * np.abs(upper) + error)
        lower = np.where((lower < 0) & (lower > -self.normal), -self.normal, lower)
        upper = np.where((upper > 0) & (upper < self.normal), self.normal, upper)
        return self.held(lower, upper, nan=nan)

    def number(self, exact: float) -> Interval:
        """A number that is rounded to the type, or not."""
        return self.rounded(np.asarray(exact), np.asarray(exact))

    def sum(self, a: Interval, b: Interval, *, error: Ends | float = 0.0) -> Interval:
        """The sums of two numbers; infinities of both signs give NaN."""
        with np.errstate(all="ignore"):
            ends = a.lower + b.lower, a.upper + b.upper
        nan = a.nan or b.nan or (a.infinite and b.infinite)
        return self.rounded(*ends, nan=nan, error=error)

    def difference(self, a: Interval, b: Interval) -> Interval:
        """The differences of two numbers."""
        return self.sum(a, b.negative)

    def product(self, a: Interval, b: Interval) -> Interval:
        """The products of two numbers; 0 times infinity is NaN."""
        nan = (a.has_zero and b.infinite) or (b.has_zero and a.infinite)
        return self.rounded(*corners(a, b, np.multiply), nan=a.nan or b.nan or nan)

    def square(self, a: Interval) -> Interval:
        """The products of numbers with themselves."""
        with np.errstate(over="ignore"):
            found = self.rounded(a.nearest**2, a.magnitude**2, nan=a.nan)
        return found.at_least(0)

    def quotient(self, a: Interval, b: Interval) -> Interval:
        """The quotients; a divisor that can be 0 gives an infinity of either sign, or NaN."""
        nan = a.nan or b.nan or (a.infinite and b.infinite)
        if b.has_zero:
            return Interval.of(-math.inf, math.inf, nan=nan or a.has_zero)
        return self.rounded(*corners(a, b, np.divide), nan=nan)

    def root(self, a: Interval) -> Interval:
        """The square roots; that of a number below 0 is NaN."""
        ends = np.sqrt(np.maximum(a.lower, 0)), np.sqrt(np.maximum(a.upper, 0))
        return self.rounded(*ends, nan=a.nan or bool((a.lower < 0).any())).at_least(0)

    def total(self, terms: Terms) -> Interval:
        """The sums of terms in any order; infinite partial sums of both signs give NaN."""
        with np.errstate(all="ignore"):
            error = terms.magnitude * self.share(terms.count)
            error = error + (terms.count + 1) * terms.lost * self.normal
            largest = np.maximum(terms.magnitude, terms.largest) + error
        if not bool((largest <= self.largest).all()) or self.share(terms.count) >= 1:
            opposite = not terms.positive
            least = -math.inf if opposite else 0
            return Interval.of(least, math.inf, nan=terms.nan or opposite)
        found = self.rounded(terms.lower, terms.upper, nan=terms.nan, error=error)
        return found.at_least(0) if terms.positive else found

    def share(self, count: int) -> float:
        """How far a sum of so many terms is from the exact one, as a share of all magnitudes."""
        return _OF_SUMS * (count + 4) * self.unit


def corners(a: Interval, b: Interval, function: Callable[[Ends, Ends], Ends]) -> tuple[Ends, Ends]:
    """The smallest and the largest result of the ends of two intervals; 0 times infinity is 0."""
    with np.errstate(all="ignore"):
        found = [
            np.nan_to_num(function(x, y), nan=0.0, posinf=np.inf, neginf=-np.inf)
            for x in (a.lower, a.upper)
            for y in (b.lower, b.upper)
        ]
    lower, upper = found[0], found[0]
    for each in found[1:]:
        lower, upper = np.minimum(lower, each), np.maximum(upper, each)
    return lower, upper


def _format(name: str) -> Format:
    info: Any = ml_dtypes.finfo(  # type: ignore[no-untyped-call]
        {"float": "float32", "double": "float64"}.get(name, name)
    )
    return Format(float(info.eps) / 2, float(info.max), float(info.smallest_normal))


FORMATS: Mapping[str, Format] = {name: _format(name) for name in FLOATS}
"""The types of floats by their ONNX names."""
