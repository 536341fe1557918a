"""What is known of the results of a node: exact elements, enclosures, and what is not defined.

Elements are computed over the reals first: each is enclosed by two numbers, which are one and the
same wherever the element is rational. What roundings on the way may add to it, in a type, is kept
beside it as a bound of the error; a result in this type lies between both ends, each moved by this
bound and rounded.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS
from sonnx_ort.oracle.elements import Exact, encoded_elements
from sonnx_ort.oracle.enclosure import Enclosure
from sonnx_ort.oracle.numbers import Kind, Number, finite, power_of_two
from sonnx_ort.profile.element_type import ElementType

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Ends = tuple[Fraction, Fraction]
"""Two rationals that enclose a number; they are equal if it is one of them."""

EXACT = "exact: no other result is admitted"
"""The bound of elements that all implementations must give alike."""


class NotDefinedError(Exception):
    """The documents give no result at all for these operands, not even a shape."""


@dataclass(frozen=True, slots=True)
class Undefined:
    """The documents give no result at all; `reason` says why."""

    reason: str


class Admitted(Protocol):
    """The results that are admitted."""

    def admits(self, found: Array) -> Mask:
        """Which results are admitted.

        Raises:
            ValueError: The results have another type or shape.
        """
        ...


@dataclass(frozen=True, slots=True)
class Copies:
    """Results that have the bits of `elements`, because the operator only moves elements."""

    elements: Array

    def admits(self, found: Array) -> Mask:
        """Which results have these bits."""
        _assert_alike(found, self.elements)
        if found.dtype.kind in "OUS":
            return np.asarray(found == self.elements, np.bool_)
        width = f"u{found.dtype.itemsize}"
        bits = [np.ascontiguousarray(each).view(width) for each in (found, self.elements)]
        return np.asarray(bits[0] == bits[1], np.bool_).reshape(found.shape)


@dataclass(frozen=True, slots=True)
class Choices:
    """Results of which each is one of several integers, `nearest` among them."""

    nearest: Array
    sets: Sequence[frozenset[int]]

    def admits(self, found: Array) -> Mask:
        """Which results are among the integers."""
        _assert_alike(found, self.nearest)
        among = [e in chosen for e, chosen in zip(found.ravel().tolist(), self.sets, strict=True)]
        return np.array(among, np.bool_).reshape(found.shape)


class Verdict(enum.StrEnum):
    """What a computed element is."""

    EXACT = "exact"
    ADMITTED = "admitted"
    OUTSIDE = "outside"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a node.

    Attributes:
        nearest: The exact elements, each rounded once.
        admitted: What implementations may give.
        undefined: The elements for which the documents define nothing, so that any is admitted.
        bound: The error that is admitted, and the source of this bound.
        reason: Why elements are undefined; empty if none is.
    """

    nearest: Array
    admitted: Admitted
    undefined: Mask
    bound: str = EXACT
    reason: str = ""

    def verdicts(self, found: Array) -> npt.NDArray[np.object_]:
        """The verdict on each computed element; zeros of both signs are equal, and so are NaNs.

        Raises:
            ValueError: The results have another type or shape.
        """
        verdicts = np.full(found.shape, Verdict.OUTSIDE, object)
        verdicts[self.admitted.admits(found)] = Verdict.ADMITTED
        if isinstance(self.admitted, Copies):
            verdicts[verdicts == Verdict.ADMITTED] = Verdict.EXACT
        else:
            verdicts[_equal(found, self.nearest)] = Verdict.EXACT
        verdicts[self.undefined] = Verdict.UNDEFINED
        return verdicts


def _equal(found: Array, expected: Array) -> Mask:
    # Reading a signaling NaN raises the invalid-operation flag.
    with np.errstate(invalid="ignore"):
        equal = found == expected
        if found.dtype.kind not in "biu":
            equal |= np.isnan(found) & np.isnan(expected)
    return np.asarray(equal)


