"""What is known of the results of a node: exact elements, enclosures, and what is not defined.

The oracle computes each element over the reals and rounds once. Most kernels must return exactly
these bits. If a result is irrational, or depends on the order of a sum, nearby results are
admitted: within some units in the last place, which were measured, or within a bound on the
rounding errors, which is proved for every order of summation (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, 3.1). With unit roundoff u and n roundings on the longest path, a
computed sum differs from the exact one by at most gamma = n u / (1 - n u) times the sum of the
magnitudes of all summands. An underflowing product adds at most half the smallest subnormal number.

A zero has a sign, and -0 comes before 0. Where a document leaves the sign open, the admitted
results reach from -0 to 0; `zeros` has the documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sonnx_ort.meaning.balls import Interval, ends
from sonnx_ort.meaning.numbers import (
    FLOAT_FORMATS,
    NAN,
    ZERO,
    Array,
    BinaryFormat,
    Exact,
    Number,
    encoded_elements,
    number,
    power_of_two,
    tensor,
)
from sonnx_ort.meaning.zeros import Signs
from sonnx_ort.profile.element_type import ElementType

if TYPE_CHECKING:
    from flint import arb

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


UNITS: Mapping[tuple[str, ElementType], int] = {
    ("Log", ElementType.FLOAT16): 1,
    ("Log", ElementType.FLOAT): 3,
    ("Log", ElementType.DOUBLE): 1,
    ("Acos", ElementType.FLOAT16): 1,
    ("Acos", ElementType.FLOAT): 4,
    ("Pow", ElementType.FLOAT16): 1,
    ("Pow", ElementType.FLOAT): 1,
    ("Pow", ElementType.DOUBLE): 1,
}
"""Maximum error of ONNX Runtime in units in the last place, as it was measured."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The admitted results, in an order in which -0 comes before 0.

    Attributes:
        lowest: The smallest admitted element; NaN if the result is NaN.
        highest: The largest admitted element. From -0 to 0 a zero of either sign is admitted.
        anything: Where every element is admitted, because intermediate values may exceed the type.
    """

    lowest: Array
    highest: Array
    anything: Mask

    def admits(self, found: Array) -> Mask:
        """Which results are admitted; all NaNs are equal.

        Raises:
            ValueError: The results have another type or shape.
        """
        require_form(found, self.lowest)
        # Reading a signaling NaN raises the invalid-operation flag.
        with np.errstate(invalid="ignore"):
            within = (self.lowest <= found) & (found <= self.highest)
        within |= equal_elements(found, self.lowest)
        if not has_signs(found):
            return within | self.anything
        negative = np.signbit(found)
        lowest_is_above = ~np.signbit(self.lowest) & negative & (self.lowest == 0)
        highest_is_below = np.signbit(self.highest) & ~negative & (self.highest == 0)
        other_zero = (found == 0) & (lowest_is_above | highest_is_below)
        return np.asarray((within & ~other_zero) | self.anything, np.bool_)


def equal_elements(found: Array, expected: Array) -> Mask:
    """Which elements are equal; zeros of both signs are, and so are all NaNs."""
    with np.errstate(invalid="ignore"):
        equal = found == expected
        if found.dtype.kind not in "biuOUS":
            equal |= np.isnan(found) & np.isnan(expected)
    return np.asarray(equal, np.bool_)


def has_signs(elements: Array) -> bool:
    """Whether elements are floats, of which zeros have signs."""
    return elements.dtype.kind not in "biuOUS"


def of_other_signs(one: Array, other: Array) -> Mask:
    """Which elements are zeros of which the other one has the other sign."""
    if not has_signs(one):
        return np.zeros(one.shape, np.bool_)
    return np.asarray((one == 0) & (other == 0) & (np.signbit(one) != np.signbit(other)))


def require_form(found: Array, expected: Array) -> None:
    """Require that results have the expected type and shape.

    Raises:
        ValueError: They have not.
    """
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        description = f"{found.dtype} {found.shape}, not {expected.dtype} {expected.shape}"
        raise ValueError(f"results are {description}")


def between(lowest: Array, highest: Array) -> Enclosure:
    """The elements from the lowest to the highest."""
    return Enclosure(lowest, highest, np.zeros(lowest.shape, np.bool_))


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


EXACT = "exact: no other result is admitted"
"""The bound of elements that all implementations must give."""


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
    """Results that have the bits of elements of operands, because the operator only moves them.

    Attributes:
        elements: The elements that the documents choose, or one of those that they may choose.
        others: Further elements that may be in the place of one, by its flat index, where the
            documents leave the choice open.
    """

    elements: Array
    others: Mapping[int, Array] = field(default_factory=dict)

    def admits(self, found: Array) -> Mask:
        """Which results have the bits of an admitted element."""
        admitted = self.chosen(found)
        flat = found.ravel()
        for place, others in self.others.items():
            admitted.flat[place] |= bool(_same_bits(others, flat[place : place + 1]).any())
        return admitted

    def chosen(self, found: Array) -> Mask:
        """Which results have the bits of `elements`."""
        require_form(found, self.elements)
        return _same_bits(found, self.elements)

    def farthest(self) -> npt.NDArray[Any]:
        """How many units the farthest admitted element is away; -1 for one at no distance."""
        away = np.zeros(self.elements.size, object)
        flat = self.elements.ravel()
        for place, others in self.others.items():
            nearest = np.broadcast_to(flat[place], others.shape)
            units = exactly(nearest).units(others)
            away[place] = -1 if (units < 0).any() else max(units.tolist(), default=0)
        return away.reshape(self.elements.shape)


@dataclass(frozen=True, slots=True)
class Choices:
    """Results of which each is one of several integers, `nearest` among them."""

    nearest: Array
    sets: Sequence[frozenset[int]]

    def admits(self, found: Array) -> Mask:
        """Which results are among the integers."""
        require_form(found, self.nearest)
        among = [e in chosen for e, chosen in zip(found.ravel().tolist(), self.sets, strict=True)]
        return np.array(among, np.bool_).reshape(found.shape)


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a node.

    Attributes:
        nearest: The exact elements, each rounded once.
        admitted: What implementations may give.
        undefined: The elements for which the documents define nothing, so that any is admitted.
        bound: The error that is admitted, and the source of this bound.
        reason: Why elements are undefined; empty if none is.
        zeros: Which signs of zeros are decided, and who says so; empty of what has no signs.
    """

    nearest: Array
    admitted: Admitted
    undefined: Mask
    bound: str = EXACT
    reason: str = ""
    zeros: str = ""

    @property
    def is_single(self) -> bool:
        """Whether only one number, or NaN, is admitted wherever not everything is.

        Zeros of both signs are one number.
        """
        if isinstance(self.admitted, Copies):
            return not self.admitted.others
        if not isinstance(self.admitted, Enclosure):
            return True
        return bool(equal_elements(self.admitted.lowest, self.admitted.highest).all())

    @property
    def has_either_zero(self) -> bool:
        """Whether a zero of either sign is admitted somewhere, and no other number."""
        if not isinstance(self.admitted, Enclosure):
            return False
        return bool(of_other_signs(self.admitted.lowest, self.admitted.highest).any())

    def exact(self, found: Array) -> Mask:
        """Which computed elements are the nearest ones; none of those that are undefined.

        NaNs are equal, and zeros where either sign is admitted; moved elements keep their bits.

        Raises:
            ValueError: The results have another type or shape.
        """
        require_form(found, self.nearest)
        if isinstance(self.admitted, Copies):
            return self.admitted.chosen(found) & ~self.undefined
        same = equal_elements(found, self.nearest) & ~self.undefined
        if not isinstance(self.admitted, Enclosure):
            return same
        either = of_other_signs(self.admitted.lowest, self.admitted.highest)
        return same & (either | ~of_other_signs(found, self.nearest))

    def outside(self, found: Array) -> Mask:
        """Which computed elements are not admitted; none of those that are undefined.

        Raises:
            ValueError: The results have another type or shape.
        """
        return ~(self.admitted.admits(found) | self.undefined)

    def units(self, found: Array) -> npt.NDArray[Any]:
        """How many representable numbers each computed element is away from the nearest one.

        Of integers and bools it is the difference. Elements that are equal are 0 away; -1 stands
        for no distance: of a NaN or an infinity to something else, and of unequal texts.

        Raises:
            ValueError: The results have another type or shape.
        """
        require_form(found, self.nearest)
        equal = equal_elements(found, self.nearest)
        if found.dtype.kind in "OUS":
            return np.where(equal, 0, -1)
        away = np.asarray(apart(places(found), places(self.nearest)), object)
        if found.dtype.kind in "biu":
            return away
        with np.errstate(invalid="ignore"):
            distant = ~equal & ~(np.isfinite(found) & np.isfinite(self.nearest))
        return np.where(equal, 0, np.where(distant, -1, away))

    def admitted_units(self, found: Array) -> npt.NDArray[Any]:
        """How many units away from the nearest element the admitted ones reach.

        They reach up and down; the side is that of the computed element. -1 stands for any number.

        Raises:
            ValueError: The results have another type or shape.
        """
        require_form(found, self.nearest)
        if isinstance(self.admitted, Choices):
            pairs = zip(self.nearest.ravel().tolist(), self.admitted.sets, strict=True)
            farthest = [max(abs(each - nearest) for each in chosen) for nearest, chosen in pairs]
            return np.array(farthest, object).reshape(found.shape)
        if isinstance(self.admitted, Copies) and self.admitted.others:
            return self.admitted.farthest()
        if not isinstance(self.admitted, Enclosure) or found.dtype.kind in "OUS":
            return np.zeros(found.shape, np.int64)
        with np.errstate(invalid="ignore"):
            end = np.where(found < self.nearest, self.admitted.lowest, self.admitted.highest)
        end = np.asarray(end, found.dtype)
        away = np.asarray(apart(places(end), places(self.nearest)), object)
        reach = np.where(equal_elements(end, self.nearest), 0, away)
        return np.where(self.admitted.anything | self.undefined, -1, reach)


