"""Sets of numbers, as rules demand them of single elements.

    NumberSet("negative", lambda dtype: (0, math.inf))

A set is an interval, with NaN or without it, and with 0 or without it. It says in words what is
outside.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from sonnx_ort.facts.ranges import Range
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.terms.operand import first_index

_WITHOUT_NAN = "biu"
"""The kinds of dtypes that have neither NaN nor infinities."""


Limits = tuple[float | None, float | None]
"""The smallest and the largest allowed number; None for an end at or beyond the type's own."""


def everything(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The interval of all numbers of a type."""
    del dtype
    return -math.inf, math.inf


def finite_numbers(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and the largest finite number of a type; all, if it has no infinity."""
    if dtype.kind in _WITHOUT_NAN:
        return everything(dtype)
    finite: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(finite.min), float(finite.max)


_WIDE = 4
"""The bytes of the narrowest float that is compared in its own type."""


def finite_limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and largest number that is finite in a type.

    16-bit floats are compared in float, and ONNX Runtime may omit the rounding before. So for
    these it is the largest float that is rounded to a finite number.
    """
    _, largest = finite_numbers(dtype)
    if dtype.itemsize < _WIDE and largest < np.inf:
        step = largest - float(np.nextafter(dtype.type(largest), dtype.type(0)))
        largest = float(np.nextafter(np.float32(largest + step / 2), np.float32(0)))
    return -largest, largest


@dataclass(frozen=True, slots=True)
class NumberSet:
    """Which numbers elements may be, by type.

    Attributes:
        outside: Describes a forbidden element, such as "negative".
        interval: The smallest and largest allowed number, by type.
        admits_nan: Whether NaN is allowed.
        admits_zero: Whether 0 is, if it lies in the interval.
        finding: What a forbidden element of a run is; empty for "<operand> is <outside>".
    """

    outside: str
    interval: Callable[[np.dtype[Any]], tuple[float, float]] = everything
    admits_nan: bool = True
    admits_zero: bool = True
    finding: str = ""

    def limits(self, dtype: np.dtype[Any]) -> Limits:
        """The allowed interval for a type."""
        lower, upper = self.interval(dtype)
        smallest, largest = -math.inf, math.inf
        if dtype.kind == "b":
            smallest, largest = 0, 1
        elif dtype.kind in _WITHOUT_NAN:
            smallest, largest = np.iinfo(dtype).min, np.iinfo(dtype).max
        return lower if lower > smallest else None, upper if upper < largest else None

    def binds(self, dtype: np.dtype[Any]) -> bool:
        """Whether a type has elements outside."""
        nan_is_outside = not self.admits_nan and dtype.kind not in _WITHOUT_NAN
        return nan_is_outside or not self.admits_zero or self.limits(dtype) != (None, None)

    def holds_all(self, numbers: Bounds | Range, dtype: np.dtype[Any]) -> bool:
        """Whether all numbers in an interval are in the set, and NaN if it is possible."""
        lower, upper = self.limits(dtype)
        return (
            (lower is None or lower <= numbers.lower)
            and (upper is None or numbers.upper <= upper)
            and (self.admits_zero or 0 not in numbers)
            and (self.admits_nan or isinstance(numbers, Bounds) or not numbers.nan)
        )

    def first_outside(self, array: npt.NDArray[Any]) -> tuple[int, ...] | None:
        """The index of the first element outside; None if there is none."""
        lower, upper = self.limits(array.dtype)
        if self._holds_extremes(array, lower, upper):
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            masks = [] if lower is None else [array < lower]
            masks += [] if upper is None else [array > upper]
        masks += [] if self.admits_nan else [np.isnan(array)]
        masks += [] if self.admits_zero else [array == 0]
        if not masks:
            return None
        outside = np.asarray(reduce(np.logical_or, masks))
        return first_index(outside) if outside.any() else None

    def _holds_extremes(
        self, array: npt.NDArray[Any], lower: float | None, upper: float | None
    ) -> bool:
        """Whether the extremes of each block show that no element is outside.

        No array is made, and a block stays in the cache. A block with NaN shows nothing, nor does
        an array that has to be copied.
        """
        if array.dtype.kind not in _ORDERED or not array.flags.c_contiguous:
            return False
        ordered = (lower, upper, self.admits_nan) != (None, None, True)
        flat = array.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            if ordered and not _lies_within(block, lower, upper):
                return False
            if not self.admits_zero and _has_zero(block):
                return False
        return True


@np.errstate(invalid="ignore", over="ignore")
def _lies_within(block: npt.NDArray[Any], lower: float | None, upper: float | None) -> bool:
    """Whether the extremes of some elements are within limits, and none of them is NaN."""
    smallest = block.min()
    if smallest != smallest or (lower is not None and smallest < lower):  # noqa: PLR0124
        return False
    return upper is None or not block.max() > upper


def _has_zero(block: npt.NDArray[Any]) -> bool:
    """Whether an element is 0; numpy counts those of integers faster than it compares them."""
    if block.dtype.kind in _WITHOUT_NAN:
        return bool(np.count_nonzero(block) < block.size)
    return bool((block == 0).any())


_ORDERED = frozenset("iuf")
"""The kinds of types whose extremes numpy finds, NaN if there is one."""


_BLOCK = 1 << 16


FINITE_NUMBERS = NumberSet("NaN or infinite", finite_limits, admits_nan=False)
"""The numbers that are neither NaN nor infinite."""
