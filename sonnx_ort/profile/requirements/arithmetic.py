"""Requirements of integer arithmetic: quotients, powers and differences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.kernel.bounds import EXACT_IN_DOUBLE, LIMITS
from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.elements import OnElements, on_elements
from sonnx_ort.profile.rule import (
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.language import NumberSet
from sonnx_ort.terms.operand import Operand, first_index, format_index

NONZERO = NumberSet("zero", admits_zero=False, finding="a zero divisor")
"""What divisors have to be."""

NOT_SMALLEST = NumberSet(
    "the smallest value",
    lambda dtype: (int(np.iinfo(dtype).min) + 1 if dtype.kind == "i" else -math.inf, math.inf),
)
"""The numbers whose magnitude a type has."""

WITHIN_WIDTH = NumberSet(
    "negative, or the number of bits of the type or more",
    lambda dtype: (0, 8 * dtype.itemsize - 1),
)
"""By how many places the bits of a type can be shifted."""

NONZERO_DIVISOR = on_elements("B", NONZERO, operands=("A", "B"))
"""No element of B is zero."""


@dataclass(frozen=True, slots=True)
class RepresentableQuotient:
    """Every quotient is representable: not the smallest value of a signed type divided by -1.

    `deed` is the forbidden operation, as a clause without a subject; `finding` says what it gives.
    Types of fewer than `bits` bits are free of it.
    """

    deed: str = "divide the smallest value by -1"
    finding: str = "a quotient beyond the type"
    bits: int = 8

    subject: ClassVar = Subject.ELEMENTS

    def reaches(self, element_type: ElementType) -> bool:
        """Whether a type is wide enough for the rule."""
        return 8 * element_type.dtype.itemsize >= self.bits

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the type, then bounds, then constants."""
        a, b = operands
        element_type = ElementType.named(a.element_type)
        if element_type is not None and not self.reaches(element_type):
            return proved(f"it is about types of {self.bits} bits and more")
        reason = _reason_to_fit(a, b)
        if reason is not None:
            return proved(reason)
        dividend, divisor = _signed(a.constant), _signed(b.constant)
        if dividend is None or divisor is None or dividend.shape != divisor.shape:
            return at_run_time("the elements depend on the inputs")
        index = _overflow(dividend, divisor)
        if index is None:
            return proved(f"the constants nowhere {self.deed}")
        return violated(f"the constants {self.deed} at {format_index(index)}")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first division of the smallest value by -1."""
        a, b = arrays
        index = _overflow(a, b) if 8 * a.itemsize >= self.bits else None
        return None if index is None else _violation(self.finding, a, b, index)


class InfinityForZeroDivisor(OnElements):
    """A zero divisor gives +inf; a type without infinities cannot keep the rule."""

    __slots__ = ()

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Floats keep the rule by definition; integers only without zeros."""
        types = (ElementType.named(operand.element_type) for operand in operands)
        if any(kind is not None and kind.family is Family.FLOAT for kind in types):
            return proved("the operator's result is +inf wherever B is zero")
        return super().judge(operands)

    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Find the first zero in an integer B."""
        return super().violation_of(names, arrays) if arrays[1].dtype.kind in "iu" else None

    def hint(self, operands: Sequence[Operand]) -> str:
        """Suggest how to avoid zeros in integers."""
        del operands
        return "keep zeros out of the divisor, for example with Where or Max"


INFINITY_FOR_ZERO_DIVISOR = InfinityForZeroDivisor(
    NONZERO_DIVISOR.operands, "B", NONZERO_DIVISOR.demand
)
"""The demand of the preliminary document on divisors."""


def _reason_to_fit(a: Operand, b: Operand) -> str | None:
    """Evidence from one operand that every quotient is representable; None if there is none."""
    element_type = ElementType.named(a.element_type)
    if element_type is not None and element_type.dtype.kind == "u":
        return "unsigned quotients are never larger than the dividend"
    if b.bounds is not None and -1 not in b.bounds:
        return f"every element of B '{b.value}' lies in {b.bounds}"
    dividend, divisor = _signed(a.constant), _signed(b.constant)
    if divisor is not None and not np.any(divisor == -1):
        return f"no element of the constant B '{b.value}' is -1"
    if dividend is not None and not np.any(dividend == np.iinfo(dividend.dtype).min):
        return f"no element of the constant A '{a.value}' is the smallest value"
    if element_type is None or element_type.dtype.kind != "i" or a.bounds is None:
        return None
    smallest = -1 << (8 * element_type.dtype.itemsize - 1)
    return None if smallest in a.bounds else f"every element of A '{a.value}' lies in {a.bounds}"


def _signed(constant: npt.NDArray[Any] | None) -> npt.NDArray[np.signedinteger] | None:
    """The constant if its type is signed."""
    return constant if constant is not None and constant.dtype.kind == "i" else None


def _overflow(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[int, ...] | None:
    if a.size == 0 or a.dtype.kind == "u":
        return None
    smallest = -1 << (8 * a.itemsize - 1)
    # For nearly every tensor, checking the minimum is sufficient.
    if a.min() != smallest:
        return None
    offending = np.asarray((a == smallest) & (b == -1))
    return first_index(offending) if offending.any() else None


def _violation(
    what: str, a: npt.NDArray[Any], b: npt.NDArray[Any], index: tuple[int, ...]
) -> Violation:
    values = (int(a[index]), int(b[index]))
    at = format_index(index)
    return Violation(f"{what}: A{at} = {values[0]}, B{at} = {values[1]}", index, values)


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


Array = npt.NDArray[Any]


_INT32 = Bounds(-(1 << 31), (1 << 31) - 1)


def _interval(operand: Operand) -> Bounds | None:
    """What the elements are within; the range of a type that int32 can hold says enough."""
    own = LIMITS.get(operand.element_type or "")
    small = own is not None and own.lower in _INT32 and own.upper in _INT32 and own != _INT32
    return operand.interval or (own if small else None)


class DifferenceWithinInt32:
    """Every difference of the first and the second operand, of int32, is a number of int32.

    If the second operand is omitted, it is 0. If it is no scalar, the largest and the smallest
    difference of any two elements count.
    """

    subject = Subject.ELEMENTS

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check constants and bounds."""
        x, *others = operands
        if not others:
            return proved("nothing is subtracted")
        (other,) = others
        subtrahend = _interval(other)
        if subtrahend == Bounds(0, 0):
            return proved(f"{other.name} '{other.value}' is 0")
        minuend = _interval(x)
        if minuend is None or subtrahend is None:
            unknown = [o.name for o in operands if _interval(o) is None]
            return at_run_time(f"the elements of {' and '.join(unknown)} depend on the inputs")
        lowest, highest = minuend.lower - subtrahend.upper, minuend.upper - subtrahend.lower
        if lowest in _INT32 and highest in _INT32:
            return proved(f"every difference lies in {Bounds(lowest, highest)}")
        constants = [o.constant for o in operands if o.constant is not None]
        found = self.violation(constants) if len(constants) == len(operands) else None
        if found is not None:
            return violated(f"of the constants, {found.reason}")
        return at_run_time(f"the differences lie in {Bounds(lowest, highest)}")

    def violation(self, arrays: Sequence[Array]) -> Violation | None:
        """Find the first element of the first operand whose difference is outside int32."""
        x, *others = (array.astype(np.int64) for array in arrays)
        if not others or others[0].size == 0:
            return None
        smallest, largest = int(others[0].min()), int(others[0].max())
        too_low = np.asarray(x < _INT32.lower + largest)
        beyond = np.asarray(too_low | (x > _INT32.upper + smallest))
        if not beyond.any():
            return None
        index = first_index(beyond)
        values = int(x[index]), largest if too_low[index] else smallest
        text = f"{values[0]} - {values[1]} at {format_index(index)} is beyond int32"
        return Violation(text, index, values)