def places(elements: Array) -> Array:
    """Integers in the order of numbers, one more from each of a type to the next; 0 for zeros."""
    if elements.dtype.kind in "biu":
        return elements
    bits = _bits(elements).view(f"i{elements.dtype.itemsize}")
    wide = bits.astype(np.int64)
    return np.where(wide < 0, np.int64(np.iinfo(bits.dtype).min) - wide, wide)


def apart(one: Array, other: Array) -> npt.NDArray[np.uint64]:
    """The differences of integers of one type, without signs."""
    # Modulo 2^64 the difference of the larger and the smaller is exact.
    larger, smaller = np.maximum(one, other), np.minimum(one, other)
    return np.asarray(larger.astype(np.uint64) - smaller.astype(np.uint64))


def _same_bits(one: Array, other: Array) -> Mask:
    if one.dtype.kind in "OUS":
        return equal_elements(one, other)
    return np.asarray(_bits(one) == _bits(other), np.bool_)


def _bits(elements: Array) -> Array:
    width = f"u{elements.dtype.itemsize}"
    return np.ascontiguousarray(elements).view(width).reshape(elements.shape)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """An element before it is rounded.

    Attributes:
        value: The element over the reals: a `Number`, or a ball around it.
        error: What roundings before the last one may add to it or take off.
        reach: A bound of all magnitudes on the way to it.
        defined: Whether the documents define it.
        within: What roundings before the last one may make of it, if no error says that.
        passed_on: Whether it is an element of an operand, whose sign it has as a zero too.
    """

    value: Any
    error: Fraction = Fraction(0)
    reach: Fraction = Fraction(0)
    defined: bool = True
    within: Interval | None = None
    passed_on: bool = False

    @property
    def numbers(self) -> tuple[Number, Number]:
        """Two numbers between which it is; one and the same unless it is enclosed by a ball."""
        if isinstance(self.value, Number):
            return self.value, self.value
        lower, upper = ends(self.value)
        return number(lower), number(upper)

    @property
    def nearest(self) -> Number:
        """The number in the middle."""
        lower, upper = self.numbers
        return lower if lower is upper else number((lower.value + upper.value) / 2)

    @property
    def admitted(self) -> tuple[Number, Number]:
        """Two numbers between which it is after all roundings but the last one."""
        if self.within is not None:
            return number(self.within.low), number(self.within.high)
        lower, upper = self.numbers
        if not self.error or not lower.is_finite:
            return lower, upper
        return number(lower.value - self.error), number(upper.value + self.error)


