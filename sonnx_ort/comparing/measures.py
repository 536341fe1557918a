"""How far two values are apart, in a measure."""

import enum
from dataclasses import dataclass

import numpy as np

from sonnx_ort.comparing.isolated_run import Array, Results
from sonnx_ort.errors import SonnxError
from sonnx_ort.models.example import differing_elements


class Measure(enum.StrEnum):
    """How the difference of two elements is measured; that of two NaN is 0.

    Attributes:
        BITS: 1 if their bits differ.
        ULP: How many steps from one number of the type to the next are between them.
        ABSOLUTE: The magnitude of their difference.
        RELATIVE: The same, divided by the magnitude of the first.
    """

    BITS = "bits"
    ULP = "ulp"
    ABSOLUTE = "absolute"
    RELATIVE = "relative"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much two elements may differ.

    Attributes:
        most: The largest difference that is tolerated; in bits it is 0.

    Raises:
        SonnxError: Differences of bits are to be tolerated.
    """

    measure: Measure = Measure.BITS
    most: float = 0

    def __post_init__(self) -> None:
        """Check that there is something to tolerate."""
        if self.measure is Measure.BITS and self.most:
            raise SonnxError(
                f"tolerance={self.most:g}: bits are the same or not; name another measure="
            )


EXACT = Tolerance()
"""Tolerates nothing."""


def comparable(one: Array | None, other: Array | None) -> bool:
    """Whether two values can be compared by elements: tensors of one type and shape."""
    if one is None or other is None:
        return False
    return one.dtype == other.dtype and one.shape == other.shape


def distances(one: Array, other: Array, measure: Measure = Measure.BITS) -> Array:
    """The difference of each two elements of tensors that are alike.

    Infinite if one element is NaN. Where the measure needs numbers, text has that of its bits.
    """
    differing = (
        np.asarray(one != other) if one.dtype.kind == "O" else differing_elements(one, other)
    )
    if measure is Measure.BITS or one.dtype.kind in "Ob":
        return np.asarray(differing, np.float64)
    with np.errstate(all="ignore"):
        found = _ulps(one, other) if measure is Measure.ULP else _absolute(one, other)
        if measure is Measure.RELATIVE:
            found = np.where(found == 0, 0, found / np.abs(one.astype(np.float64)))
    # What is not a number stands for a NaN beside another element.
    return np.where(differing, np.where(np.isnan(found), np.inf, found), 0)


def _ulps(one: Array, other: Array) -> Array:
    if one.dtype.kind in "iu":
        return _absolute(one, other)
    nan = np.isnan(one) | np.isnan(other)
    return np.where(nan, np.inf, _absolute(_steps(one), _steps(other)))


def _steps(numbers: Array) -> Array:
    """Integers in the order of floats, one more from each to the next; both zeros are 0."""
    bits = np.ascontiguousarray(numbers).reshape(numbers.shape).view(f"i{numbers.dtype.itemsize}")
    wide = bits.astype(np.int64)
    return np.where(wide < 0, np.int64(np.iinfo(bits.dtype).min) - wide, wide)


def _absolute(one: Array, other: Array) -> Array:
    if one.dtype.kind not in "iu":
        return np.abs(one.astype(np.float64) - other.astype(np.float64))
    # Modulo 2^64 the difference of the larger and the smaller is exact.
    larger, smaller = np.maximum(one, other), np.minimum(one, other)
    return np.asarray(larger.astype(np.uint64) - smaller.astype(np.uint64), np.float64)


def largest(one: Array | None, other: Array | None, measure: Measure = Measure.BITS) -> float:
    """The difference of two values: that of the elements that are farthest apart.

    In bits it is the number of elements that differ. It is infinite if the values are not alike,
    and 0 if neither is a tensor.
    """
    if one is None and other is None:
        return 0
    if one is None or other is None or not comparable(one, other):
        return np.inf
    found = distances(one, other, measure)
    return float(found.sum() if measure is Measure.BITS else found.max(initial=0))


def same(one: Array | None, other: Array | None) -> bool:
    """Whether two values have the same bits; all NaNs are equal, and all that are no tensors."""
    return largest(one, other) == 0


def differing(found: Results, expected: Results) -> tuple[str, ...]:
    """The names of the values that have other bits; all NaNs are equal."""
    return tuple(name for name, array in expected.items() if not same(found.get(name), array))
