"""Powers of integers that their type holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.facts.bounds import EXACT_IN_DOUBLE
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.rule import (
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand, first_index, format_index

_GAP = 1 << 25
"""A power with an exponent above 1 is 2^53 or more, or less than that by more than this."""


def is_wide(dtype: np.dtype[Any]) -> bool:
    """Whether double does not have all integers of a type, neither bases nor exponents."""
    return dtype.itemsize == 8


def exact_powers(dtype: np.dtype[Any]) -> Bounds:
    """The powers that a type of integers holds and that are certainly exact."""
    limits = np.iinfo(dtype)
    if not is_wide(dtype):
        return Bounds(int(limits.min), int(limits.max))
    return Bounds(max(int(limits.min), 1 - EXACT_IN_DOUBLE), EXACT_IN_DOUBLE - 1)


def limits_of_powers(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Doubles between the exact powers of a type and all others."""
    allowed, beside = exact_powers(dtype), 1 if is_wide(dtype) else 0.5
    return allowed.lower - beside, allowed.upper + beside


def limit_of_exponents(dtype: np.dtype[Any]) -> float:
    """The double that every exponent is below; infinity if those of the type all are."""
    return EXACT_IN_DOUBLE if is_wide(dtype) else np.inf


class ExactPower:
    """Every power is one of its type, and exact if it is computed in double.

    A power of 64 bits is between -2^53 and 2^53. Its exponent is below 2^53, because the power of
    -1 depends on its last bit. Whether exponents are negative is another rule's; 0 to the power of
    one is no integer.
    """

    subject = Subject.ELEMENTS

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check bounds, then constants."""
        x, y = operands
        unknown = at_run_time("the elements depend on the inputs")
        element_type = ElementType.named(x.element_type)
        if element_type is None or element_type.family is not Family.INTEGER:
            return unknown
        bases, exponents = x.interval, y.interval
        if bases is not None and exponents is not None:
            largest = _largest_magnitude(bases, exponents, element_type.dtype)
            if largest is not None:
                return proved(f"no power is beyond {largest} in magnitude")
        base, exponent = x.constant, y.constant
        if base is None or exponent is None or not _fits(base, exponent):
            return unknown
        index = _first_inexact(base, exponent)
        if index is None:
            return proved("every power of the constants is exact")
        return violated(f"a power of the constants may not be exact, at {format_index(index)}")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first power that may not be exact."""
        x, y = arrays
        if _within_bounds(x, y):
            return None
        index = _first_inexact(x, y)
        if index is None:
            return None
        at, values = format_index(index), (x[index].item(), y[index].item())
        reason = f"a power that may not be exact: X{at} = {values[0]}, Y{at} = {values[1]}"
        return Violation(reason, index, values)


def _largest_magnitude(bases: Bounds, exponents: Bounds, dtype: np.dtype[Any]) -> int | None:
    """The largest magnitude of powers; None if not all of them are certainly exact."""
    allowed = exact_powers(dtype).upper
    if (exponents.lower < 0 and 0 in bases) or (is_wide(dtype) and exponents.upper > allowed):
        return None
    base = max(abs(bases.lower), abs(bases.upper), 1)
    # A larger exponent gives too much of every base that decides.
    largest = base ** min(max(exponents.upper, 0), 64)
    return largest if largest <= allowed else None


def _within_bounds(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> bool:
    """Whether the largest base and the largest exponent alone show that every power is exact."""
    if x.size == 0 or y.size == 0:
        return True
    bases, exponents = (Bounds(int(array.min()), int(array.max())) for array in (x, y))
    return _largest_magnitude(bases, exponents, x.dtype) is not None


def _fits(base: npt.NDArray[Any], exponent: npt.NDArray[Any]) -> bool:
    """Whether each power of constants is known: of integers of one shape, or of one exponent."""
    integers = base.dtype.kind in "iu" and exponent.dtype.kind in "iu"
    return integers and (base.shape == exponent.shape or exponent.size == 1)


# Half as expensive as a decorator as it is as a context manager.
@np.errstate(all="ignore")
def _first_inexact(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """The index of the first power that may not be exact.

    The comparisons of rounded powers are exact: the limits lie between integers, or where there are
    no powers, and farther from the next power than it is rounded.
    """
    power, allowed = np.power(x.astype(np.float64), y.astype(np.float64)), exact_powers(x.dtype)
    if is_wide(x.dtype):
        # The power of 1 is the base itself, which may be anywhere.
        itself = (y == 1) & (x >= allowed.lower) & (x <= allowed.upper)
        inexact = ~(np.abs(power) < allowed.upper - _GAP) & ~itself | (y > allowed.upper)
    else:
        inexact = ~((power > allowed.lower - 0.5) & (power < allowed.upper + 0.5))
    return first_index(np.asarray(inexact)) if inexact.any() else None
