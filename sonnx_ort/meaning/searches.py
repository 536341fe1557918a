"""ArgMax and ArgMin: the place of the largest or smallest element of each line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.comparison import less
from sonnx_ort.meaning.lines import Lines, Numbers
from sonnx_ort.meaning.node import BallNode, Node
from sonnx_ort.meaning.numbers import Array, Kind
from sonnx_ort.meaning.results import (
    NotDefinedError,
    Result,
    exactly,
)
from sonnx_ort.meaning.windows import lines_along

if TYPE_CHECKING:
    from flint import arb


def arg_max(node: Node) -> tuple[Result, ...]:
    """ArgMax: the index of the largest element on an axis.

    The draft counts NaN as the largest, and this project demands that there is none.

    Raises:
        NotDefinedError: There is no such axis, or nothing on it.
        NotFollowedError: Several balls may have the largest number.
    """
    x, axis = node.exact(), node.axis(0)
    if x.shape[axis] == 0:
        raise NotDefinedError(f"axis {axis} has no elements")
    last = bool(node.integer("select_last_index", 0))
    lines = np.moveaxis(x, axis, -1)
    choose = _certain_place_of_largest if isinstance(node, BallNode) else _place_of_largest
    found = [choose(line, last=last) for line in lines.reshape(-1, x.shape[axis]).tolist()]
    kept = bool(node.integer("keepdims", 1))

    def shaped(values: Sequence[Any], dtype: type[np.generic]) -> Array:
        indices = np.array(values, dtype).reshape(lines.shape[:-1])
        return np.expand_dims(indices, axis) if kept else indices

    places = shaped([place for place, _ in found], np.int64)
    undefined = shaped([nan for _, nan in found], np.bool_)
    return (exactly(places, undefined, "the operands break ArgMax.float.C1"),)


def lines_of_search(node: Node, operands: Numbers) -> Lines:
    """Lines along the axis."""
    return lines_along(node, operands, [node.axis(0)])


def _place_of_largest(elements: Sequence[Any], *, last: bool) -> tuple[int, bool]:
    """The place of the largest element, and whether it is NaN."""
    nans = [i for i, e in enumerate(elements) if getattr(e, "kind", None) is Kind.NAN]
    if nans:
        return nans[-1 if last else 0], True
    chosen = 0
    for place, element in enumerate(elements):
        if less(elements[chosen], element) or (last and not less(element, elements[chosen])):
            chosen = place
    return chosen, False


def _certain_place_of_largest(line: "Sequence[arb]", *, last: bool) -> tuple[int, bool]:
    """The place of the ball that is the largest for certain, or of several of the same number."""
    best = max(range(len(line)), key=lambda place: line[place].upper())
    ties = [k for k, each in enumerate(line) if k == best or each == line[best]]
    if not all(k in ties or each < line[best] for k, each in enumerate(line)):
        raise NotFollowedError("several elements may be the largest")
    return ties[-1 if last else 0], False