UNDEFINED = Enclosed(ZERO, defined=False)
"""An element for which the documents define nothing."""

OPEN = Enclosed(NAN, reach=power_of_two(1 << 12))
"""An element that may be anything, because an operand is not finite or a sum may overflow."""


def between_balls(exact: "arb | Interval", rounded: "arb") -> Enclosed:
    """The element over the reals, and what roundings make of it, both of which are enclosed."""
    value = Interval.between(*ends(exact)) if exact.is_finite() else NAN
    if not rounded.is_finite():
        return replace(OPEN, value=value)
    return Enclosed(value, within=Interval.between(*ends(rounded)))


@dataclass(frozen=True, slots=True)
class Elements:
    """A result before it is rounded.

    Attributes:
        elements: A tensor of `Enclosed`, or of balls.
        element_type: Its type; None over the reals and of balls.
        bound: The error that is admitted, and the source of this bound.
        reason: Why elements are not defined.
        units: The units in the last place that are admitted beside the nearest element.
    """

    elements: Exact
    element_type: ElementType | None
    bound: str = EXACT
    reason: str = ""
    units: int = 0

    def rounded(self, signs: Signs) -> Result:
        """The result in its type, in which both ends of each enclosure are rounded.

        Args:
            signs: Which signs of zeros are decided. What units add to zeros is none of them.

        Raises:
            ValueError: The elements are real.
        """
        if self.element_type is None:
            raise ValueError("real elements have no type to round them to")
        element_type, shape = self.element_type, self.elements.shape
        flat: list[Enclosed] = self.elements.ravel().tolist()
        pairs = [each.admitted for each in flat]

        def encoded(numbers: Iterable[Number]) -> Array:
            return encoded_elements(tensor(numbers, shape), element_type)

        nearest = lowest = highest = encoded(each.nearest for each in flat)
        if any(low is not high for low, high in pairs):
            lowest, highest = map(encoded, zip(*pairs, strict=True))
        if self.units:
            moved = [_shifted_by_ulps(nearest, k) for k in (-self.units, self.units)]
            is_zero = mask((isinstance(e.value, Number) and e.value.is_zero for e in flat), shape)
            lowest, highest = (np.where(is_zero, nearest, each) for each in moved)
        if signs is not Signs.DECIDED:
            of_open_sign = mask((signs is Signs.OPEN or not e.passed_on for e in flat), shape)
            lowest, highest = _with_either_zero(lowest, highest, of_open_sign)
        limit = power_of_two(FLOAT_FORMATS[element_type].largest_exponent)
        anything = mask((e.reach >= limit for e in flat), shape)
        undefined = mask((not e.defined for e in flat), shape)
        alone = not anything.any() and bool(equal_elements(lowest, highest).all())
        return Result(
            nearest,
            Enclosure(lowest, highest, anything),
            undefined,
            EXACT if alone and not self.units else self.bound,
            self.reason if undefined.any() else "",
        )


