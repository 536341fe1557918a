"""The language of demands on shapes.

    X, W = Tensor("X"), Tensor("W")
    All((X.rank == 4, 4 * W.size(1) == X.size(1)))

Python's operators build comparisons, so that they read as the sentence of their rule does. Numbers
and terms are hashed by identity, because `==` builds a term.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from sonnx_ort.facts.sizes import Bounds


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

    def decided(self, one: Bounds, other: Bounds) -> bool | None:
        """Whether it holds of any two numbers within bounds, or of none; else None."""
        match self:
            case Relation.EQUAL:
                if one == other and one.lower == one.upper:
                    return True
                apart = one.upper < other.lower or other.upper < one.lower
                return False if apart else None
            case Relation.AT_LEAST:
                return _is_at_least(one, other)
            case Relation.AT_MOST:
                return _is_at_least(other, one)


def _is_at_least(one: Bounds, other: Bounds) -> bool | None:
    if one.lower >= other.upper:
        return True
    return False if one.upper < other.lower else None


class _Comparable:
    """A number that shapes decide. It is never negative."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> "Compare":  # type: ignore[override]
        """That it is another number."""
        return Compare(_require_number(self), Relation.EQUAL, _require_number(other))

    def __ge__(self, other: object) -> "Compare":
        """That it is not below a number."""
        return Compare(_require_number(self), Relation.AT_LEAST, _require_number(other))

    def __le__(self, other: object) -> "Compare":
        """That it is not above a number."""
        return Compare(_require_number(self), Relation.AT_MOST, _require_number(other))

    def __rmul__(self, factor: int) -> "Number":
        """A multiple."""
        number = cast("Number", self)
        return number if factor == 1 else Times(factor, number)


def _require_number(given: object) -> "int | Number":
    if isinstance(given, int | Number):
        return given
    raise TypeError(f"a size is compared with a number or a size, and {given!r} is neither")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An operand, by its name in the operator's document."""

    name: str

    @property
    def rank(self) -> "Rank":
        """The number of its axes."""
        return Rank(self)

    def size(self, axis: int) -> "Size":
        """The size of an axis, negative from the end.

        No comparison holds of an axis that is not there.
        """
        return Size(self, axis)

    def has_axis(self, axis: int, *, or_end: bool = False) -> "HasAxis":
        """That an axis exists, negative from the end; `or_end` admits the rank itself too."""
        return HasAxis(self, axis, or_end)

    def is_of_shape(self, *sizes: "int | Number") -> "OfShape":
        """That it has so many axes, of these sizes."""
        own = (self.size(axis) == size for axis, size in enumerate(sizes))
        return OfShape((self.rank == len(sizes), *own), self, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class Rank(_Comparable):
    """The rank of a tensor."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Size(_Comparable):
    """The size of an axis of a tensor."""

    tensor: Tensor
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Times(_Comparable):
    """A multiple of a number."""

    factor: int
    number: "int | Number"


@dataclass(frozen=True, slots=True, eq=False)
class Compare:
    """A comparison of two numbers."""

    left: "int | Number"
    relation: Relation
    right: "int | Number"


@dataclass(frozen=True, slots=True, eq=False)
class IsMultiple:
    """A number is a multiple of a positive one."""

    number: "Number"
    factor: int


@dataclass(frozen=True, slots=True, eq=False)
class HasAxis:
    """A tensor has an axis, negative from the end; `or_end` admits the rank itself too."""

    tensor: Tensor
    axis: int
    or_end: bool = False

    @property
    def below_the_rank(self) -> int:
        """The number that is below the rank exactly if the axis exists, from either end."""
        return self.axis if self.axis >= 0 else -self.axis - 1


@dataclass(frozen=True, slots=True, eq=False)
class SizesBehind:
    """Every axis after `axis`, counted from the end if negative, has at most `longest` elements."""

    tensor: Tensor
    axis: int
    longest: int


@dataclass(frozen=True, slots=True, eq=False)
class All:
    """Each of some terms holds."""

    terms: "tuple[Term, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class OfShape(All):
    """A tensor has a rank and sizes; the terms say so one by one."""

    tensor: Tensor
    sizes: "tuple[int | Number, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """One of some terms holds at least."""

    terms: "tuple[Term, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Each:
    """A term holds of each operand that is given."""

    of: "Callable[[Tensor], Term]"


@dataclass(frozen=True, slots=True, eq=False)
class IfGiven:
    """A term holds, unless an operand is omitted."""

    tensor: Tensor
    term: "Term"


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """What the attributes of a node decide, and how, as a clause; None if they leave it open."""

    holds: bool | None
    words: str


Number = Rank | Size | Times
"""A rank, a size, or a multiple of one."""

Term = Compare | IsMultiple | HasAxis | SizesBehind | All | Either | Each | IfGiven | Decided
"""A demand, which holds of the shapes of operands or does not.

Each reader takes every kind of term; mypy refuses one that passes over a kind.
"""
