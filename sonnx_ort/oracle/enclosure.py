"""Enclosures of results that implementations may round differently.

With unit roundoff u and n roundings on the longest path, a computed sum differs from the exact one
by at most gamma = n u / (1 - n u) times the sum of the magnitudes of all summands. An underflowing
product adds at most half the smallest subnormal number.

The oracle computes exactly and rounds once. Most kernels must return exactly these bits. If a
result is irrational, or depends on the order of a sum, nearby results are admitted: within some
units in the last place, which were measured, or within a bound on the rounding errors, which is
proved for every order of summation (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
3.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.numbers import BinaryFormat, power_of_two
from sonnx_ort.profile.element_type import ElementType

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@cache
def relative_error(roundings: int, binary: BinaryFormat) -> Fraction:
    """A bound of the relative error after this number of roundings, which is gamma for few.

    For many it is 2^(1.5 n u) - 1, rounded up, which bounds (1 - u)^-n - 1.
    """
    error = roundings * power_of_two(-binary.precision)
    return error / (1 - error) if 2 * error < 1 else power_of_two(ceil(Fraction(3, 2) * error)) - 1


def half_a_subnormal(binary: BinaryFormat) -> Fraction:
    """The largest error of a rounding below the normal numbers."""
    return power_of_two(binary.smallest_exponent - binary.precision)


UNITS: Mapping[tuple[str, ElementType], int] = MappingProxyType(
    {
        ("Log", ElementType.FLOAT16): 1,
        ("Log", ElementType.FLOAT): 3,
        ("Log", ElementType.DOUBLE): 1,
        ("Acos", ElementType.FLOAT16): 1,
        ("Acos", ElementType.FLOAT): 4,
        ("Pow", ElementType.FLOAT16): 1,
        ("Pow", ElementType.FLOAT): 1,
        ("Pow", ElementType.DOUBLE): 1,
    }
)
"""Maximum error of ONNX Runtime in units in the last place."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The admitted results.

    Attributes:
        lowest: The smallest admitted element; NaN if the result is NaN.
        highest: The largest admitted element.
        anything: Where every element is admitted, because intermediate values may exceed the type.
    """

    lowest: Array
    highest: Array
    anything: Mask

    def admits(self, found: Array) -> Mask:
        """Which results are admitted; zeros of both signs are equal, and so are all NaNs.

        Raises:
            ValueError: The results have another type or shape.
        """
        assert_alike(found, self.lowest)
        # Reading a signaling NaN raises the invalid-operation flag.
        with np.errstate(invalid="ignore"):
            within = (self.lowest <= found) & (found <= self.highest)
        return within | alike(found, self.lowest) | self.anything


def alike(found: Array, expected: Array) -> Mask:
    """Which elements are equal; zeros of both signs are, and so are all NaNs."""
    with np.errstate(invalid="ignore"):
        equal = found == expected
        if found.dtype.kind not in "biuOUS":
            equal |= np.isnan(found) & np.isnan(expected)
    return np.asarray(equal, np.bool_)


def assert_alike(found: Array, expected: Array) -> None:
    """Assert that results have the expected type and shape.

    Raises:
        ValueError: They have not.
    """
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        description = f"{found.dtype} {found.shape}, not {expected.dtype} {expected.shape}"
        raise ValueError(f"results are {description}")


def between(lowest: Array, highest: Array) -> Enclosure:
    """The elements from the lowest to the highest."""
    return Enclosure(lowest, highest, np.zeros(lowest.shape, np.bool_))


def within_units(nearest: Array, units: int) -> Enclosure:
    """The elements so many units in the last place around the nearest."""
    return between(_shifted_by_ulps(nearest, -units), _shifted_by_ulps(nearest, units))


def _shifted_by_ulps(array: Array, units: int) -> Array:
    """The floats moved by a number of ulps; infinities, NaNs and integers are unchanged."""
    if units == 0:
        return array
    width = 8 * array.dtype.itemsize
    finite = np.isfinite(array).ravel().tolist()
    bits = array.view(f"u{array.dtype.itemsize}").ravel().tolist()
    moved = [_step(b, units, width) if f else b for b, f in zip(bits, finite, strict=True)]
    return np.array(moved, f"u{array.dtype.itemsize}").view(array.dtype).reshape(array.shape)


def _step(bits: int, units: int, width: int) -> int:
    """The bit pattern moved by a number of ulps; patterns of one sign are ordered by value."""
    sign = 1 << (width - 1)
    place = (-(bits - sign) if bits >= sign else bits) + units
    return place if place >= 0 else sign - place
