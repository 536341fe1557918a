"""What rules about single operands demand, as terms; `rules` has the others."""

from collections.abc import Sequence

import z3

from sonnx_ort.profile.requirements.shapes import AxisNotEmpty, OwnRank
from sonnx_ort.profile.requirements.slicing import EveryAxis, SliceDemand, Slicing
from sonnx_ort.profile.rule import Requirement
from support.proofs.tensors import Tensor, for_all, length_of, term
from support.proofs.terms import NotInterpreted, as_number


def demanded_of_single_operands(requirement: Requirement, operands: Sequence[Tensor]) -> z3.BoolRef:
    """Whether operands are as a requirement demands.

    Args:
        requirement: The requirement.
        operands: The operands that it speaks of; what names axes names some that are there.

    Raises:
        NotInterpreted: There is no formula for it.
    """
    match requirement:
        case OwnRank():
            return z3.And([term(operand.rank) == requirement.rank for operand in operands])
        case AxisNotEmpty():
            return _holds_something(requirement.axis, *operands)
        case EveryAxis():
            return term(operands[1].elements.length) == term(operands[0].rank)
        case Slicing():
            return _cut(requirement.demand, *operands)
    raise NotInterpreted(f"the requirement {type(requirement).__name__}")


def _holds_something(axis: int, x: Tensor) -> z3.BoolRef:
    rank = term(x.rank)
    there = z3.And(-rank <= axis, axis < rank)
    if isinstance(x.rank, int):
        return z3.And(there, x.sizes.at(axis % x.rank) > 0) if -x.rank <= axis < x.rank else there
    return z3.And(there, x.sizes.at(axis if axis >= 0 else rank + axis) > 0)


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
