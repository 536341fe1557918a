"""Requirements of quotients of integers: no zero divisor, and a type that holds the result."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

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
from sonnx_ort.terms.numbers import NumberSet
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
        index = _first_overflow(dividend, divisor)
        if index is None:
            return proved(f"the constants nowhere {self.deed}")
        return violated(f"the constants {self.deed} at {format_index(index)}")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first division of the smallest value by -1."""
        a, b = arrays
        index = _first_overflow(a, b) if 8 * a.itemsize >= self.bits else None
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


def _first_overflow(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[int, ...] | None:
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
