"""The language of demands on shapes.

    X, W = Tensor("X"), Tensor("W")
    (X.rank == 4) & (4 * W.size(1) == X.size(1))

Python's operators build terms, so a term reads as the sentence of its rule does. Numbers and terms
compare by identity, because `==` builds a comparison.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass


class Relation(enum.StrEnum):
    """How two numbers are compared, in words."""

    EQUAL = "is"
    AT_LEAST = "is at least"
    AT_MOST = "is at most"

    def holds(self, one: int, other: int) -> bool:
        """Whether it holds of two numbers."""
        match self:
            case Relation.EQUAL:
                return one == other
            case Relation.AT_LEAST:
                return one >= other
            case Relation.AT_MOST:
                return one <= other


class Term:
    """A demand, which holds of the shapes of operands or does not."""

    __slots__ = ()

    def __and__(self, other: "Term") -> "All":
        """Both hold."""
        return All((self, other))

    def __or__(self, other: "Term") -> "Either":
        """One of them holds at least."""
        return Either((self, other))


class Number:
    """A number that shapes decide: a rank, a size, or a multiple of one.

    It is never negative.
    """

    __slots__ = ()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> "Compare":  # type: ignore[override]
        """That it is another number."""
        return Compare(self, Relation.EQUAL, _number(other))

    def __ge__(self, other: "int | Number") -> "Compare":
        """That it is not below a number."""
        return Compare(self, Relation.AT_LEAST, _number(other))

    def __le__(self, other: "int | Number") -> "Compare":
        """That it is not above a number."""
        return Compare(self, Relation.AT_MOST, _number(other))

    def __rmul__(self, factor: int) -> "Number":
        """A multiple."""
        return self if factor == 1 else Times(factor, self)


def _number(other: object) -> int | Number:
    if isinstance(other, int | Number):
        return other
    raise TypeError(f"a size is compared with a number or a size, and {other!r} is neither")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An operand, by its name in the operator's document."""

    name: str

    @property
    def rank(self) -> Number:
        """The number of its axes."""
        return Rank(self)

    def size(self, axis: int) -> Number:
        """The size of an axis, negative from the end.

        No comparison holds of an axis that is not there.
        """
        return Size(self, axis)

    def has_axis(self, axis: int, *, or_end: bool = False) -> Term:
        """That an axis exists, negative from the end; `or_end` admits the rank itself too."""
        return HasAxis(self, axis, or_end)

    def is_of_shape(self, *sizes: int | Number) -> "OfShape":
        """That it has so many axes, of these sizes."""
        own = (self.size(axis) == size for axis, size in enumerate(sizes))
        return OfShape((self.rank == len(sizes), *own), self, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class Rank(Number):
    """The rank of a tensor."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Size(Number):
    """The size of an axis of a tensor."""

    tensor: Tensor
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Times(Number):
    """A multiple of a number."""

    factor: int
    number: Number


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Term):
    """A comparison of two numbers."""

    left: Number
    relation: Relation
    right: int | Number


@dataclass(frozen=True, slots=True, eq=False)
class IsMultiple(Term):
    """A number is a multiple of a positive one."""

    number: Number
    factor: int


@dataclass(frozen=True, slots=True, eq=False)
class HasAxis(Term):
    """A tensor has an axis, negative from the end; `or_end` admits the rank itself too."""

    tensor: Tensor
    axis: int
    or_end: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SizesBehind(Term):
    """No axis of a tensor behind one of its axes, negative from the end, is longer than a size."""

    tensor: Tensor
    axis: int
    longest: int


@dataclass(frozen=True, slots=True, eq=False)
class All(Term):
    """Each of some terms holds."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OfShape(All):
    """A tensor has a rank and sizes; the terms say so one by one."""

    tensor: Tensor
    sizes: tuple[int | Number, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Either(Term):
    """One of some terms holds at least."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Each(Term):
    """A term holds of each operand that is given."""

    of: Callable[[Tensor], Term]


@dataclass(frozen=True, slots=True, eq=False)
class IfGiven(Term):
    """A term holds, unless an operand is left out."""

    tensor: Tensor
    term: Term


@dataclass(frozen=True, slots=True, eq=False)
class Decided(Term):
    """What the attributes of a node decide, and how, as a clause."""

    holds: bool
    words: str
