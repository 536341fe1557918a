"""Excerpts: small nodes whose results are some elements of the results of a large node.

An exact computation takes microseconds for each operand of each element, too long for all elements
of a large node. For most operators an element of a result depends on few elements of the operands:
on those at the same index, a row and a column, a window, or a line along an axis. Each excerpt is a
node of its own, which `meaning` computes.

What an element reads is not told here. The meaning of an operator says it of the numbers of the
elements, by its `lines`.

Operators that only move elements are not cut: they are compared as a whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from sonnx_ort.meaning.documented import OPERATIONS
from sonnx_ort.meaning.lines import PADDING, Numbers, broadcast_lines, numbers, of_arrays
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import NO_ATTRIBUTES, Array, Indices, Operands
from sonnx_ort.meaning.resizing import PART, interpolates, resized_shape, window_of
from sonnx_ort.meaning.results import NotDefinedError
from sonnx_ort.meaning.scattering import reduces, updated_places
from sonnx_ort.meaning.transposed import products_of, spread_of

Choose = Callable[[Array, int], Indices]
"""Chooses elements of a result, as flat indices; the number is how many operands each reads."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A node whose results are some elements of those of another node.

    Attributes:
        attributes: Its attributes.
        operands: Its operands.
        found: For each result, what a run computed of these elements, in the shape that the result
            of the excerpt has; None for a result of which it has no elements.
        places: For each result, the flat indices of these elements in the result of the other node.
        reads: For each operand, the flat indices of its elements in the operand of the other node,
            in the shape of the excerpt's operand, and -1 for padding; None for an operand whose
            elements have no such indices, or that is taken whole.
    """

    attributes: Mapping[str, Any]
    operands: Operands
    found: tuple[Array | None, ...]
    places: tuple[Indices | None, ...]
    reads: tuple[Indices | None, ...] = ()


class WrongShapeError(Exception):
    """The results of a run have another shape than the operands give them."""


Results = Sequence[Array | None]
"""The results of a node that a run computed, None for those that it has not."""

Cut = Callable[[Node, Results, Choose], Iterator[Excerpt]]


def excerpts(operator: str, node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Cut a node into excerpts of some elements of its results.

    The operator is one of `documented.FOLLOWED`. The shapes of operands and of the results of the
    run have to fit each other, as in a run that was possible.

    Raises:
        ValueError: The node cannot be cut.
    """
    try:
        yield from _CUTS.get(operator, partial(_along_lines, operator))(node, found, choose)
    except NotDefinedError as error:
        raise ValueError(str(error)) from error


