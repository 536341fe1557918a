"""Every pair of numbers of 16 bits, through an emitted graph, against what IEEE 754 defines.

The comparison is exact: in double, the product of a number of 16 bits and the mean of two of them
has no rounding error, and that of a difference is computed along with it.
"""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.element_type import ElementType

Array = npt.NDArray[Any]
Side = Callable[[Array], Array]
"""Whether an exact result is above, at or below a number: 1, 0 or -1."""

PATTERNS = 1 << 16


def numbers(patterns: Array, element_type: ElementType) -> Array:
    """Numbers of 16 bits by their bit patterns."""
    return patterns.astype(np.uint16).view(element_type.dtype)


def wrong(operator: str, a: Array, b: Array, found: Array) -> Array:
    """Where a result is not the nearest number of its type, ties to even."""
    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        plain = _PLAIN[operator](wide_a, wide_b)
        good = _is_nearest(found, _SIDES[operator](wide_a, wide_b))
        # The means of what is not finite are no numbers, and zeros are exact or too small.
        rest = np.flatnonzero(~good | (plain == 0) | ~np.isfinite(plain))
        good[rest] = _is_exact(found[rest].astype(np.float64), plain[rest])
        return ~good


def _is_exact(found: Array, plain: Array) -> Array:
    """Whether a zero, an infinity or NaN is what comes out in double, where that is exact too."""
    special = (plain == 0) | ~np.isfinite(plain)
    same = (found == plain) & (np.signbit(found) == np.signbit(plain))
    return special & (same | (np.isnan(found) & np.isnan(plain)))


def _is_nearest(found: Array, side: Side) -> Array:
    """Whether numbers are the nearest to exact results, which `side` compares with means."""
    below, above = _means(found.dtype)
    patterns = found.view(np.uint16)
    even = patterns % 2 == 0
    lower, higher = side(below[patterns]), side(above[patterns])
    return ((lower > 0) | (even & (lower == 0))) & ((higher < 0) | (even & (higher == 0)))


@functools.cache
def _means(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """For each pattern the mean of its number and the next smaller, and larger, one; NaN of NaN.

    What is rounded to a zero has the sign of the zero, so that zeros reach to 0 alone.
    """
    magnitude = np.arange(PATTERNS // 2)
    infinity = _infinity(dtype)
    own = _stretched(magnitude, dtype)
    outer = (own + _stretched(magnitude + 1, dtype)) / 2
    inner = np.concatenate([[0.0], outer[:-1]])
    outer[infinity] = np.inf
    outer[infinity + 1 :] = inner[infinity + 1 :] = np.nan
    return np.concatenate([inner, -outer]), np.concatenate([outer, -inner])


def _stretched(magnitude: Array, dtype: np.dtype[Any]) -> Array:
    """Positive numbers by their patterns; infinity is the power of two that would be next."""
    values = np.asarray(magnitude, np.uint16).view(dtype).astype(np.float64)
    infinity = _infinity(dtype)
    largest = np.array([infinity - 1, infinity - 2], np.uint16).view(dtype).astype(np.float64)
    # The pattern behind the last one is that of no number either.
    return np.where(magnitude >= infinity, 2 * largest[0] - largest[1], values)


def _infinity(dtype: np.dtype[Any]) -> int:
    return int(np.array(np.inf, dtype).view(np.uint16))


def _sides_of_quotients(a: Array, b: Array) -> Side:
    return lambda mean: np.sign(a * np.sign(b) - mean * np.abs(b))


def _sides_of_differences(a: Array, b: Array) -> Side:
    rounded = a - b
    behind = rounded - a
    error = (a - (rounded - behind)) - (b + behind)

    def side(mean: Array) -> Array:
        return np.where(rounded == mean, np.sign(error), np.sign(rounded - mean))

    return side


def _sides_of_products(a: Array, b: Array) -> Side:
    exact = a * b
    return lambda mean: np.sign(exact - mean)


_PLAIN: Mapping[str, np.ufunc] = MappingProxyType(
    {"Div": np.divide, "Mul": np.multiply, "Sub": np.subtract}
)
_SIDES: Mapping[str, Callable[[Array, Array], Side]] = MappingProxyType(
    {"Div": _sides_of_quotients, "Mul": _sides_of_products, "Sub": _sides_of_differences}
)
