"""Requirements on the elements of operands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.facts.bounds import LIMITS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.rule import (
    Attributes,
    AttributeValue,
    DependsOnAttributes,
    Judgement,
    NamesOperands,
    Requirement,
    Status,
    Subject,
    Violation,
    at_run_time,
    judged,
    proved,
    violated,
)
from sonnx_ort.terms.language import Decided
from sonnx_ort.terms.numbers import NumberSet, everything, finite_numbers
from sonnx_ort.terms.operand import Operand, format_index


@dataclass(frozen=True, slots=True)
class OnElements(DependsOnAttributes, NamesOperands):
    """Each element of an operand is in a set of numbers.

    Attributes:
        operands: The names of the operands of the rule; empty if it is about each of them.
        checked: The operand whose elements are meant; empty if it is each.
        demand: Gives the set, from the attributes of the node by name, or what they decide.
        attributes: The names of the attributes that it depends on.
        given: The attributes of the node, by name.
        numbers: The set, or what the attributes of the node decide.
        subject: The elements; of a node whose attributes decide, the attributes.
    """

    operands: tuple[str, ...]
    checked: str
    demand: Callable[[Attributes], NumberSet | Decided]
    attributes: tuple[str, ...] = ()
    given: tuple[tuple[str, AttributeValue], ...] = ()
    numbers: NumberSet | Decided = field(init=False, compare=False)
    subject: Subject = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Make the set."""
        numbers = self.demand(dict(self.given))
        decided = self.given and isinstance(numbers, Decided) and numbers.holds is not None
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "subject", Subject.ATTRIBUTES if decided else Subject.ELEMENTS)

    @property
    def finding(self) -> str:
        """What a forbidden element of the operand is, as a clause."""
        return _finding(self.checked, self.numbers)

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node."""
        given = ((name, attributes[name]) for name in self.attributes if name in attributes)
        return replace(self, given=tuple(given)) if self.attributes else self

    @property
    def position(self) -> int:
        """The place of the operand; 0 if each is meant."""
        return self.operands.index(self.checked) if self.checked else 0

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the types, then bounds, then constants."""
        numbers = self.numbers
        if isinstance(numbers, Decided):
            return judged(numbers.holds, numbers.words)
        checked = operands[self.position : self.position + 1] if self.checked else operands
        if not checked:
            return proved(f"{self.checked} is left out")
        judgements = [_judge(operand, numbers) for operand in checked]
        for judgement in judgements:
            if judgement.status is Status.VIOLATED:
                return judgement
        pairs = zip(checked, judgements, strict=True)
        unknown = [operand.name for operand, each in pairs if each.status is Status.RUNTIME]
        if unknown:
            return at_run_time(f"the elements of {' and '.join(unknown)} depend on the inputs")
        return proved(" and ".join(dict.fromkeys(each.evidence for each in judgements)))

    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Find the first element outside, in arrays that have these names."""
        numbers = self.numbers
        if isinstance(numbers, Decided):
            return None if numbers.holds else Violation(numbers.words)
        places = [self.position] if self.checked else range(len(arrays))
        for place in places:
            index = numbers.first_outside(arrays[place]) if place < len(arrays) else None
            if index is not None:
                # The others are shown where they are of one shape by another rule.
                shown = range(len(arrays)) if self.checked else [place]
                at, values = format_index(index), tuple(arrays[k][index].item() for k in shown)
                pairs = zip(shown, values, strict=True)
                text = ", ".join(f"{names[k]}{at} = {value}" for k, value in pairs)
                return Violation(f"{_finding(names[place], numbers)}: {text}", index, values)
        return None


_UNKNOWN = "the elements depend on the inputs"


def _finding(name: str, numbers: NumberSet | Decided) -> str:
    if isinstance(numbers, Decided):
        return numbers.words
    return numbers.finding or f"{name} is {numbers.outside}"


def _judge(operand: Operand, numbers: NumberSet) -> Judgement:
    """What is known of the elements of an operand."""
    element_type = ElementType.named(operand.element_type)
    known, constant = operand.bounds or operand.range, operand.constant
    unknown = at_run_time(_UNKNOWN)
    if element_type is None:
        return unknown
    if not numbers.binds(element_type.dtype):
        return proved(f"no {element_type} is {numbers.outside}")
    if known is not None and numbers.holds_all(known, element_type.dtype):
        return proved(f"every element of {operand.name} '{operand.value}' lies in {known}")
    if constant is None or constant.dtype != element_type.dtype:
        return unknown
    index, named = numbers.first_outside(constant), f"the constant {operand.name} '{operand.value}'"
    if index is None:
        return proved(f"no element of {named} is {numbers.outside}")
    return violated(f"{named} is {numbers.outside} at {format_index(index)}")


def on_elements(name: str, numbers: NumberSet, *, operands: tuple[str, ...] = ()) -> OnElements:
    """The demand that the elements of an operand are in a set of numbers.

    Args:
        name: The operand.
        numbers: The numbers.
        operands: All operands of the rule, if there are others.
    """
    return OnElements(operands or (name,), name, lambda _: numbers)


_NUMBERS = NumberSet("NaN", admits_nan=False)


class NumbersUnderCrossedBounds:
    """If the second operand, a lower bound, is above the third, the first one has no NaN.

    A bound that is omitted, or NaN, is none. Whether bounds are scalars is another rule's.
    """

    subject = Subject.ELEMENTS

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at constant bounds, then at the elements."""
        if len(operands) < 3:
            return proved("a bound is left out")
        data, *bounds = operands
        lowest, highest = (bound.constant for bound in bounds)
        known = lowest is not None and highest is not None
        if known and not _crossed(lowest, highest):
            return proved(f"the constant min {lowest} is not above the constant max {highest}")
        judgement = _judge(data, _NUMBERS)
        return judgement if known or judgement.status is Status.PROVED else at_run_time(_UNKNOWN)

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first NaN, if the bounds of a run are crossed."""
        if len(arrays) < 3 or not _crossed(*arrays[1:]):
            return None
        data, lowest, highest = arrays
        index = _NUMBERS.first_outside(data)
        if index is None:
            return None
        crossed = f"min {lowest.item()} is above max {highest.item()}"
        reason = f"{crossed}, and input{format_index(index)} is NaN"
        return Violation(reason, index, (data[index].item(),))


def _crossed(lowest: npt.NDArray[Any] | None, highest: npt.NDArray[Any] | None) -> bool:
    """Whether a lower bound is above an upper one; what is no scalar bounds nothing."""
    if lowest is None or highest is None or lowest.ndim or highest.ndim:
        return False
    return bool(lowest > highest)


_INT32: tuple[float, float] = (LIMITS["int32"].lower, LIMITS["int32"].upper)

INT32 = NumberSet(
    "an int64 beyond int32", lambda dtype: _INT32 if dtype == np.int64 else everything(dtype)
)
"""The numbers of int64 that int32 can hold."""

WITHIN_INT32 = OnElements((), "", lambda _: INT32)
"""All int64 elements are representable in int32.

