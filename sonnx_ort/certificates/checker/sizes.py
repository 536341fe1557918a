"""Sizes of axes: numbers, and expressions of sizes that only a run decides."""

from collections.abc import Sequence
from fractions import Fraction
from math import trunc

Size = int | str
"""A size; an open one is an expression of sizes of inputs, the same in one run."""

Sizes = tuple[Size | None, ...]
"""Sizes, None for those that are not known."""


class Rejected(Exception):  # noqa: N818 - the certificate is
    """A step or an obligation that does not follow; the message says why."""


def require(condition: object, reason: str) -> None:
    """Reject what does not hold."""
    if not condition:
        raise Rejected(reason)


def require_once(names: Sequence[str], what: str) -> None:
    """Reject what has no name, or the name of another."""
    seen = set[str]()
    for name in names:
        require(name, f"{what} has no name")
        require(name not in seen, f"{what} '{name}' is there twice")
        seen.add(name)


def added(one: Size, other: Size) -> Size:
    """The sum of two sizes."""
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    return one if other == 0 else other if one == 0 else f"({one} + {other})"


def multiplied(sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    number, rest = 1, []
    for size in sizes:
        if isinstance(size, int):
            number *= size
        else:
            rest.append(size)
    if not rest or number == 0:
        return number
    return rest[0] if len(rest) == 1 and number == 1 else f"({' * '.join(sorted(rest))} * {number})"


def divided(size: Size, divisor: int) -> Size:
    """A size divided by a positive number and rounded towards zero."""
    if divisor == 1:
        return size
    return trunc(Fraction(size, divisor)) if isinstance(size, int) else f"({size} / {divisor})"


def from_the_front(axis: int, rank: int) -> int:
    """An axis as an index from the front."""
    require(-rank <= axis < rank, f"there is no axis {axis} among {rank}")
    return axis % rank


def common(shapes: Sequence[Sequence[Size]]) -> Sizes:
    """The shape to which several are broadcast, if the node runs."""
    return tuple(_agreed(sizes - {1} or {1}) for sizes in along_axes(shapes))


def same(sizes: set[Size]) -> Size | None:
    """The only size of several; None if they may differ."""
    return next(iter(sizes)) if len(sizes) == 1 else None


def along_axes(shapes: Sequence[Sequence[Size]]) -> list[set[Size]]:
    """The sizes of several shapes along each axis, counted from the last one."""
    rank = max(map(len, shapes), default=0)
    padded = [(*[1] * (rank - len(shape)), *shape) for shape in shapes]
    return [{*sizes} for sizes in zip(*padded, strict=True)]


def is_broadcastable(sizes: set[Size]) -> bool:
    """Whether each size is the largest one, or 1."""
    numbers = [size for size in sizes if isinstance(size, int)]
    return len(sizes) == 1 or sizes <= {1, max(numbers, default=1)}


def is_positive(size: Size) -> bool:
    """Whether a size is known not to be 0."""
    return isinstance(size, int) and size > 0


def _agreed(sizes: set[Size]) -> Size | None:
    """The size that all of these are in every run that goes on; None if that is open."""
    fixed = {size for size in sizes if isinstance(size, int)}
    require(len(fixed) < 2, "the sizes differ")
    return fixed.pop() if fixed else same(sizes)
