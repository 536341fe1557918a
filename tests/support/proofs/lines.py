"""The lines of a tensor along an axis, and what reductions give of each."""

from collections.abc import Callable
from dataclasses import dataclass

import z3

from support.proofs.tensors import Tensor, term
from support.proofs.terms import sort_of


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a tensor along an axis.

    Where an element of a line stands in the tensor is said of known ranks alone. Of others it is
    any function, so that what is proved holds for that of row-major order too.

    Attributes:
        count: How many there are.
        length: How many elements each has.
        at: Gives the element of a line at a place on it.
        facts: What is true of the count and of the places.
    """

    count: z3.ArithRef
    length: z3.ArithRef
    at: Callable[[z3.ArithRef, z3.ArithRef], z3.ExprRef]
    facts: z3.BoolRef

    def every(self, holds: Callable[[z3.ArithRef], z3.BoolRef]) -> z3.BoolRef:
        """Whether something holds of each line."""
        line = z3.FreshInt("line")
        return z3.ForAll([line], z3.Implies(z3.And(line >= 0, line < self.count), holds(line)))

    def throughout(
        self, line: z3.ArithRef, holds: Callable[[z3.ExprRef], z3.BoolRef]
    ) -> z3.BoolRef:
        """Whether something holds of each element of a line."""
        place = z3.FreshInt("place")
        on_it = z3.And(place >= 0, place < self.length)
        return z3.ForAll([place], z3.Implies(on_it, holds(self.at(line, place))))


def lines_of(x: Tensor, axis: int) -> Lines:
    """The lines of a tensor along an axis, the same ones each time it is asked."""
    element = z3.Function(f"element_along_{axis}", z3.IntSort(), z3.IntSort(), z3.IntSort())
    count = z3.Int(f"lines_along_{axis}")
    length, nothing = _size(x, axis), z3.FPVal(0, sort_of(x.element_type))

    def at(line: z3.ArithRef, place: z3.ArithRef) -> z3.ExprRef:
        return x.elements.any_at(element(line, place), nothing)

    facts = count >= 0
    if isinstance(x.rank, int) and -x.rank <= axis < x.rank:
        facts = z3.And(facts, _in_row_major_order(x, axis % x.rank, count, element))
    return Lines(count, length, at, facts)


def _size(x: Tensor, axis: int) -> z3.ArithRef:
    if not isinstance(x.rank, int):
        return x.sizes.at(axis if axis >= 0 else term(x.rank) + axis)
    return x.sizes.at(axis % x.rank) if -x.rank <= axis < x.rank else z3.IntVal(0)


def _in_row_major_order(
    x: Tensor, axis: int, count: z3.ArithRef, element: z3.FuncDeclRef
) -> z3.BoolRef:
    sizes = [x.sizes.at(index) for index in range(int(x.rank))]
    before, behind = (z3.Product([z3.IntVal(1), *s]) for s in (sizes[:axis], sizes[axis + 1 :]))
    line, place = z3.Ints("line place")
    outer, inner = line / behind, line % behind
    right = element(line, place) == (outer * sizes[axis] + place) * behind + inner
    there = z3.And(line >= 0, line < count, place >= 0, place < sizes[axis])
    return z3.And(count == before * behind, z3.ForAll([line, place], z3.Implies(there, right)))
