"""What holds behind guards, as expressions of the values of a model."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

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


Worlds = list[Facts]
"""What holds, in each of the cases that an If decides."""

NOTHING = Facts()


def together(several: Iterable[Worlds]) -> Worlds:
    """What holds if all these are evaluated."""
    found = []
    for worlds in product(*several):
        facts = NOTHING
        for world in worlds:
            facts |= world
        found.append(facts)
    return found
