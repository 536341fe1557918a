"""What rules about sizes and axes that are named demand, as terms."""

import z3

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.axes import AxesNamedOnce, EqualButOnAxis
from sonnx_ort.profile.requirements.reshaping import InferableSize
from support.proofs.tensors import Index, Tensor, Vector, for_all, term, vector_of
from support.proofs.terms import as_number


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
            first.rank,
            lambda i: z3.Or(term(i) == axis, first.sizes.at(i) == other.sizes.any_at(i)),
        )
        return z3.And(rank == term(other.rank), equal)

    return z3.Or(rank == 0, z3.And([same(other) for other in others]))
