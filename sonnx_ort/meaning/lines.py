"""Lines: what each element of a result reads of the operands.

The element (i, j) of the product of A (2, 3) and B (3, 4) reads row i of A and column j of B. These
are a product themselves, of A (1, 3) and B (3, 1). So the lines of A have the shape (2, 4, 1, 3),
those of B (2, 4, 3, 1): first the axes of the result, then those of an operand of the small node.

What makes lines only moves elements. Given the numbers of the elements, it tells which are read:

    numbers of B         lines of B at (1, 2)
    0  1   2   3         2
    4  5   6   7         6
    8  9  10  11         10

All of them are views, of which most repeat elements: lines take no memory beyond the numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import Array, Indices

PADDING = -1
"""The number of an element that no operand has."""

Numbers = Sequence[Indices | None]
"""The numbers of the elements of each operand, None for one that is omitted."""


@dataclass(frozen=True, slots=True)
class Lines:
    """What each element of a result reads, and the small nodes that give these elements.

    Attributes:
        shape: The shape of the result.
        operands: The lines of each operand, with the numbers of its elements; None for one that is
            omitted, or that each small node has whole.
        attributes: Those of a small node.
        part: The shape of its result.
        reads: How many elements an element of the result reads, by which samples are chosen.
        index: The first axes of the lines, which number the elements of the result as its own axes
            do; these if omitted.
        together: Whether one small node gives all elements that are chosen.
        has_lines: Whether its result is the whole line of the first operand.
        form: Gives the attributes of a small node, and its operands, of one line of each operand;
            `attributes` and the lines as they are if omitted.
    """

    shape: tuple[int, ...]
    operands: Numbers
    attributes: Mapping[str, Any]
    part: tuple[int, ...] = (-1,)
    reads: int = 1
    index: tuple[int, ...] | None = None
    together: bool = False
    has_lines: bool = False
    form: Callable[[Numbers], tuple[Mapping[str, Any], Numbers]] | None = None

    def at(self, places: Indices) -> tuple[Mapping[str, Any], Numbers]:
        """The attributes of a small node, and the numbers of what each of its operands has.

        Args:
            places: The flat index of the element in the result, or those of several.
        """
        index = np.unravel_index(places, (1, *(self.shape if self.index is None else self.index)))
        read = [None if x is None else x[np.newaxis][index].astype(np.int64) for x in self.operands]
        return (self.attributes, read) if self.form is None else self.form(read)


MakeLines = Callable[[Node, Numbers], Lines | None]
"""Makes the lines of a node, of the numbers of the elements of each operand.

None if the results are not made element by element, as those of a sum along no axes.
"""


def numbers(operand: Array) -> Indices:
    """The number of each element, its flat index, in the shape of the operand."""
    # Half of the memory, where there may be as many numbers as a model has weights.
    small = operand.size <= np.iinfo(np.int32).max
    made: Array = np.arange(operand.size, dtype=np.int32 if small else np.int64)
    return made.reshape(operand.shape)


def of_arrays(operands: Numbers) -> Sequence[Indices]:
    """Those of operands that cannot be omitted.

    Raises:
        ValueError: One is omitted.
    """
    given = [each for each in operands if each is not None]
    if len(given) < len(operands):
        raise ValueError("an operand is missing")
    return given


def broadcast_lines(node: Node, operands: Numbers) -> Lines:
    """Lines of one element, of operands that are broadcast to the result."""
    shape = np.broadcast_shapes(*(x.shape for x in operands if x is not None))
    spread = [None if x is None else np.broadcast_to(x, shape) for x in operands]
    return Lines(shape, spread, node.attributes, together=True)


def first_lines(node: Node, operands: Numbers) -> Lines:
    """Lines of one element of the first operand; the other operands apply to all of them."""
    shape, others = node.operand(0).shape, [None for _ in operands[1:]]
    return Lines(shape, [operands[0], *others], node.attributes, together=True)


def padded(x: Array, around: Sequence[tuple[int, int]], value: Any) -> Array:
    """A tensor with elements of one value in front of each axis, and after it."""
    sizes = [*zip(around, x.shape, strict=True)]
    made = np.full([size + sum(pads) for pads, size in sizes], value, x.dtype)
    made[tuple(slice(before, before + size) for (before, _), size in sizes)] = x
    return made