def _along_lines(operator: str, node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements that the lines of an operator give; the node itself if it has none."""
    make = OPERATIONS[operator].lines
    lines = make and make(node, [None if x is None else numbers(x) for x in node.operands])
    if lines is None:
        yield from _not_cut(node, found, choose)
        return
    result = _first(found, *lines.shape)
    chosen = choose(result, lines.reads)
    seen: set[bytes] = set()
    for places in [chosen] if lines.together else chosen:
        attributes, reads = lines.at(places)
        given = of_arrays(reads[:1])[0] if lines.has_lines else places
        # Of two elements on one line the second one was given with the first.
        if given.tobytes() not in seen:
            seen.add(given.tobytes())
            yield _excerpt(node, result, given, reads, attributes, lines.part)


def _not_cut(node: Node, found: Results, _: Choose) -> Iterator[Excerpt]:
    """The node itself."""
    places = tuple(None if each is None else np.arange(each.size) for each in found)
    reads = tuple(None if each is None else numbers(each) for each in node.operands)
    yield Excerpt(node.attributes, node.operands, tuple(found), places, reads)


def _first(found: Results, *shape: int) -> Array:
    """The first result, which has to have a shape."""
    if not found or found[0] is None:
        raise ValueError("the run has no value for the node's first result")
    if found[0].shape != shape:
        raise WrongShapeError(f"the result has the shape {found[0].shape}, and should have {shape}")
    return found[0]


def _excerpt(  # noqa: PLR0913, PLR0917 - what an excerpt has
    node: Node,
    result: Array,
    places: Indices,
    reads: Numbers,
    attributes: Mapping[str, Any],
    shape: Sequence[int],
) -> Excerpt:
    """The excerpt that reads elements of the operands; its result has a shape."""
    pairs = zip(node.operands, reads, strict=False)
    operands = [x if x is None or read is None else _elements_at(x, read) for x, read in pairs]
    found = result.ravel()[places].reshape(shape)
    return Excerpt(attributes, operands, (found,), (places.ravel(),), tuple(reads))


def _elements_at(operand: Array, places: Indices) -> Array:
    """The elements at flat indices, and 0 for padding."""
    if operand.size == 0:
        return np.zeros(places.shape, operand.dtype)
    elements: Array = operand.ravel()[places]
    elements[places == PADDING] = 0
    return elements


def _convolved_back(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a ConvTranspose, each a row of elements by a column of weights.

    Lines of windows with gaps would be as large as the strides make them, so each is asked for.
    """
    spread, weights = spread_of(node), node.operand(1).shape
    result = _first(
        found, node.operand(0).shape[0], weights[1] * node.integer("group", 1), *spread.counts
    )
    operands = [numbers(each) for each in node.given()]
    ones = [1] * len(spread.kernel)
    for place in choose(result, 2 * weights[0] * prod(spread.kernel)):
        index = np.unravel_index(place, result.shape)
        row, column = products_of(node, spread, operands[:2], index)
        reads = [row.reshape(1, -1, *ones), column.reshape(-1, 1, *ones), index[1].reshape(1)]
        single = [1] * result.ndim
        yield _excerpt(node, result, place, reads[: len(node.operands)], NO_ATTRIBUTES, single)


def _resized(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a Resize, each made of a window; one that only moves elements is not cut.

    A window has no size of its own, and what it weighs depends on its place.
    """
    if not interpolates(node.attributes):
        yield from _not_cut(node, found, choose)
        return
    result = _first(found, *resized_shape(node))
    others = [None for _ in node.operands[1:]]
    for place in choose(result, 2 << result.ndim):
        window, part = window_of(node, np.unravel_index(place, result.shape))
        attributes = {**node.attributes, PART: part}
        yield _excerpt(node, result, place, [window, *others], attributes, [1] * result.ndim)


def _scattered(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a ScatterND, each with its updates; one that only moves elements is not cut.

    An element has any number of updates, so it has no line.
    """
    if not reduces(node.attributes):
        yield from _not_cut(node, found, choose)
        return
    result = _first(found, *node.operand(0).shape)
    updated = updated_places(node)
    for place in choose(result, 2):
        updates = np.flatnonzero(updated == place)
        indices = np.zeros((updates.size, 1), np.int64)
        reads = [place.reshape(1), None, updates]
        excerpt = _excerpt(node, result, place, reads, node.attributes, [1])
        yield replace(excerpt, operands=[excerpt.operands[0], indices, excerpt.operands[2]])


_RECURRENT_WORK = 20_000
"""How many products of an LSTM or a GRU are computed at most, with each of which two balls come."""


def _steps(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """The first steps of one sequence of an LSTM or a GRU, which depend on no later ones.

    An element of a step depends on all of the steps before, so it has no line.
    """
    y = found[0] if found else None
    x, r = node.operand(0), node.operand(2)
    ways, weights, hidden = r.shape
    per_step = weights * (hidden + x.shape[-1])
    work = x.shape[0] * x.shape[1] * ways * per_step
    all_of_it = y is not None and choose(y, per_step).size == y.size
    if work <= _RECURRENT_WORK or all_of_it:
        yield from _not_cut(node, found, choose)
        return
    forward = str(node.attributes.get("direction", "forward")) == "forward"
    if y is None or not forward or node.integer("layout", 0) or node.optional(4) is not None:
        raise ValueError("a layer of this size is followed only forward, where Y is a result")
    steps = max(1, _RECURRENT_WORK // per_step)
    operands = [
        x[:steps, :1],
        *node.operands[1:5],
        *(None if s is None else s[:, :1] for s in node.operands[5:7]),
        *node.operands[7:],
    ]
    places = numbers(y)[:steps, :, :1]
    yield Excerpt(node.attributes, operands, (y[:steps, :, :1],), (places.ravel(),))


_CUTS: Mapping[str, Cut] = {
    "ConvTranspose": _convolved_back,
    "GRU": _steps,
    "LSTM": _steps,
    "Resize": _resized,
    "ScatterND": _scattered,
}
"""How operators are cut whose elements have no lines."""

ELEMENT_BY_ELEMENT = frozenset(
    name for name, operation in OPERATIONS.items() if operation.lines is broadcast_lines
)
"""The operators of which an element depends on the elements of operands at its own place."""
