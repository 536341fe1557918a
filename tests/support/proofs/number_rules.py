"""What rules about differences and lines demand, as formulas."""

import z3

from support.proofs.lines import lines_of
from support.proofs.tensors import Tensor, for_all

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
