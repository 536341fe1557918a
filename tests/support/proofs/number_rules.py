"""What rules about single numbers, differences and axes demand, as terms."""

import z3

from sonnx_ort.profile.requirements.lines import HasAxis, ShortBehindAxis
from support.proofs.lines import lines_of
from support.proofs.tensors import Tensor, for_all, term

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


def numbers_other_than_zero(x: Tensor) -> z3.BoolRef:
    """No element is 0 or NaN."""

    def other(index: int | z3.ArithRef) -> z3.BoolRef:
        element = x.elements.at(index)
        return z3.Not(z3.Or(z3.fpIsZero(element), z3.fpIsNaN(element)))

    return for_all(x.elements.length, other)


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


def has_axis(requirement: HasAxis | ShortBehindAxis, x: Tensor) -> z3.BoolRef:
    """The axis is one of the tensor."""
    rank = term(x.rank)
    return z3.And(-rank <= requirement.axis, requirement.axis < rank)


def short_behind_axis(requirement: ShortBehindAxis, x: Tensor) -> z3.BoolRef:
    """No size behind the axis is above 1."""
    first = requirement.axis + 1 + (0 if requirement.axis >= 0 else term(x.rank))

    def short(index: int | z3.ArithRef) -> z3.BoolRef:
        return z3.Or(index < first, x.sizes.at(index) <= 1)

    return z3.And(has_axis(requirement, x), for_all(x.rank, short))


def lines_above_negative_infinity(axis: int, x: Tensor) -> z3.BoolRef:
    """No line that has elements is negative infinity throughout."""
    lines = lines_of(x, axis)

    def above(each: z3.ArithRef) -> z3.BoolRef:
        infinite = lines.throughout(each, lambda e: e == z3.fpMinusInfinity(e.sort()))
        return z3.Not(z3.And(lines.length > 0, infinite))

    return lines.every(above)
