"""What rules demand, as formulas; each is tried against the requirement of the profile."""

from collections.abc import Callable, Mapping, Sequence

import z3

from sonnx_ort.profile.contract_rules import OnValue
from sonnx_ort.profile.element_type import ElementType, Family, smallest_value
from sonnx_ort.profile.requirements.attributes import DecidedByAttributes
from sonnx_ort.profile.requirements.axes import AxesNamedOnce, EqualButOnAxis
from sonnx_ort.profile.requirements.broadcasting import Broadcastable
from sonnx_ort.profile.requirements.differences import DifferenceWithinInt32
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds, OnElements
from sonnx_ort.profile.requirements.exact_powers import ExactPower
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.quotients import InfinityForZeroDivisor, RepresentableQuotient
from sonnx_ort.profile.requirements.reshaping import InferableSize
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.requirements.slicing import SliceDemand, Slicing
from sonnx_ort.profile.rule import Requirement, Rule, Status
from sonnx_ort.terms import language as terms
from sonnx_ort.terms.language import Decided
from sonnx_ort.terms.numbers import NumberSet
from support.proofs.powers import exponent_is_exact, is_exact
from support.proofs.tensors import (
    Index,
    Length,
    Tensor,
    Vector,
    for_all,
    length_of,
    lines_of,
    reduced,
    same_sizes,
    term,
    vector_of,
)
from support.proofs.terms import NotInterpreted, as_number, equal, is_signed, less, literal


def lines_up(limits: LimitedBroadcasting, a: Vector, b: Vector) -> z3.BoolRef:
    """Whether a shape has one element, or is the part of another one that is asked for."""
    return z3.Or(has_one_element(a, b), is_part(limits, a, b))


def has_one_element(a: Vector, b: Vector) -> z3.BoolRef:
    """Whether a shape of no larger rank than another has sizes of 1 alone."""
    return z3.And(term(b.length) <= term(a.length), b.for_all(lambda axis: b.at(axis) == 1))


def is_part(limits: LimitedBroadcasting, a: Vector, b: Vector) -> z3.BoolRef:
    """Whether a shape is the contiguous part of another one that is asked for."""
    start = start_of(limits, a.length, b.length)

    def same(axis: Index) -> z3.BoolRef:
        return a.any_at(reduced(start + axis)) == b.at(axis)

    return z3.And(is_inside(limits, a.length, b.length), b.for_all(same))


def start_of(limits: LimitedBroadcasting, a_rank: Length, b_rank: Length) -> z3.ArithRef:
    """The axis at which the part starts, be it there or not."""
    match limits.axis:
        case None:
            return term(a_rank) - term(b_rank)
        case axis if axis < 0:
            return term(a_rank) + axis
        case axis:
            return z3.IntVal(axis)


def is_inside(limits: LimitedBroadcasting, a_rank: Length, b_rank: Length) -> z3.BoolRef:
    """Whether a part of a rank does not reach out of the other shape."""
    start = start_of(limits, a_rank, b_rank)
    return z3.And(start >= 0, start <= term(a_rank) - term(b_rank))


def trailing_axes(limits: LimitedBroadcasting, a_rank: Length, b_rank: Length) -> z3.ArithRef:
    """How many axes of size 1 line a part up; of what reaches out, none."""
    behind = term(a_rank) - start_of(limits, a_rank, b_rank) - term(b_rank)
    return z3.If(is_inside(limits, a_rank, b_rank), behind, 0)


def lined_up(limits: LimitedBroadcasting, a: Vector, b: Vector) -> Vector:
    """The shape by which an operand lines up: its own, and the axes of size 1 behind."""
    length = length_of(term(b.length) + trailing_axes(limits, a.length, b.length))

    def size(axis: Index) -> z3.ExprRef:
        if isinstance(axis, int) and isinstance(b.length, int):
            return b.at(axis) if axis < b.length else z3.IntVal(1)
        return z3.If(term(axis) < term(b.length), b.any_at(axis), z3.IntVal(1))

    return Vector(length, size, b.backwards)


def inferable(requirement: InferableSize, x: Tensor, sizes: Tensor) -> z3.BoolRef:
    """No size is -1, or none of the others is 0."""
    named = sizes.elements
    others = x.sizes if requirement.copies_zeros else named
    no_zero = for_all(others.length, lambda i: others.at(i) != 0)
    return z3.Or(for_all(named.length, lambda i: named.at(i) != -1), no_zero)


def named_once(requirement: AxesNamedOnce, x: Tensor, *named: Tensor) -> z3.BoolRef:
    """No two axes are the same, counted from the front."""
    own = vector_of([z3.IntVal(axis) for axis in requirement.axes or ()])
    axes: Vector = named[0].elements if named else own

    def place(index: Index) -> z3.ArithRef:
        axis = as_number(axes.at(index), ElementType.INT64)
        return z3.If(axis < 0, axis + term(x.rank), axis)

    def differs(one: Index, other: Index) -> z3.BoolRef:
        return z3.Or(term(one) >= term(other), place(one) != place(other))

    return for_all(axes.length, lambda i: for_all(axes.length, lambda j: differs(i, j)))


def equal_but_on_axis(requirement: EqualButOnAxis, *operands: Tensor) -> z3.BoolRef:
    """Every tensor has the rank and the sizes of the first but on the axis; scalars aside."""
    first, *others = operands
    rank = term(first.rank)
    axis = requirement.axis + (rank if requirement.axis < 0 else 0)

    def same(other: Tensor) -> z3.BoolRef:
        equal = for_all(
            first.rank, lambda i: z3.Or(term(i) == axis, first.sizes.at(i) == other.sizes.any_at(i))
        )
        return z3.And(rank == term(other.rank), equal)

    return z3.Or(rank == 0, z3.And([same(other) for other in others]))


