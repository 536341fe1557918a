"""What versions 1 and 6 demand of a second operand that is broadcast, as terms."""

import z3

from sonnx_ort.profile.requirements.broadcasting import LimitedBroadcasting
from support.proofs.tensors import Index, Length, Vector, length_of, reduced, term


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
