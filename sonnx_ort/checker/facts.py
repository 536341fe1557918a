"""What holds behind guards, as expressions of the values of a model.

What flags say of ranks and sizes, and whether that is what a term about shapes demands. Each side
of a comparison is a vector: a rank, the sizes of axes, constants, or several of them in a row.
Where an axis is not there, a vector has a number in its place that is no size.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any

from sonnx_ort.terms.language import (
    All,
    Compare,
    Decided,
    Each,
    HasAxis,
    IfGiven,
    Number,
    Rank,
    Relation,
    Size,
    Tensor,
    Term,
    Times,
)

Tree = tuple[Any, ...]
"""An expression: an operator, its attributes and its operands; a value of the original; a constant
with its type, shape and elements."""


@dataclass(frozen=True)
class Facts:
    """What holds behind guards that have passed.

    Attributes:
        kept: Flags that are true, everywhere if they are tensors.
        broken: Flags that are false.
        nowhere: Tensors of flags none of which is true.
    """

    kept: frozenset[Tree] = frozenset()
    broken: frozenset[Tree] = frozenset()
    nowhere: frozenset[Tree] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        """Take flags apart."""
        kept = frozenset(_parts(self.kept, "And"))
        broken = frozenset(_parts(self.broken, "Or"))
        some = [found for flag in broken if (found := any_true(flag)) is not None]
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "broken", broken)
        nowhere = frozenset([*broken, *some])
        parts = _parts((flag for flag in nowhere if _looks_at(flag) is not None), "Or")
        object.__setattr__(self, "nowhere", nowhere.union(parts))

    def __or__(self, other: "Facts") -> "Facts":
        return Facts(self.kept | other.kept, self.broken | other.broken)


def _parts(trees: Iterable[Tree], operator: str) -> Iterable[Tree]:
    waiting = list(trees)
    while waiting:
        tree = waiting.pop()
        yield tree
        if tree[0] == operator:
            waiting += tree[2:]


def _looks_at(flag: Tree) -> Tree | None:
    """The tensor each of whose elements a flag compares with numbers; None for other flags.

    Of an Or of other tensors no part is known: next to one without elements it has none.
    """
    match flag:
        case ("IsNaN", (), each) | (
            "Less" | "Greater" | "Equal",
            (),
            each,
            ("constant", _, _, (_,)),
        ):
            return tuple(each)
        case ("Or", (), one, other):
            each = _looks_at(one)
            return each if each == _looks_at(other) else None
    return None


def any_true(flag: Tree) -> Tree | None:
    """The tensor of flags of which one flag says whether any is true; None for other flags."""
    match flag:
        case (
            "Cast",
            (("to", 9),),
            ("ReduceMax", (("keepdims", 0),), ("Cast", (("to", 2),), each)),
        ):
            return tuple(each)
        case (
            "Greater",
            (),
            ("ReduceMax", (("keepdims", 0),), ("Cast", (("to", 1),), each)),
            ("constant", _, _, (0.0,)),
        ):
            return tuple(each)
    return None


Cases = list[Facts]
"""What holds, in each of the cases that an If decides."""

NOTHING = Facts()


def conjunction(several: Iterable[Cases]) -> Cases:
    """What holds if all these are evaluated."""
    found = []
    for worlds in product(*several):
        facts = NOTHING
        for world in worlds:
            facts |= world
        found.append(facts)
    return found


_FALSE = ("constant", "bool", (), (False,))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A number of a vector.

    Attributes:
        number: A constant, the rank of a value, or the size of an axis of it.
        factor: What it is multiplied with.
        missing: What stands in its place if there is no such axis; None if there is one, or the run
            fails.
    """

    number: int | tuple[str] | tuple[str, int]
    factor: int = 1
    missing: int | None = None

    @property
    def missing_number(self) -> int | None:
        """What the entry is where there is no such axis."""
        return None if self.missing is None else self.factor * self.missing


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags of guards that have passed.

    Attributes:
        facts: The flags.
        values: The values of the original that operands stand for, by name.
        rank: Tells the established rank of a value; None if there is none.
    """

    facts: Facts
    values: Mapping[str, str]
    rank: Callable[[str], int | None]

    def hold(self, term: Term) -> bool:  # noqa: PLR0911 - a case for each constructor
        """Whether a term holds because of the flags."""
        match term:
            case Decided(holds, _):
                return bool(holds)
            case All(terms):
                return all(map(self.hold, terms))
            case Each(of):
                return all(self.hold(of(Tensor(name))) for name in self.values)
            case IfGiven(tensor, inner):
                return tensor.name not in self.values or self.hold(inner)
            case HasAxis(tensor, _, False):
                place = ("constant", "int64", (1,), (term.below_the_rank,))
                rank = ("Shape", (), ("Shape", (), ("value", self.values[tensor.name])))
                return ("Greater", (), rank, place) in self.facts.kept
            case Compare(left, relation, right):
                wanted = self._demanded(left), relation, self._demanded(right)
                return any(_implies(said, *wanted) for said in self._comparisons())
        return False

    def _demanded(self, number: int | Number) -> _Entry | None:
        match number:
            case int():
                return _Entry(number)
            case Rank(tensor) if tensor.name in self.values:
                return _Entry((self.values[tensor.name],))
            case Size(tensor, axis) if tensor.name in self.values:
                return _Entry((self.values[tensor.name], axis))
            case Times(factor, inner):
                entry = self._demanded(inner)
                return None if entry is None else _Entry(entry.number, factor * entry.factor)
        return None

    def _comparisons(self) -> Iterator[tuple[_Entry, Relation, _Entry]]:
        """What the flags say, number by number."""
        for flag in self.facts.kept:
            match flag:
                case ("Equal", (), left, right):
                    yield from self._pairs(left, Relation.EQUAL, right)
        for flag in self.facts.nowhere:
            match flag:
                case ("Less", (), left, right):
                    yield from self._pairs(left, Relation.AT_LEAST, right)
                case ("Equal", (), ("Equal", (), left, right), false) if false == _FALSE:
                    yield from self._pairs(left, Relation.EQUAL, right)

    def _pairs(
        self, left: Tree, relation: Relation, right: Tree
    ) -> Iterator[tuple[_Entry, Relation, _Entry]]:
        one, other = self._entries(left), self._entries(right)
        # Vectors of different lengths would be broadcast, or fail.
        if one is not None and other is not None and len(one) == len(other):
            yield from ((a, relation, b) for a, b in zip(one, other, strict=True))

    def _entries(  # noqa: PLR0911 - a case for each kind of vector
        self, vector: Tree
    ) -> list[_Entry] | None:
        """The numbers of a vector; None if they are not known."""
        match vector:
            case ("Shape", (), ("Shape", (), ("value", name))):
                return [_Entry((name,))]
            case ("Shape", (), ("value", name)):
                rank = self.rank(name)
                return None if rank is None else [_Entry((name, axis)) for axis in range(rank)]
            case ("constant", "int64", (_,), elements):
                return [_Entry(each) for each in elements]
            case ("Gather", (("axis", 0),), sizes, ("constant", "int64", (_,), axes)):
                return _gathered(sizes, axes)
            case ("Concat", (("axis", 0),), *parts):
                found = [self._entries(part) for part in parts]
                known = [entries for entries in found if entries is not None]
                return [*chain(*known)] if len(known) == len(found) else None
            case ("Mul", (), inner, ("constant", "int64", (_,), factors)):
                entries = self._entries(inner)
                if entries is None or len(entries) != len(factors):
                    return None
                pairs = zip(entries, factors, strict=True)
                return [_Entry(e.number, e.factor * by, e.missing) for e, by in pairs]
        return None


def _gathered(sizes: Tree, axes: tuple[int, ...]) -> list[_Entry] | None:
    """The sizes of axes from the front; of those that are not there, what is put behind them."""
    match sizes:
        case ("Shape", (), ("value", name)) if min(axes) >= 0:
            return [_Entry((name, axis)) for axis in axes]
        case (
            "Concat",
            (("axis", 0),),
            ("Shape", (), ("value", name)),
            ("constant", "int64", _, fillers),
        ) if min(axes) >= 0 and len(fillers) > max(axes) and len({*fillers}) == 1:
            return [_Entry((name, axis), missing=fillers[0]) for axis in axes]
    return None


def _implies(
    said: tuple[_Entry, Relation, _Entry],
    left: _Entry | None,
    relation: Relation,
    right: _Entry | None,
) -> bool:
    """Whether a comparison that holds is one that is demanded, of axes that are there."""
    one, how, other = said
    if how is not relation or left is None or right is None:
        return False
    if (one.number, one.factor) != (left.number, left.factor):
        return False
    if relation is Relation.AT_LEAST:
        least, wanted = other.number, right.number
        if not isinstance(least, int) or not isinstance(wanted, int) or other.factor != 1:
            return False
        return least >= wanted and (one.missing_number is None or one.missing_number < least)
    if (other.number, other.factor) != (right.number, right.factor):
        return False
    return relation is Relation.EQUAL and _differ_where_missing(one, other)


def _differ_where_missing(one: _Entry, other: _Entry) -> bool:
    """Whether two numbers differ if an axis of one is not there: sizes are not negative."""
    if one.missing_number is not None and one.missing_number == other.missing_number:
        return False
    pairs = ((one, other), (other, one))
    return all(
        each.missing_number is None
        or (each.missing_number < 0 and (not isinstance(beside.number, int) or beside.number >= 0))
        for each, beside in pairs
    )