_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


def differences_within_int32(x: Tensor, *subtrahend: Tensor) -> z3.BoolRef:
    """Every difference of two elements is a number of int32; nothing may be subtracted."""
    if not subtrahend:
        return z3.BoolVal(True)
    (other,) = subtrahend

    def within(index: int | z3.ArithRef) -> z3.BoolRef:
        minuend = _wide(x.elements.at(index))

        def less_each(place: int | z3.ArithRef) -> z3.BoolRef:
            difference = minuend - _wide(other.elements.at(place))
            return z3.And(difference >= _LEAST, difference <= _MOST)

        return for_all(other.elements.length, less_each)

    return for_all(x.elements.length, within)


def _wide(number: z3.ExprRef) -> z3.BitVecRef:
    """A number of int32 in twice as many bits."""
    return z3.SignExt(32, number)


def numbers_under_crossed_bounds(x: Tensor, *bounds: Tensor) -> z3.BoolRef:
    """No element is NaN if the lower bound is above the upper one; both are scalars."""
    if len(bounds) < 2:
        return z3.BoolVal(True)
    lowest, highest = (bound.elements.at(0) for bound in bounds)
    numbers = for_all(x.elements.length, lambda index: z3.Not(z3.fpIsNaN(x.elements.at(index))))
    return z3.Or(z3.Not(z3.fpLT(highest, lowest)), numbers)


def lines_above_negative_infinity(axis: int, x: Tensor) -> z3.BoolRef:
    """No line that has elements is negative infinity throughout."""
    lines = lines_of(x, axis)

    def above(each: z3.ArithRef) -> z3.BoolRef:
        infinite = lines.throughout(each, lambda e: e == z3.fpMinusInfinity(e.sort()))
        return z3.Not(z3.And(lines.length > 0, infinite))

    return lines.every(above)


Operands = Mapping[str, Tensor]


def holds(requirement: OnShapes, operands: Sequence[Tensor]) -> z3.BoolRef:
    """Whether the shapes of operands are as a requirement demands."""
    names = requirement.names_of(len(operands))
    return _formula(requirement.term, dict(zip(names, operands, strict=True)))


def _formula(  # noqa: PLR0911 - a case for each constructor
    demand: terms.Term, operands: Operands
) -> z3.BoolRef:
    match demand:
        case terms.Decided(decided, _):
            return z3.BoolVal(decided)
        case terms.All(inner):
            return z3.And([_formula(each, operands) for each in inner])
        case terms.Either(inner):
            return z3.Or([_formula(each, operands) for each in inner])
        case terms.Each(of):
            return z3.And([_formula(of(terms.Tensor(name)), operands) for name in operands])
        case terms.IfGiven(tensor, inner):
            return _formula(inner, operands) if tensor.name in operands else z3.BoolVal(True)
        case terms.Compare(left, relation, right):
            one, other = _number(left, operands), _number(right, operands)
            there = [_exists(number, operands) for number in (left, right)]
            return z3.And(*there, _compared(one, relation, other))
        case terms.IsMultiple(number, factor):
            return z3.And(_exists(number, operands), _number(number, operands) % factor == 0)
        case terms.HasAxis(tensor, axis, or_end):
            rank = term(operands[tensor.name].rank)
            return z3.And(-rank <= axis, axis < rank + int(or_end))
        case terms.SizesBehind(tensor, axis, longest):
            x = operands[tensor.name]
            first = axis + 1 + (0 if axis >= 0 else term(x.rank))
            short = for_all(x.rank, lambda i: z3.Or(i < first, x.sizes.at(i) <= longest))
            return z3.And(_formula(terms.HasAxis(tensor, axis), operands), short)


def _compared(one: z3.ArithRef, relation: terms.Relation, other: z3.ArithRef) -> z3.BoolRef:
    match relation:
        case terms.Relation.EQUAL:
            return one == other
        case terms.Relation.AT_LEAST:
            return one >= other
        case terms.Relation.AT_MOST:
            return one <= other


def _exists(number: int | terms.Number, operands: Operands) -> z3.BoolRef:
    match number:
        case terms.Size(tensor, axis):
            return _formula(terms.HasAxis(tensor, axis), operands)
        case terms.Times(_, inner):
            return _exists(inner, operands)
    return z3.BoolVal(True)


def _number(number: int | terms.Number, operands: Operands) -> z3.ArithRef:
    match number:
        case int():
            return z3.IntVal(number)
        case terms.Rank(tensor):
            return term(operands[tensor.name].rank)
        case terms.Size(tensor, axis):
            x = operands[tensor.name]
            return x.sizes.any_at(axis if axis >= 0 else x.rank + axis)
        case terms.Times(factor, inner):
            return factor * _number(inner, operands)


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
        case OnValue(of=entry) if entry.whole:
            found = _whole(*operands)
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


def _whole(x: Tensor) -> z3.BoolRef:
    """Every element is a finite number without a fraction; each integer is."""
    if x.element_type.family is not Family.FLOAT:
        return z3.BoolVal(True)

    def is_whole(index: Index) -> z3.BoolRef:
        element = x.elements.at(index)
        finite = z3.Not(z3.Or(z3.fpIsNaN(element), z3.fpIsInf(element)))
        return z3.And(finite, z3.fpEQ(element, z3.fpRoundToIntegral(z3.RTZ(), element)))

    return for_all(x.elements.length, is_whole)


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
        if not numbers.admits_nan and z3.is_fp(element):
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
