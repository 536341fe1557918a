"""What the compiled operator Guard tests in a run, as the text that its node has.

A text has a test for each rule, in the order in which rules are decided. Each begins with the code
of the rule and the kind of test:

    690 shapes all 2 is rank 1 number 0 is rank 2 number 0;695 crossed 1 ff800000 7f800000

Words stand in front of what they are about. Limits are the bits of numbers of the type, so that
they are exact. `guard.h` reads it, and refuses what it does not know. What has no test here is
enforced by nodes of standard operators.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.contract_rules import OnSizes, OnValue
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.axes import AxesNamedOnce, EqualButOnAxis
from sonnx_ort.profile.requirements.differences import DifferenceWithinInt32
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds, OnElements
from sonnx_ort.profile.requirements.exact_powers import (
    ExactPower,
    limit_of_exponents,
    limits_of_powers,
)
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.quotients import InfinityForZeroDivisor
from sonnx_ort.profile.requirements.reshaping import InferableSize
from sonnx_ort.profile.requirements.same_shape import NoBroadcasting, SameShape
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.requirements.slicing import SliceDemand, Slicing
from sonnx_ort.profile.rule import Requirement, Rule
from sonnx_ort.terms.language import (
    All,
    Compare,
    Decided,
    Each,
    Either,
    HasAxis,
    IfGiven,
    IsMultiple,
    Number,
    Rank,
    Relation,
    Size,
    SizesBehind,
    Tensor,
    Term,
    Times,
)
from sonnx_ort.terms.numbers import Limits, NumberSet

GUARD = "Guard"
"""The name of the operator, in the domain of the compiled ones."""


@dataclass(frozen=True, slots=True)
class GuardOperand:
    """An operand of a rule, as a guard reads it.

    Attributes:
        place: Its place among the operands of the guard; None if it is none of them.
        name: Its name in the profile.
        element_type: The type in which it is read; None if it is unknown.
        shape: Its shape, if no run has another.
    """

    place: int | None
    name: str
    element_type: ElementType | None
    shape: tuple[int, ...] | None = None


Operands = Sequence[GuardOperand]

_NO_ELEMENTS = frozenset({ElementType.BOOL})
"""The types at whose elements no guard looks."""


def guard_text(rule: Rule, operands: Operands, limited_as: ElementType) -> str | None:
    """What a guard tests of a rule; None if it has no test for it.

    Args:
        rule: The rule of a node, whose requirement knows the attributes of the node.
        operands: The operands of the rule.
        limited_as: The type whose limits elements have that are read in another one.
    """
    make = _TESTS.get(type(rule.requirement))
    try:
        texts = None if make is None else make(rule.requirement, operands, limited_as)
    except _NoTestError:
        return None
    return None if texts is None else ";".join(f"{rule.code} {text}" for text in texts)


class _NoTestError(Exception):
    """A guard has no test for something."""


def guarded_rules() -> Iterator[Rule]:
    """The rules for which there is a kind of test, by their codes."""
    found = (rule for rule in RULES.values() if type(rule.requirement) in _TESTS and rule.in_run)
    return iter(sorted(found, key=lambda rule: rule.code))


def _place(operand: GuardOperand) -> int:
    if operand.place is None:
        raise _NoTestError
    return operand.place


def _in_their_places(operands: Operands, count: int) -> None:
    """Require that so many operands are the operands of the guard."""
    if len(operands) != count or any(o.place != place for place, o in enumerate(operands)):
        raise _NoTestError


def _type(operand: GuardOperand) -> int:
    kind = operand.element_type
    if kind is None or kind in _NO_ELEMENTS:
        raise _NoTestError
    return int(TensorProto.DataType.Value(kind.upper()))


def _of_elements(
    requirement: OnElements, operands: Operands, limited_as: ElementType
) -> Iterable[str] | None:
    numbers = requirement.numbers
    if not isinstance(numbers, NumberSet):
        return None
    position = requirement.position
    checked = operands[position : position + 1] if requirement.checked else operands
    return [f"within {_elements(each, numbers, limited_as)}" for each in checked] or None


def _of_value(
    requirement: OnValue, operands: Operands, limited_as: ElementType
) -> Iterable[str] | None:
    (operand,), numbers = operands, requirement.numbers
    if requirement.of.axis is not None or not isinstance(numbers, NumberSet):
        return None
    kind = operand.element_type
    if kind is None or kind.family is not Family.FLOAT:
        return None
    return [f"whole {_elements(operand, numbers, limited_as)}"]


def _elements(operand: GuardOperand, numbers: NumberSet, limited_as: ElementType) -> str:
    """The operand, its type, both ends, and whether NaN and 0 are allowed."""
    own = operand.element_type
    number = _type(operand)
    if own is None:
        raise _NoTestError
    limits = numbers.limits(limited_as.dtype)
    ends = " ".join(f"{bits:x}" for bits in _ends(limits, own))
    admitted = f"{int(numbers.admits_nan)} {int(numbers.admits_zero)}"
    return f"{_place(operand)} {number} {ends} {admitted}"


def _ends(limits: Limits, own: ElementType) -> tuple[int, int]:
    """The bits of the smallest and the largest number of a type within limits."""
    lower, upper = limits
    if own.family is not Family.FLOAT:
        whole: np.iinfo[Any] = np.iinfo(own.dtype.name)
        least = int(whole.min) if lower is None else math.ceil(lower)
        most = int(whole.max) if upper is None else math.floor(upper)
        if least > most or least > whole.max or most < whole.min:
            least, most = int(whole.max), int(whole.min)  # no number is within
        least, most = max(least, int(whole.min)), min(most, int(whole.max))
        mask = (1 << 8 * own.dtype.itemsize) - 1
        return least & mask, most & mask
    ends = (-math.inf if lower is None else lower, math.inf if upper is None else upper)
    return _bits(_rounded(ends[0], own, up=True)), _bits(_rounded(ends[1], own, up=False))


@np.errstate(all="ignore")
def _rounded(limit: float, own: ElementType, *, up: bool) -> Any:
    """The number of a type next to a limit: not below it, or not above it."""
    rounded = own.dtype.type(limit)
    towards = own.dtype.type(math.inf if up else -math.inf)
    beyond = float(rounded) < limit if up else float(rounded) > limit
    return np.nextafter(rounded, towards) if beyond else rounded


def _bits(number: Any) -> int:
    array = np.array(number)
    return int(array.view(f"u{array.dtype.itemsize}"))


def _crossed(_: Any, operands: Operands, __: ElementType) -> Iterable[str]:
    _in_their_places(operands, 3)
    kinds = {operand.element_type for operand in operands}
    number, kind = _type(operands[0]), operands[0].element_type
    if kind is None or len(kinds) > 1:
        raise _NoTestError
    ends = " ".join(f"{bits:x}" for bits in _ends((None, None), kind))
    return [f"crossed {number} {ends}"]


def _lines(
    requirement: LinesAboveNegativeInfinity, operands: Operands, _: ElementType
) -> Iterable[str]:
    _in_their_places(operands, 1)
    return [f"lines {_type(operands[0])} {requirement.axis}"]


def _difference(_: Any, operands: Operands, __: ElementType) -> Iterable[str]:
    if len(operands) != 2 or any(o.element_type is not ElementType.INT32 for o in operands):
        raise _NoTestError
    return [f"difference {' '.join(str(_place(operand)) for operand in operands)}"]


def _power(_: Any, operands: Operands, __: ElementType) -> Iterable[str]:
    _in_their_places(operands, 2)
    kind, exponent = (operand.element_type for operand in operands)
    if kind is None or kind is not exponent or kind.family is not Family.INTEGER:
        raise _NoTestError
    limits = (*limits_of_powers(kind.dtype), limit_of_exponents(kind.dtype))
    bits = " ".join(f"{_bits(np.float64(limit)):x}" for limit in limits)
    return [f"power {_type(operands[0])} {bits}"]


def _once(requirement: AxesNamedOnce, operands: Operands, _: ElementType) -> Iterable[str]:
    if requirement.axes is not None:
        _in_their_places(operands, 1)
        return [" ".join(["once", *map(str, requirement.axes)])]
    _in_their_places(operands, 2)
    return ["once"]


_DEMANDS = {SliceDemand.START_WITHIN: 0, SliceDemand.END_WITHIN: 1, SliceDemand.IN_ORDER: 2}


def _sliced(requirement: Slicing, operands: Operands, _: ElementType) -> Iterable[str]:
    _in_their_places(operands, 5)
    return [f"slice {_DEMANDS[requirement.demand]}"]


def _inferable(requirement: InferableSize, operands: Operands, _: ElementType) -> Iterable[str]:
    _in_their_places(operands, 2)
    return [f"inferable {int(requirement.copies_zeros)}"]


def _equal_but(requirement: EqualButOnAxis, operands: Operands, _: ElementType) -> Iterable[str]:
    _in_their_places(operands, len(operands))
    return [f"but {requirement.axis}"]


def _same(_: SameShape, operands: Operands, __: ElementType) -> Iterable[str]:
    _in_their_places(operands, len(operands))
    return ["same"]


def _of_shapes(requirement: OnShapes, operands: Operands, _: ElementType) -> Iterable[str]:
    names = requirement.names_of(len(operands))
    words = _Words(dict(zip(names, operands, strict=True)))
    return [f"shapes {' '.join(words.of(requirement.term))}"]


_RELATIONS = {Relation.EQUAL: "is", Relation.AT_LEAST: "at_least", Relation.AT_MOST: "at_most"}


@dataclass(frozen=True, slots=True)
class _Words:
    """Writes a term as words.

    Attributes:
        operands: The operands that are given, by their names in the term.
    """

    operands: Mapping[str, GuardOperand]

    def of(self, term: Term) -> Iterator[str]:
        """The words of a term.

        Raises:
            _NoTestError: An operand is none of the guard's, or attributes leave a term open.
        """
        match term:
            case All(terms):
                yield from self._several("all", terms)
            case Either(terms):
                yield from self._several("any", terms)
            case Each(of):
                yield from self._several("all", [of(Tensor(name)) for name in self.operands])
            case IfGiven(tensor, inner) if tensor.name in self.operands:
                yield from self.of(inner)
            case IfGiven() | Decided(True):
                yield from _HOLDS
            case Decided():
                raise _NoTestError
            case _:
                yield from self._of_numbers(term)

    def _of_numbers(self, term: Compare | IsMultiple | HasAxis | SizesBehind) -> Iterator[str]:
        match term:
            case Compare(left, relation, right):
                yield _RELATIONS[relation]
                yield from self._number(left)
                yield from self._number(right)
            case IsMultiple(number, factor):
                yield "multiple"
                yield from self._number(number)
                yield str(factor)
            case HasAxis(tensor, axis, or_end):
                yield from ("axis", self._tensor(tensor), str(axis), str(int(or_end)))
            case SizesBehind(tensor, axis, longest):
                yield from ("behind", self._tensor(tensor), str(axis), str(longest))

    def _several(self, word: str, terms: Sequence[Term]) -> Iterator[str]:
        if not terms:
            yield from _HOLDS
            return
        yield from (word, str(len(terms)))
        for each in terms:
            yield from self.of(each)

    def _tensor(self, tensor: Tensor) -> str:
        operand = self.operands.get(tensor.name)
        if operand is None:
            raise _NoTestError
        return str(_place(operand))

    def _number(self, number: int | Number) -> Iterator[str]:
        match number:
            case int():
                yield from ("number", str(number))
            case Times(factor, inner):
                if factor < 0:
                    raise _NoTestError
                yield from ("times", str(factor))
                yield from self._number(inner)
            case Rank(tensor):
                known = self._known(tensor)
                if known is None:
                    yield from ("rank", self._tensor(tensor))
                else:
                    yield from ("number", str(len(known)))
            case Size(tensor, axis):
                known = self._known(tensor)
                if known is not None and -len(known) <= axis < len(known):
                    yield from ("number", str(known[axis]))
                else:
                    yield from ("size", self._tensor(tensor), str(axis))

    def _known(self, tensor: Tensor) -> tuple[int, ...] | None:
        operand = self.operands.get(tensor.name)
        return None if operand is None else operand.shape


_HOLDS = ("is", "number", "0", "number", "0")
"""A term that holds."""

_TESTS: Mapping[type[Requirement], Callable[[Any, Operands, ElementType], Iterable[str] | None]] = {
    OnElements: _of_elements,
    InfinityForZeroDivisor: _of_elements,
    OnValue: _of_value,
    NumbersUnderCrossedBounds: _crossed,
    LinesAboveNegativeInfinity: _lines,
    DifferenceWithinInt32: _difference,
    ExactPower: _power,
    AxesNamedOnce: _once,
    Slicing: _sliced,
    InferableSize: _inferable,
    EqualButOnAxis: _equal_but,
    SameShape: _same,
    NoBroadcasting: _same,
    OnShapes: _of_shapes,
    OnSizes: _of_shapes,
}
"""What makes the test of each kind of requirement; a guard has none for the others."""