def _assert_alike(found: Array, expected: Array) -> None:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        description = f"{found.dtype} {found.shape}, not {expected.dtype} {expected.shape}"
        raise ValueError(f"results are {description}")


@dataclass(frozen=True, slots=True)
class Enclosed:
    """An element before it is rounded.

    Attributes:
        lower: It is not below this number, which is finite unless `upper` is the same.
        upper: It is not above this number.
        error: What roundings may add to it or take off, the last one included. Zero if it is
            rounded once.
        reach: A bound of all magnitudes on the way to it.
        defined: Whether the documents define it.
    """

    lower: Number
    upper: Number
    error: Fraction = Fraction(0)
    reach: Fraction = Fraction(0)
    defined: bool = True

    @property
    def middle(self) -> Number:
        """The number itself if both ends are the same, else one between them."""
        if self.lower == self.upper or self.upper.kind is not Kind.FINITE:
            return self.upper
        return number((self.lower.value + self.upper.value) / 2)

    @property
    def ends(self) -> Ends | None:
        """Both ends over the reals; None if it is not defined, or not real."""
        if not self.defined or Kind.FINITE not in {self.lower.kind, self.upper.kind}:
            return None
        return self.lower.value, self.upper.value


def number(value: Fraction) -> Number:
    """The finite number of this value, which is not -0."""
    return finite(abs(value), negative=value < 0)


def point(datum: Number, error: Fraction = Fraction(0)) -> Enclosed:
    """The element that is this number."""
    return Enclosed(datum, datum, error)


UNDEFINED = Enclosed(number(Fraction(0)), number(Fraction(0)), defined=False)
"""An element for which the documents define nothing."""


@dataclass(frozen=True, slots=True)
class Elements:
    """A result before it is rounded: a tensor of `Enclosed`, its type, and the texts of a result.

    The type is None over the reals.
    """

    elements: Exact
    element_type: ElementType | None
    bound: str = EXACT
    reason: str = ""

    def rounded(self) -> Result:
        """The result in its type.

        Raises:
            ValueError: The elements are real.
        """
        if self.element_type is None:
            raise ValueError("real elements have no type to round them to")
        element_type, shape, flat = (
            self.element_type,
            self.elements.shape,
            self.elements.ravel().tolist(),
        )
        limit = power_of_two(FLOAT_FORMATS[element_type].largest_exponent)

        def encoded(numbers: Iterable[Number]) -> Array:
            return encoded_elements(list(numbers), element_type).reshape(shape)

        enclosure = Enclosure(
            encoded(_moved(e.lower, -e.error) for e in flat),
            encoded(_moved(e.upper, e.error) for e in flat),
            np.array([e.reach >= limit for e in flat], np.bool_).reshape(shape),
        )
        undefined = np.array([not e.defined for e in flat], np.bool_).reshape(shape)
        reason = self.reason if undefined.any() else ""
        nearest = encoded(e.middle for e in flat)
        return Result(nearest, enclosure, undefined, self.bound, reason)


def _moved(end: Number, distance: Fraction) -> Number:
    """A finite number moved by a distance; others, and all without one, stay what they are."""
    return end if end.kind is not Kind.FINITE or distance == 0 else number(end.value + distance)


def tensor(elements: Iterable[Any], shape: Sequence[int]) -> Exact:
    """A tensor of elements that are no arrays, from row-major order."""
    flat = list(elements)
    made = np.empty(len(flat), object)
    made[:] = flat
    return made.reshape(shape)


def exactly(nearest: Array, undefined: Mask | None = None, reason: str = "") -> Result:
    """A result of which no other is admitted."""
    mask = np.zeros(nearest.shape, np.bool_) if undefined is None else undefined
    alone = Enclosure(nearest, nearest, np.zeros(nearest.shape, np.bool_))
    return Result(nearest, alone, mask, EXACT, reason if mask.any() else "")


def copied(elements: Array) -> Result:
    """A result that has the bits of elements of the operands."""
    return Result(elements, Copies(elements), np.zeros(elements.shape, np.bool_))