ONNX Runtime up to 1.31.1 compares the lower halves of two int64 numbers as signed if the upper
halves are equal: of 3000000000 and 0 it considers 0 the larger one.
"""


def _converted(attributes: Attributes) -> NumberSet | Decided:
    to = attributes.get("to")
    if isinstance(to, int):
        return _held_by(to)
    return Decided(None, "the node does not say which type it converts to")


@cache
def _held_by(to: int) -> NumberSet | Decided:
    names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
    integer = ElementType.named(names.get(to))
    if integer is None or integer.family is not Family.INTEGER:
        return Decided(True, f"{names.get(to, to)} is no type of integers")
    return NumberSet(
        f"NaN or beyond {integer}", lambda dtype: _range_in(dtype, integer), admits_nan=False
    )


REPRESENTABLE_AS_INTEGER = OnElements(("X",), "X", _converted, ("to",))
"""All elements are numbers in the range of the integer type given by the attribute `to`.

Fractions are truncated and do not matter.
"""


def _range_in(dtype: np.dtype[Any], integer: ElementType) -> tuple[float, float]:
    """The smallest and largest finite number that an integer type holds after truncation."""
    held: np.iinfo[Any] = np.iinfo(integer.dtype.name)
    smallest, largest = finite_numbers(dtype)
    if smallest == -np.inf:
        return held.min, held.max
    with np.errstate(over="ignore"):
        lower = max(dtype.type(float(held.min - 1)), dtype.type(smallest))
        upper = min(dtype.type(float(held.max + 1)), dtype.type(largest))
    # Other types than Python's float may wrap when converted to an integer.
    while int(float(lower)) < held.min:
        lower = np.nextafter(lower, dtype.type(largest))
    while int(float(upper)) > held.max:
        upper = np.nextafter(upper, dtype.type(smallest))
    return float(lower), float(upper)
