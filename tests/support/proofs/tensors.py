"""Tensors as terms: sizes and elements, of as many axes and elements as a term says.

A length is a number, or a term: a proof about a term is a proof for all ranks and all sizes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import z3

from sonnx_ort.profile.element_type import ElementType
from support.proofs.terms import LARGEST_RANK, LARGEST_SIZE, NotInterpreted, given, literal, sort_of

Length = int | z3.ArithRef
Index = int | z3.ArithRef


@dataclass(frozen=True, eq=False)
class Vector:
    """Terms one behind the other.

    Attributes:
        length: How many there are.
        at: The one at an index from 0 on.
        backwards: Whether what is said of all of them counts them from the end, as broadcasting
            does. It says the same; a solver finds instances where an index is a variable alone.
    """

    length: Length
    at: Callable[[Index], z3.ExprRef]
    backwards: bool = False

    def aligned_at(self, from_the_end: Index, otherwise: int) -> z3.ExprRef:
        """The one at an index counted from the end; a number where there is none."""
        index = reduced(self.length - 1 - from_the_end)
        if isinstance(index, int):
            return self.at(index) if index >= 0 else z3.IntVal(otherwise)
        if isinstance(self.length, int) and self.length == 0:
            return z3.IntVal(otherwise)
        return z3.If(from_the_end < self.length, self.at(index), z3.IntVal(otherwise))

    def any_at(self, index: Index, otherwise: z3.ExprRef | None = None) -> z3.ExprRef:
        """The term at an index; some other one where there is none, by default a number."""
        if isinstance(self.length, int) and (
            self.length == 0 or (isinstance(index, int) and not 0 <= index < self.length)
        ):
            return z3.IntVal(0) if otherwise is None else otherwise
        return self.at(index)

    def for_all(self, holds: Callable[[Index], z3.BoolRef]) -> z3.BoolRef:
        """Whether something holds at each index."""
        if not self.backwards:
            return for_all(self.length, holds)
        return for_all(self.length, lambda i: holds(reduced(self.length - 1 - i)))

    def exists(self, holds: Callable[[Index], z3.BoolRef]) -> z3.BoolRef:
        """Whether something holds at an index."""
        return z3.Not(self.for_all(lambda index: z3.Not(holds(index))))


def reduced(index: Index) -> Index:
    """An index, as a number where it is one."""
    return index if isinstance(index, int) else length_of(index)


def vector_of(terms: Sequence[z3.ExprRef]) -> Vector:
    """A vector of terms that are told one by one."""

    def at(index: Index) -> z3.ExprRef:
        if isinstance(index, int):
            return terms[index]
        if z3.is_int_value(index):
            return terms[index.as_long()]
        chosen = terms[-1]
        for position, each in enumerate(terms[:-1]):
            chosen = z3.If(index == position, each, chosen)
        return chosen

    def checked(index: Index) -> z3.ExprRef:
        if not terms:
            raise NotInterpreted("an element of an empty vector")
        return at(index)

    return Vector(len(terms), checked)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor.

    Attributes:
        element_type: The type of its elements.
        sizes: Its sizes.
        elements: Its elements, in row-major order.
    """

    element_type: ElementType
    sizes: Vector
    elements: Vector

    @property
    def rank(self) -> Length:
        """How many axes it has."""
        return self.sizes.length

    @property
    def is_scalar(self) -> bool:
        """Whether it is known to have no axes."""
        return isinstance(self.rank, int) and self.rank == 0

    @property
    def is_vector(self) -> bool:
        """Whether it is known to have one axis."""
        return isinstance(self.rank, int) and self.rank == 1


def line(element_type: ElementType, elements: Vector) -> Tensor:
    """A tensor of one axis."""
    return Tensor(element_type, vector_of([term(elements.length)]), elements)


def scalar(element_type: ElementType, element: z3.ExprRef) -> Tensor:
    """A tensor without axes."""
    return Tensor(element_type, vector_of([]), vector_of([element]))


def constant(array: npt.NDArray[Any], element_type: ElementType) -> Tensor:
    """A constant of a graph."""
    return _told(array, element_type, literal)


def pinned(array: npt.NDArray[Any], element_type: ElementType) -> Tensor:
    """An operand of which everything is known."""
    return _told(array, element_type, given)


def _told(
    array: npt.NDArray[Any],
    element_type: ElementType,
    term: Callable[[Any, ElementType], z3.ExprRef],
) -> Tensor:
    sizes = vector_of([z3.IntVal(size) for size in array.shape])
    elements = vector_of([term(value, element_type) for value in np.ravel(array)])
    return Tensor(element_type, sizes, elements)


def length_of(elements: z3.ArithRef) -> Length:
    """A length, as a number where it is one."""
    reduced = z3.simplify(elements)
    return reduced.as_long() if z3.is_int_value(reduced) else elements


def term(length: Length) -> z3.ArithRef:
    """A length, as a term."""
    return z3.IntVal(length) if isinstance(length, int) else length


def for_all(length: Length, holds: Callable[[Index], z3.BoolRef]) -> z3.BoolRef:
    """Whether something holds at every index below a length."""
    if isinstance(length, int):
        return z3.And([holds(index) for index in range(length)])
    index = z3.FreshInt("i")
    return z3.ForAll([index], z3.Implies(z3.And(index >= 0, index < length), holds(index)))