def _with_either_zero(lowest: Array, highest: Array, where: Mask) -> tuple[Array, Array]:
    """The ends of enclosures, of which zeros in some places have either sign."""
    zero = np.zeros((), lowest.dtype)
    return (
        np.where(where & (lowest == 0), -zero, lowest),
        np.where(where & (highest == 0), zero, highest),
    )


def mask(values: Iterable[bool], shape: Sequence[int]) -> Mask:
    """What holds of which elements, from row-major order."""
    return np.array(list(values), np.bool_).reshape(shape)


def exactly(nearest: Array, undefined: Mask | None = None, reason: str = "") -> Result:
    """A result of which no other is admitted."""
    if undefined is None:
        undefined = np.zeros(nearest.shape, np.bool_)
    said = reason if undefined.any() else ""
    return Result(nearest, between(nearest, nearest), undefined, EXACT, said)


_ANY_OF_THEM = "any of several elements, for the document leaves the choice open"


def copied(elements: Array, others: Mapping[int, Array] | None = None) -> Result:
    """A result that has the bits of elements of the operands, or of others at some flat indices."""
    nothing = np.zeros(elements.shape, np.bool_)
    bound = _ANY_OF_THEM if others else EXACT
    return Result(elements, Copies(elements, others or {}), nothing, bound)
