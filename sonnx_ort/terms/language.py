"""The language of demands: on shapes, and on single elements.

    X, W = Tensor("X"), Tensor("W")
    All((X.rank == 4, 4 * W.size(1) == X.size(1)))
    NumberSet("negative", lambda dtype: (0, math.inf))

Python's operators build comparisons, so that they read as the sentence of their rule does. Numbers
and terms are hashed by identity, because `==` builds a term. A set of numbers is an interval, with
NaN or without it, and with 0 or without it. It says in words what is outside.
"""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from sonnx_ort.kernel.ranges import Range
from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.terms.operand import first_index


class Relation(enum.StrEnum):
    """How two numbers are compared, in words."""

    EQUAL = "is"
    AT_LEAST = "is at least"
    AT_MOST = "is at most"

    def holds(self, one: int, other: int) -> bool:
        """Whether it holds of two numbers."""
        match self:
            case Relation.EQUAL:
                return one == other
            case Relation.AT_LEAST:
                return one >= other
            case Relation.AT_MOST:
                return one <= other

    def decided(self, one: Bounds, other: Bounds) -> bool | None:
        """Whether it holds of any two numbers within bounds, or of none; else None."""
        match self:
            case Relation.EQUAL:
                if one == other and one.lower == one.upper:
                    return True
                apart = one.upper < other.lower or other.upper < one.lower
                return False if apart else None
            case Relation.AT_LEAST:
                return _is_at_least(one, other)
            case Relation.AT_MOST:
                return _is_at_least(other, one)


def _is_at_least(one: Bounds, other: Bounds) -> bool | None:
    if one.lower >= other.upper:
        return True
    return False if one.upper < other.lower else None


class _Comparable:
    """A number that shapes decide. It is never negative."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> "Compare":  # type: ignore[override]
        """That it is another number."""
        return Compare(_number(self), Relation.EQUAL, _number(other))

    def __ge__(self, other: object) -> "Compare":
        """That it is not below a number."""
        return Compare(_number(self), Relation.AT_LEAST, _number(other))

    def __le__(self, other: object) -> "Compare":
        """That it is not above a number."""
        return Compare(_number(self), Relation.AT_MOST, _number(other))

    def __rmul__(self, factor: int) -> "Number":
        """A multiple."""
        number = cast("Number", self)
        return number if factor == 1 else Times(factor, number)


def _number(given: object) -> "int | Number":
    if isinstance(given, int | Number):
        return given
    raise TypeError(f"a size is compared with a number or a size, and {given!r} is neither")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An operand, by its name in the operator's document."""

    name: str

    @property
    def rank(self) -> "Rank":
        """The number of its axes."""
        return Rank(self)

    def size(self, axis: int) -> "Size":
        """The size of an axis, negative from the end.

        No comparison holds of an axis that is not there.
        """
        return Size(self, axis)

    def has_axis(self, axis: int, *, or_end: bool = False) -> "HasAxis":
        """That an axis exists, negative from the end; `or_end` admits the rank itself too."""
        return HasAxis(self, axis, or_end)

    def is_of_shape(self, *sizes: "int | Number") -> "OfShape":
        """That it has so many axes, of these sizes."""
        own = (self.size(axis) == size for axis, size in enumerate(sizes))
        return OfShape((self.rank == len(sizes), *own), self, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class Rank(_Comparable):
    """The rank of a tensor."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Size(_Comparable):
    """The size of an axis of a tensor."""

    tensor: Tensor
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Times(_Comparable):
    """A multiple of a number."""

    factor: int
    number: "int | Number"


@dataclass(frozen=True, slots=True, eq=False)
class Compare:
    """A comparison of two numbers."""

    left: "int | Number"
    relation: Relation
    right: "int | Number"


@dataclass(frozen=True, slots=True, eq=False)
class IsMultiple:
    """A number is a multiple of a positive one."""

    number: "Number"
    factor: int


@dataclass(frozen=True, slots=True, eq=False)
class HasAxis:
    """A tensor has an axis, negative from the end; `or_end` admits the rank itself too."""

    tensor: Tensor
    axis: int
    or_end: bool = False

    @property
    def below_the_rank(self) -> int:
        """The number that is below the rank exactly if the axis exists, from either end."""
        return self.axis if self.axis >= 0 else -self.axis - 1


@dataclass(frozen=True, slots=True, eq=False)
class SizesBehind:
    """Every axis after `axis`, counted from the end if negative, has at most `longest` elements."""

    tensor: Tensor
    axis: int
    longest: int


@dataclass(frozen=True, slots=True, eq=False)
class All:
    """Each of some terms holds."""

    terms: "tuple[Term, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class OfShape(All):
    """A tensor has a rank and sizes; the terms say so one by one."""

    tensor: Tensor
    sizes: "tuple[int | Number, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """One of some terms holds at least."""

    terms: "tuple[Term, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """A term holds of each operand that is given."""

    of: "Callable[[Tensor], Term]"


@dataclass(frozen=True, slots=True, eq=False)
class IfGiven:
    """A term holds, unless an operand is omitted."""

    tensor: Tensor
    term: "Term"


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """What the attributes of a node decide, and how, as a clause; None if they leave it open."""

    holds: bool | None
    words: str


Number = Rank | Size | Times
"""A rank, a size, or a multiple of one."""

Term = Compare | IsMultiple | HasAxis | SizesBehind | All | Either | Each | IfGiven | Decided
"""A demand, which holds of the shapes of operands or does not.

Each reader takes every kind of term; mypy refuses one that passes over a kind.
"""


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
        # To count zeros is faster than to compare with 0.
        if not self.admits_zero and np.count_nonzero(array) < array.size:
            masks.append(array == 0)
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
