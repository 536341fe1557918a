"""Elements at which an operator of the profile has no result, and others beside them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, smallest_value
from sonnx_ort.profile.options import Edition
from support.elementwise import Array, Single, singles
from support.values import SIGNED_INTEGERS

Elements = tuple[int | float, ...]
"""One element of each operand, all at one place."""


@dataclass(frozen=True)
class Boundary:
    """A rule about elements, what breaks it, and what only just keeps it.

    Attributes:
        rule: The rule's id.
        outside: What breaks it, for a type.
        inside: What keeps it, for a type.
        types: The types that have such elements.
    """

    rule: str
    outside: Callable[[ElementType], Sequence[Elements]]
    inside: Callable[[ElementType], Sequence[Elements]]
    types: tuple[ElementType, ...] = tuple(ElementType)


def _by_less_than_nothing(kind: ElementType) -> Sequence[Elements]:
    smallest = smallest_value(kind)
    return [(1, -1), (smallest, smallest)] if smallest else []


BOUNDARIES = (
    Boundary(
        "Mod.int.C1",
        lambda _: [(7, 0), (0, 0)],
        lambda kind: [(7, 1), (0, 3), (smallest_value(kind), 2)],
    ),
    Boundary(
        "Mod.int.C2",
        lambda kind: [(smallest_value(kind), -1)],
        lambda kind: [(smallest_value(kind), 1), (smallest_value(kind) + 1, -1), (-1, 7)],
        SIGNED_INTEGERS,
    ),
    Boundary(
        "Pow.int.C1",
        lambda kind: [(2, -1), (0, -1), (1, smallest_value(kind))],
        lambda _: [(2, 0), (0, 0), (-3, 3), (1, 7)],
    ),
    Boundary(
        "BitShift.int.C1",
        lambda kind: [(1, 8 * kind.dtype.itemsize), (0, 127), *_by_less_than_nothing(kind)],
        lambda kind: [(1, 8 * kind.dtype.itemsize - 1), (127, 0), (smallest_value(kind), 1)],
    ),
    Boundary(
        "Abs.int.C1",
        lambda kind: [(smallest_value(kind),)],
        lambda kind: [(smallest_value(kind) + 1,), (-smallest_value(kind) - 1,), (0,)],
        SIGNED_INTEGERS,
    ),
    Boundary(
        "Cast.float.C1",
        lambda kind: [(np.nan,), (-np.inf,), (3e9,) if kind.dtype.itemsize > 2 else (np.inf,)],
        lambda _: [(-0.5,), (-2049.75,), (0.0,), (65504.0,)],
    ),
    Boundary(
        "Acos.float.C1",
        lambda kind: [(float(np.nextafter(kind.dtype.type(1), kind.dtype.type(2))),), (-np.inf,)],
        lambda _: [(1.0,), (-1.0,), (-0.0,), (np.nan,), (0.25,)],
    ),
)


@dataclass(frozen=True)
class Crossing:
    """A rule about elements in one type.

    Attributes:
        boundary: The rule, and elements on both sides of it.
        single: The operator in that type.
    """

    boundary: Boundary
    single: Single

    def operands(self, shape: tuple[int, ...], outside: int | None = None) -> dict[str, Array]:
        """Operands that keep the rule, or break it at one place alone.

        Args:
            shape: Their shape.
            outside: The place, counted in row-major order; None for nowhere.
        """
        kind = self.single.element_type
        inside = self.boundary.inside(kind)
        size = int(np.prod(shape))
        chosen = [inside[place % len(inside)] for place in range(size)]
        if outside is not None:
            offending = self.boundary.outside(kind)
            chosen[outside] = offending[outside % len(offending)]
        columns = zip(*chosen, strict=True) if chosen else ((),) * len(self.single.names)
        return {
            name: np.array(column, kind.dtype).reshape(shape)
            for name, column in zip(self.single.names, columns, strict=True)
        }

    def __str__(self) -> str:
        """Give rule and type: `Mod.int.C1 int8`."""
        return f"{self.boundary.rule} {self.single.element_type}"


def crossings() -> Iterator[Crossing]:
    """Every rule of the table in every type that it binds and that there is a kernel for."""
    by_rule = {boundary.rule: boundary for boundary in BOUNDARIES}
    for single in singles():
        family = single.element_type.family
        for rule in OPERATORS[single.operator.name].rules(Edition.TYPED, family):
            boundary = by_rule.get(rule.id)
            if boundary is not None and single.element_type in boundary.types:
                yield Crossing(boundary, single)