def exists(length: Length, holds: Callable[[Index], z3.BoolRef]) -> z3.BoolRef:
    """Whether something holds at an index below a length."""
    return z3.Not(for_all(length, lambda index: z3.Not(holds(index))))


def same_sizes(one: Vector, other: Vector) -> z3.BoolRef:
    """Whether two shapes are equal."""
    if isinstance(one.length, int) and isinstance(other.length, int):
        if one.length != other.length:
            return z3.BoolVal(False)
        return for_all(one.length, lambda i: one.at(i) == other.at(i))
    shorter = one.length if isinstance(one.length, int) else other.length
    if one.backwards or other.backwards:
        # A number that no size is stands for one that is not there.
        equal = for_all(shorter, lambda i: one.aligned_at(i, -1) == other.aligned_at(i, -1))
    else:
        equal = for_all(shorter, lambda i: one.at(i) == other.at(i))
    return z3.And(one.length == other.length, equal)


@dataclass(frozen=True)
class Operand:
    """A tensor that a model is given, and what is true of every such tensor.

    Attributes:
        name: Its name.
        tensor: The tensor.
        facts: What is true of it.
    """

    name: str
    tensor: Tensor
    facts: tuple[z3.BoolRef, ...]


def operand(
    name: str,
    element_type: ElementType,
    rank: Length,
    *,
    sizes: Sequence[int | None] = (),
    backwards: bool = False,
) -> Operand:
    """A tensor of which nothing is known but what is told.

    Args:
        name: The name.
        element_type: The type of its elements.
        rank: Its rank.
        sizes: Those of its sizes that are known, where the rank is a number.
        backwards: Whether axes are counted from the last one.
    """
    size = z3.Function(f"{name}.size", z3.IntSort(), z3.IntSort())
    element = z3.Function(f"{name}.element", z3.IntSort(), sort_of(element_type))
    if isinstance(rank, int):
        told = [*sizes, *[None] * (rank - len(sizes))]
        shape = vector_of(
            [size(axis) if known is None else z3.IntVal(known) for axis, known in enumerate(told)]
        )
    elif backwards:
        shape = Vector(rank, lambda axis: size(reduced(rank - 1 - axis)), backwards=True)
    else:
        shape = Vector(rank, size)
    count = number_of_elements(shape)
    facts = [
        term(rank) >= 0,
        term(rank) <= LARGEST_RANK,
        shape.for_all(lambda axis: z3.And(shape.at(axis) >= 0, shape.at(axis) <= LARGEST_SIZE)),
    ]
    if not isinstance(count, int):
        facts += counted(count, shape)
    return Operand(name, Tensor(element_type, shape, Vector(count, element)), tuple(facts))


def index_operand(name: str, element_type: ElementType, length: Length) -> Operand:
    """A vector of places, whose elements are mathematical integers within the type.

    Args:
        name: The name.
        element_type: The type of its elements, a signed one.
        length: How many elements it has.
    """
    element = z3.Function(f"{name}.element", z3.IntSort(), z3.IntSort())
    largest = (1 << (8 * element_type.dtype.itemsize - 1)) - 1
    tensor = line(element_type, Vector(length, element))
    within = tensor.elements.for_all(
        lambda i: z3.And(element(i) >= -largest - 1, element(i) <= largest)
    )
    return Operand(name, tensor, (term(length) >= 0, term(length) <= LARGEST_SIZE, within))


def number_of_elements(sizes: Vector) -> Length:
    """The product of sizes; of an unknown number of them, a number that `counted` tells of."""
    if not isinstance(sizes.length, int):
        return z3.FreshInt("count")
    product: z3.ArithRef = z3.IntVal(1)
    for axis in range(sizes.length):
        product = product * sizes.at(axis)
    return length_of(product)


def counted(count: z3.ArithRef, sizes: Vector) -> list[z3.BoolRef]:
    """What is true of a product of sizes: it is not negative, and zero where one of them is."""
    return [count >= 0, (count == 0) == sizes.exists(lambda axis: sizes.at(axis) == 0)]


def counted_alike(tensors: Sequence[Tensor]) -> list[z3.BoolRef]:
    """That tensors of one shape have one number of elements."""
    return [
        z3.Implies(
            same_sizes(one.sizes, other.sizes),
            term(one.elements.length) == term(other.elements.length),
        )
        for one, other in combinations(tensors, 2)
        if not (isinstance(one.rank, int) and isinstance(other.rank, int))
    ]


def counted_with_ones_behind(one: Tensor, other: Tensor) -> z3.BoolRef:
    """That axes of size 1 behind the others leave the number of elements as it is.

    Args:
        one: A tensor.
        other: One that may have such axes besides those of the first.
    """

    def same(axis: Index) -> z3.BoolRef:
        own = z3.If(term(axis) < term(one.rank), one.sizes.any_at(axis), z3.IntVal(1))
        return other.sizes.at(axis) == own

    goes_on = z3.And(term(one.rank) <= term(other.rank), other.sizes.for_all(same))
    return z3.Implies(goes_on, term(one.elements.length) == term(other.elements.length))


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
