"""What numbers samples had, and the ranges that are proposed from them.

A range always holds what was seen: its ends are computed exactly, rounded outward, and cut to the
numbers of the type. Integers are never held in floats, which have not all of 64 bits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sonnx_ort.facts.bounds import LIMITS
from sonnx_ort.profile.contract import Limited
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.terms.numbers import finite_numbers

_DIGITS = 3
"""The significant digits of proposed ends, which are rounded outward."""


@dataclass(frozen=True, slots=True)
class SeenNumbers:
    """The numbers that a value had in all samples.

    Attributes:
        lower: The smallest one, which may be infinite; above `upper` if there was none but NaN.
        upper: The largest one.
        with_nan: In how many samples it had NaN.
        with_infinity: In how many samples it had an infinity.
        samples: How many samples had elements of it.
    """

    lower: float
    upper: float
    with_nan: int
    with_infinity: int
    samples: int

    @property
    def is_finite(self) -> bool:
        """Whether all of them are finite."""
        return not self.with_nan and not self.with_infinity

    def __or__(self, other: "SeenNumbers") -> "SeenNumbers":
        return SeenNumbers(
            min(self.lower, other.lower),
            max(self.upper, other.upper),
            self.with_nan + other.with_nan,
            self.with_infinity + other.with_infinity,
            self.samples + other.samples,
        )

    @property
    def remark(self) -> str:
        """What of them no range says, or only one that reaches infinity; empty if there is none."""
        of = f"of {self.samples} samples"
        if self.with_nan:
            return (
                f"NaN in {self.with_nan} {of}: no range, and not finite = true, for both refuse NaN"
            )
        if self.with_infinity:
            return f"infinite in {self.with_infinity} {of}: the range reaches infinity"
        return ""


Seen = Mapping[str, SeenNumbers]
"""The numbers of values by their names."""


def numbers_in(runs: Sequence[Mapping[str, Any]]) -> Seen:
    """The numbers of all values in some runs; of those that had no elements there is no entry."""
    found: dict[str, SeenNumbers] = {}
    for values in runs:
        for name, value in values.items():
            seen = _numbers_of(value)
            if seen is not None:
                found[name] = found[name] | seen if name in found else seen
    return found


def largest_sizes(runs: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    """The number of elements that each value had at most."""
    found: dict[str, int] = {}
    for values in runs:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                found[name] = max(found.get(name, 0), value.size)
    return found


def _numbers_of(value: Any) -> SeenNumbers | None:
    if not isinstance(value, np.ndarray) or value.size == 0 or value.dtype.kind in "OSUc":
        return None
    if value.dtype.kind in "iu":
        return SeenNumbers(value.min().item(), value.max().item(), 0, 0, 1)
    numbers = value.astype(np.float64)
    is_nan = np.isnan(numbers)
    known = numbers[~is_nan]
    lower, upper = (known.min().item(), known.max().item()) if known.size else (math.inf, -math.inf)
    infinite = known.size > 0 and not (math.isfinite(lower) and math.isfinite(upper))
    return SeenNumbers(lower, upper, int(is_nan.any()), int(infinite), 1)


def widened(seen: SeenNumbers, margin: float, element_type: ElementType) -> Limited:
    """A range of numbers of a type, with a margin at each end that does not change a sign.

    Args:
        seen: The numbers, at least one of which is no NaN.
        margin: The share of the largest of the range and the magnitudes of its ends.
        element_type: The type of the numbers.
    """
    ends = [Fraction(end) for end in (seen.lower, seen.upper) if math.isfinite(end)]
    more = Fraction(margin) * max((*map(abs, ends), *(ends[-1] - each for each in ends)), default=0)
    lower = _lower_end(seen.lower, more, element_type)
    return lower, _upper_end(seen.upper, more, element_type)


def _lower_end(seen: float, more: Fraction, element_type: ElementType) -> float:
    if math.isinf(seen):
        return seen
    end = Fraction(seen) - more
    if seen >= 0:
        end = max(end, Fraction(0))
    if element_type.family is Family.INTEGER:
        return max(math.floor(end), LIMITS[element_type].lower)
    return max(_rounded(end, ROUND_FLOOR), finite_numbers(element_type.dtype)[0])


def _upper_end(seen: float, more: Fraction, element_type: ElementType) -> float:
    if math.isinf(seen):
        return seen
    end = Fraction(seen) + more
    if seen <= 0:
        end = min(end, Fraction(0))
    if element_type.family is Family.INTEGER:
        return min(math.ceil(end), LIMITS[element_type].upper)
    return min(_rounded(end, ROUND_CEILING), finite_numbers(element_type.dtype)[1])


def _rounded(end: Fraction, rounding: str) -> float:
    """A number of few digits, in one direction; a double in between stays on its side."""
    context = Context(prec=_DIGITS, rounding=rounding)
    return float(context.divide(Decimal(end.numerator), Decimal(end.denominator)))
