"""What rules demand, as terms; each formula is tried against the requirement of the profile."""

from collections.abc import Callable, Mapping, Sequence

import z3

from sonnx_ort.profile.element_type import Family, smallest_value
from sonnx_ort.profile.requirements.arithmetic import (
    DifferenceWithinInt32,
    ExactPower,
    InfinityForZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.attributes import DecidedByAttributes
from sonnx_ort.profile.requirements.axes import (
    AxesNamedOnce,
    EqualButOnAxis,
    LinesAboveNegativeInfinity,
)
from sonnx_ort.profile.requirements.broadcasting import Broadcastable, LimitedBroadcasting
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds, OnElements
from sonnx_ort.profile.requirements.reshaping import InferableSize, SliceDemand, Slicing
from sonnx_ort.profile.requirements.shapes import OnShapes, SameShape
from sonnx_ort.profile.rule import Requirement, Rule, Status
from sonnx_ort.terms.elements import NumberSet
from sonnx_ort.terms.language import Decided
from support.proofs.alignment_rules import lines_up
from support.proofs.layout_rules import equal_but_on_axis, inferable, named_once
from support.proofs.number_rules import (
    differences_within_int32,
    lines_above_negative_infinity,
    numbers_under_crossed_bounds,
)
from support.proofs.powers import exponent_is_exact, is_exact
from support.proofs.shape_terms import holds
from support.proofs.tensors import Length, Tensor, Vector, for_all, length_of, same_sizes, term
from support.proofs.terms import NotInterpreted, as_number, equal, is_signed, less, literal


def demanded_of_single_operands(requirement: Requirement, operands: Sequence[Tensor]) -> z3.BoolRef:
    """Whether operands are as a requirement demands.

    Args:
        requirement: The requirement.
        operands: The operands that it speaks of; what names axes names some that are there.

    Raises:
        NotInterpreted: There is no formula for it.
    """
    formula = _OF_SINGLE_OPERANDS.get(type(requirement))
    if formula is None:
        raise NotInterpreted(f"the requirement {type(requirement).__name__}")
    return formula(requirement, *operands)


def _cut(demand: SliceDemand, x: Tensor, *places: Tensor) -> z3.BoolRef:
    """What is demanded of each axis that is cut, whatever the number of them."""

    def number(indices: Tensor, index: int | z3.ArithRef) -> z3.ArithRef:
        return as_number(indices.elements.at(index), indices.element_type)

    def meets(index: int | z3.ArithRef) -> z3.BoolRef:
        start, end, axis, step = (number(each, index) for each in places)
        size = x.sizes.any_at(length_of(z3.If(axis < 0, axis + term(x.rank), axis)))
        below = z3.If(step < 0, 1, 0)
        first, last = (z3.If(place < 0, place + size, place) for place in (start, end))
        match demand:
            case SliceDemand.START_WITHIN:
                return z3.And(-size <= start, start < size)
            case SliceDemand.END_WITHIN:
                return z3.And(-size - below <= end, end <= size - below)
            case SliceDemand.IN_ORDER:
                return z3.If(step < 0, last <= first, first <= last)

    return for_all(places[0].elements.length, meets)


_OF_SINGLE_OPERANDS: Mapping[type, Callable[..., z3.BoolRef]] = {
    DecidedByAttributes: lambda requirement, *_: z3.BoolVal(
        requirement.judgement.status is Status.PROVED
    ),
    OnShapes: lambda requirement, *operands: holds(requirement, operands),
    InferableSize: inferable,
    AxesNamedOnce: named_once,
    EqualButOnAxis: equal_but_on_axis,
    DifferenceWithinInt32: lambda _, *operands: differences_within_int32(*operands),
    NumbersUnderCrossedBounds: lambda _, *operands: numbers_under_crossed_bounds(*operands),
    LinesAboveNegativeInfinity: lambda requirement, x: lines_above_negative_infinity(
        requirement.axis, x
    ),
    Slicing: lambda requirement, *operands: _cut(requirement.demand, *operands),
}
"""By requirement its formula, of the requirement and the operands."""


def kept(rule: Rule, names: Sequence[str], operands: Sequence[Tensor]) -> z3.BoolRef:
    """Whether operands keep a rule that a run decides."""
    return demanded(rule.requirement, rule.select_operands(tuple(names), tuple(operands)))


def demanded(requirement: Requirement, operands: Sequence[Tensor]) -> z3.BoolRef:
    """Whether operands are as a requirement demands.

    Raises:
        NotInterpreted: There is no formula for it.
    """
    match requirement:
        case SameShape():
            first, *others = operands
            found = z3.And([same_sizes(first.sizes, other.sizes) for other in others])
        case InfinityForZeroDivisor() if operands[-1].element_type.family is Family.FLOAT:
            found = z3.BoolVal(True)
        case OnElements():
            found = _on_elements(requirement, operands)
        case RepresentableQuotient():
            bound = requirement.reaches(operands[0].element_type)
            found = _representable(*operands) if bound else z3.BoolVal(True)
        case ExactPower():
            found = _exact(*operands)
        case Broadcastable():
            found = broadcastable([operand.sizes for operand in operands])
        case LimitedBroadcasting():
            found = lines_up(requirement, *[operand.sizes for operand in operands])
        case _:
            found = demanded_of_single_operands(requirement, operands)
    return found


def _on_elements(requirement: OnElements, operands: Sequence[Tensor]) -> z3.BoolRef:
    """Every element is in the set of numbers; an operand that is left out has no element."""
    numbers, place = requirement.numbers, requirement.position
    if isinstance(numbers, Decided):
        return z3.BoolVal(bool(numbers.holds))
    checked = operands[place : place + 1] if requirement.checked else operands
    return z3.And([_inside(numbers, each) for each in checked])


def _inside(numbers: NumberSet, x: Tensor) -> z3.BoolRef:
    kind = x.element_type
    lower, upper = numbers.limits(kind.dtype)

    def inside(index: int | z3.ArithRef) -> z3.BoolRef:
        element = x.elements.at(index)
        conditions = []
        if lower is not None:
            conditions.append(z3.Not(less(element, literal(lower, kind), kind)))
        if upper is not None:
            conditions.append(z3.Not(less(literal(upper, kind), element, kind)))
        if not numbers.admits_nan:
            conditions.append(z3.Not(z3.fpIsNaN(element)))
        if not numbers.admits_zero:
            zero = z3.fpIsZero(element) if z3.is_fp(element) else equal(element, z3.IntVal(0))
            conditions.append(z3.Not(zero))
        return z3.And(conditions)

    return for_all(x.elements.length, inside)


def _representable(a: Tensor, b: Tensor) -> z3.BoolRef:
    if not is_signed(a.element_type):
        return z3.BoolVal(True)
    smallest = z3.IntVal(smallest_value(a.element_type))

    def fits(index: int | z3.ArithRef) -> z3.BoolRef:
        at_smallest = equal(a.elements.at(index), smallest)
        return z3.Not(z3.And(at_smallest, equal(b.elements.at(index), z3.IntVal(-1))))

    return for_all(a.elements.length, fits)


def _exact(x: Tensor, y: Tensor) -> z3.BoolRef:
    single = isinstance(y.elements.length, int) and y.elements.length == 1

    def exact(index: int | z3.ArithRef) -> z3.BoolRef:
        base, exponent = x.elements.at(index), y.elements.at(0 if single else index)
        return z3.And(is_exact(base, exponent), exponent_is_exact(exponent))

    return for_all(x.elements.length, exact)


def broadcastable(shapes: Sequence[Vector]) -> z3.BoolRef:
    """Whether on each axis, counted from the last, every size is the largest of them or 1."""

    def fits(from_the_end: int | z3.ArithRef) -> z3.BoolRef:
        sizes = [shape.aligned_at(from_the_end, 1) for shape in shapes]
        largest = _largest(sizes)
        return z3.And([z3.Or(size == 1, size == largest) for size in sizes])

    return for_all(longest([shape.length for shape in shapes]), fits)


def common_size(shapes: Sequence[Vector], from_the_end: int | z3.ArithRef) -> z3.ArithRef:
    """The size of the common shape of an axis, counted from the last."""
    return _largest([shape.aligned_at(from_the_end, 1) for shape in shapes])


def longest(lengths: Sequence[Length]) -> Length:
    """The largest of lengths."""
    if all(isinstance(length, int) for length in lengths):
        return max(lengths)
    return _largest([z3.IntVal(n) if isinstance(n, int) else n for n in lengths])


def _largest(numbers: Sequence[z3.ArithRef]) -> z3.ArithRef:
    found = numbers[0]
    for number in numbers[1:]:
        found = z3.If(found < number, number, found)
    return found
