"""The numbers that elements of floats can be: intervals, and whether NaN is possible."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonnx_ort.facts.decimals import at_least, at_most

_DIGITS = 6
"""How many digits an end of an interval has as text."""


@dataclass(frozen=True, slots=True)
class Range:
    """A closed interval of floats, whose ends may be infinite.

    Attributes:
        lower: The smallest number.
        upper: The largest.
        nan: Whether NaN is possible as well.
    """

    lower: float
    upper: float
    nan: bool = False

    def __contains__(self, number: float) -> bool:
        """Whether the interval contains a number."""
        return self.lower <= number <= self.upper

    @property
    def says_something(self) -> bool:
        """Whether it excludes any float."""
        return not self.nan or self.lower > -math.inf or self.upper < math.inf

    @property
    def finite(self) -> bool:
        """Whether it has no NaN and no infinity."""
        return not self.nan and math.isfinite(self.lower) and math.isfinite(self.upper)

    def __str__(self) -> str:
        """Format the interval as `-0.5 to 3.25e+06`, rounded outwards; `or NaN` if possible."""
        numbers = f"{at_least(self.lower, _DIGITS)} to {at_most(self.upper, _DIGITS)}"
        return f"{numbers}{' or NaN' if self.nan else ''}"


Ends = npt.NDArray[np.float64]
"""The ends of intervals, in double."""


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """The numbers that the elements of a float tensor can be.

    Attributes:
        lower: The smallest, of a shape that broadcasts to the tensor's.
        upper: The largest, of the same shape.
        nan: Whether an element can be NaN as well.
    """

    lower: Ends
    upper: Ends
    nan: bool

    @classmethod
    def of(cls, lower: float, upper: float, *, nan: bool = False) -> "Interval":
        """One interval for the whole tensor."""
        return cls(np.asarray(lower, np.float64), np.asarray(upper, np.float64), nan)

    @property
    def whole(self) -> Range:
        """The smallest interval that contains those of all elements."""
        return Range(float(self.lower.min()), float(self.upper.max()), self.nan)

    @property
    def uniform(self) -> "Interval":
        """One interval for the whole tensor."""
        found = self.whole
        return Interval.of(found.lower, found.upper, nan=self.nan)

    @property
    def magnitude(self) -> Ends:
        """The largest magnitude."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def nearest(self) -> Ends:
        """The smallest magnitude."""
        least = np.minimum(np.abs(self.lower), np.abs(self.upper))
        return np.where((self.lower <= 0) & (self.upper >= 0), 0.0, least)

    @property
    def negative(self) -> "Interval":
        """The numbers with the other sign."""
        return Interval(-self.upper, -self.lower, self.nan)

    @property
    def infinite(self) -> bool:
        """Whether an element can be infinite."""
        return not np.isfinite(self.magnitude).all()

    @property
    def has_zero(self) -> bool:
        """Whether an element can be 0."""
        return bool(((self.lower <= 0) & (self.upper >= 0)).any())

    def at_least(self, least: float) -> "Interval":
        """The interval without numbers below one."""
        return Interval(np.maximum(self.lower, least), self.upper, self.nan)

    def limited(self, largest: float) -> "Interval":
        """The interval without numbers of a magnitude above one."""
        lower, upper = (ends.clip(-largest, largest) for ends in (self.lower, self.upper))
        return Interval(lower, upper, self.nan)

    def along(self, axes: Iterable[int], rank: int) -> "Interval":
        """The interval that no longer depends on some axes of a tensor of this rank."""
        if self.lower.ndim != rank:
            return self.uniform
        reduced = tuple(axes)
        return Interval(
            self.lower.min(axis=reduced, keepdims=True),
            self.upper.max(axis=reduced, keepdims=True),
            self.nan,
        )


ANYTHING = Interval.of(-math.inf, math.inf, nan=True)
"""Any float, and NaN."""
