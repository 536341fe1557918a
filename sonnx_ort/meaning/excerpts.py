"""Excerpts: small nodes whose results are some elements of the results of a large node.

An exact computation takes microseconds for each operand of each element, too long for all elements
of a large node. For most operators an element of a result depends on few elements of the operands:
on those at the same index, a row and a column, a window, or a line along an axis. Each excerpt is a
node of its own, which `meaning` computes.

Operators that only move elements are not cut: they are compared as a whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from sonnx_ort.meaning.elementwise import OPERATORS as ELEMENTWISE
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import NO_ATTRIBUTES, Array, Indices, Operands
from sonnx_ort.meaning.resizing import PART, interpolates, resized_shape, window_of
from sonnx_ort.meaning.results import NotDefinedError
from sonnx_ort.meaning.scattering import reduces, updated_places
from sonnx_ort.meaning.transposed import products_of, spread_of
from sonnx_ort.meaning.windows import patches, windows_of

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

    The operator is one of `meaning.FOLLOWED`. The shapes of operands and of the results of the run
    have to fit each other, as in a run that was possible.

    Raises:
        ValueError: The node cannot be cut.
    """
    try:
        yield from _CUTS.get(operator, _not_cut)(node, found, choose)
    except NotDefinedError as error:
        raise ValueError(str(error)) from error


def _not_cut(node: Node, found: Results, _: Choose) -> Iterator[Excerpt]:
    """The node itself."""
    places = tuple(None if each is None else np.arange(each.size) for each in found)
    reads = tuple(None if each is None else _indices(each) for each in node.operands)
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
    places: Any,
    reads: Sequence[Indices | None],
    attributes: Mapping[str, Any] = NO_ATTRIBUTES,
    shape: Sequence[int] | None = None,
) -> Excerpt:
    """The excerpt that reads elements of the operands; of one element with its rank if omitted."""
    pairs = zip(node.operands, reads, strict=False)
    operands = [x if x is None or read is None else _elements_at(x, read) for x, read in pairs]
    found = result.ravel()[places].reshape([1] * result.ndim if shape is None else shape)
    return Excerpt(attributes, operands, (found,), (places.ravel(),), tuple(reads))


def _elements(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of an element-wise operator, whose operands are broadcast to the result."""
    result = _first(found, *np.broadcast_shapes(*(each.shape for each in node.given())))
    chosen = choose(result, 1)
    shapes = [None if each is None else each.shape for each in node.operands]
    reads = [None if s is None else _broadcast_places(s, result.shape, chosen) for s in shapes]
    yield _excerpt(node, result, chosen, reads, node.attributes, (-1,))


def _indices(operand: Array) -> Indices:
    """The flat index of each element, in the shape of the operand."""
    return np.arange(operand.size).reshape(operand.shape)


def _elements_at(operand: Array, places: Indices) -> Array:
    """The elements at flat indices, and 0 for padding."""
    if operand.size == 0:
        return np.zeros(places.shape, operand.dtype)
    elements: Array = operand.ravel()[places]
    elements[places < 0] = 0
    return elements


def _broadcast_places(shape: Sequence[int], common: Sequence[int], chosen: Indices) -> Indices:
    """The flat indices in an operand of the elements that are broadcast to chosen elements."""
    indices = np.unravel_index(chosen, tuple(common)) if common else ()
    own = indices[len(common) - len(shape) :]
    places = np.zeros(chosen.shape, np.int64)
    for index, size in zip(own, shape, strict=True):
        places = places * size + (index if size > 1 else 0)
    return places


def _of_one_operand(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of an operator whose other operands apply to all elements of the first."""
    result = _first(found, *node.operand(0).shape)
    chosen = choose(result, 1)
    reads = [chosen, *(None for _ in node.operands[1:])]
    yield _excerpt(node, result, chosen, reads, node.attributes, (-1,))


def _quantized(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements with a scale and a zero point, one for all or one for each index of an axis."""
    x, scales = node.operand(0), node.operand(1)
    if scales.ndim > 1:
        yield from _not_cut(node, found, choose)
        return
    result = _first(found, *x.shape)
    chosen = choose(result, 1)
    along = None
    if scales.ndim == 1 and (x.ndim > 1 or scales.size > 1):
        along = np.unravel_index(chosen, x.shape)[node.integer("axis", 1) % x.ndim]
    reads = [chosen, *(None if each is None else along for each in node.operands[1:])]
    yield _excerpt(node, result, chosen, reads, {**node.attributes, "axis": 0}, (-1,))


def _normalized(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a BatchNormalization, each as the only one of its channel."""
    x = node.operand(0)
    result = _first(found, *x.shape)
    chosen = choose(result, 1)
    channels = np.unravel_index(chosen, x.shape)[1] if x.ndim > 1 else np.zeros_like(chosen)
    reads = [chosen[None], *[channels] * 4]
    yield _excerpt(node, result, chosen, reads, node.attributes, (1, -1))


def _products(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a MatMul, each a row by a column."""
    a, b = node.operand(0), node.operand(1)
    rows, columns = (_indices(each) for each in (a, b))
    rows = rows if a.ndim > 1 else rows[None]
    columns = columns if b.ndim > 1 else columns[:, None]
    batch = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    whole = (*batch, rows.shape[-2], columns.shape[-1])
    result = _first(found, *batch, *a.shape[-2:-1], *b.shape[-1:] * (b.ndim > 1))
    for place in choose(result, 2 * rows.shape[-1]):
        *outer, row, column = np.unravel_index(place, whole)
        one, other = (_of_batch(each, outer) for each in (rows, columns))
        reads = one[row : row + 1], other[:, column : column + 1]
        yield _excerpt(node, result, place, reads, shape=(1, 1))


def _of_batch(stack: Array, outer: Sequence[Any]) -> Array:
    """The matrix of a stack at an index of the common batch axes, to which it is broadcast."""
    axes = stack.ndim - 2
    index = outer[len(outer) - axes :] if axes else []
    places = (i if size > 1 else 0 for i, size in zip(index, stack.shape[:-2], strict=True))
    return np.asarray(stack[tuple(places)])


def _gemm(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a Gemm, each a row by a column, and an element of C."""
    a, b = _indices(node.operand(0)), _indices(node.operand(1))
    a = a.T if node.integer("transA", 0) else a
    b = b.T if node.integer("transB", 0) else b
    c = node.optional(2)
    result = _first(found, a.shape[0], b.shape[1])
    attributes = {k: v for k, v in node.attributes.items() if k in ("alpha", "beta")}
    for place in choose(result, 2 * a.shape[1] + 1):
        row, column = np.unravel_index(place, result.shape)
        reads = [a[row : row + 1], b[:, column : column + 1]]
        if c is not None:
            reads.append(_broadcast_places(c.shape, result.shape, place.reshape(1, 1)))
        yield _excerpt(node, result, place, reads, attributes)


def _convolved(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a Conv or ConvInteger, each a window without padding by one kernel."""
    x, w = node.operand(0), node.operand(1)
    inputs, windows = w.shape[1], windows_of(node, w.shape[2:])
    result = _first(found, x.shape[0], w.shape[0], *windows.counts)
    outputs = w.shape[0] // node.integer("group", 1)
    indices, kernels = _indices(x), _indices(w)
    for place in choose(result, 2 * prod(w.shape[1:])):
        batch, output, *window = (int(i) for i in np.unravel_index(place, result.shape))
        first = output // outputs * inputs
        # Padding is 0, also in a ConvInteger, before the zero point is subtracted.
        channels = indices[batch, first : first + inputs]
        patch = patches(channels, windows.places([window]), -1).reshape(1, *w.shape[1:])
        reads: list[Indices | None] = [patch, kernels[output : output + 1]]
        for each in node.operands[2:]:
            own = each is not None and each.ndim == 1 and each.size == w.shape[0]
            reads.append(np.array([output]) if own else None)
        yield _excerpt(node, result, place, reads)


def _convolved_back(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a ConvTranspose, each a row of elements by a column of weights."""
    x, w, spread = node.operand(0), node.operand(1), spread_of(node)
    outputs = w.shape[1] * node.integer("group", 1)
    result = _first(found, x.shape[0], outputs, *spread.counts)
    ones = [1] * len(spread.kernel)
    for place in choose(result, 2 * x.shape[1] * prod(spread.kernel)):
        index = np.unravel_index(place, result.shape)
        elements, weights = products_of(node, spread, index)
        reads = [elements.reshape(1, -1, *ones), weights.reshape(-1, 1, *ones), index[1].reshape(1)]
        yield _excerpt(node, result, place, reads[: len(node.operands)])


def _resized(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a Resize, each made of a window; one that only moves elements is not cut."""
    if not interpolates(node.attributes):
        yield from _not_cut(node, found, choose)
        return
    result = _first(found, *resized_shape(node))
    others = [None for _ in node.operands[1:]]
    for place in choose(result, 2 << result.ndim):
        window, part = window_of(node, np.unravel_index(place, result.shape))
        yield _excerpt(node, result, place, [window, *others], {**node.attributes, PART: part})


def _scattered(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a ScatterND, each with its updates; one that only moves elements is not cut."""
    if not reduces(node.attributes):
        yield from _not_cut(node, found, choose)
        return
    result = _first(found, *node.operand(0).shape)
    updated = updated_places(node)
    for place in choose(result, 2):
        updates = np.flatnonzero(updated == place)
        indices = np.zeros((updates.size, 1), np.int64)
        excerpt = _excerpt(
            node, result, place, [place.reshape(1), None, updates], node.attributes, (1,)
        )
        yield replace(excerpt, operands=[excerpt.operands[0], indices, excerpt.operands[2]])


def _pooled(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a MaxPool, each a window of the elements that are not padding."""
    x = node.operand(0)
    windows = windows_of(node, node.integers("kernel_shape", []))
    result = _first(found, *x.shape[:2], *windows.counts)
    others, indices = [1] * (len(windows.kernel) - 1), _indices(x)
    for place in choose(result, prod(windows.kernel)):
        batch, channel, *window = (int(i) for i in np.unravel_index(place, result.shape))
        (places,) = windows.places([window])
        reads = indices[batch, channel].ravel()[places[places >= 0]]
        attributes = {"kernel_shape": [max(1, reads.size), *others]}
        yield _excerpt(node, result, place, [reads.reshape(1, 1, -1, *others)], attributes)


_PER_EXPONENTIAL = 16
"""How many products take as long as an exponential."""


def _lines(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Lines of a Softmax; before version 13 the axes from `axis` on are one."""
    x = node.operand(0)
    result = _first(found, *x.shape)
    if x.size == 0:
        yield from _not_cut(node, found, choose)
        return
    flattened = node.version < 13
    axis = node.integer("axis", 1 if flattened else -1) % max(x.ndim, 1)
    length = prod(x.shape[axis:]) if flattened else x.shape[axis]
    indices = _indices(x)
    lines = (indices if flattened else np.moveaxis(indices, axis, -1)).reshape(-1, length)
    for line in _lines_of(lines, choose(result, _PER_EXPONENTIAL * length)):
        yield _excerpt(node, result, line, [line[None]], {"axis": 1}, (1, -1))


def _lines_of(lines: Indices, chosen: Indices) -> Iterator[Indices]:
    """The lines that have a chosen element, as many as there are chosen elements at most."""
    row = np.empty(lines.size, np.int64)
    row[lines.ravel()] = np.repeat(np.arange(len(lines)), lines.shape[1])
    for number in dict.fromkeys(row[chosen].tolist()):
        yield lines[number]


def _reduced(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """Elements of a reduction."""
    given = node.attributes.get("axes") if node.optional(1) is None else node.operand(1).tolist()
    if not given and node.integer("noop_with_empty_axes", 0):
        return _not_cut(node, found, choose)
    return _along(node, found, choose, given or range(node.operand(0).ndim))


def _along(node: Node, found: Results, choose: Choose, named: Iterable[int]) -> Iterator[Excerpt]:
    """Elements that are each made of those along some axes, which become of size 1."""
    x = node.operand(0)
    axes = {axis % max(x.ndim, 1) for axis in named}
    kept = [1 if k in axes else size for k, size in enumerate(x.shape)]
    squeezed = [size for k, size in enumerate(kept) if k not in axes]
    result = _first(found, *(kept if node.integer("keepdims", 1) else squeezed))
    attributes, indices = {**node.attributes, "keepdims": 1}, _indices(x)
    for place in choose(result, x.size // max(result.size, 1)):
        index = np.unravel_index(place, kept) if kept else ()
        line = tuple(slice(None) if k in axes else slice(i, i + 1) for k, i in enumerate(index))
        reads = [indices[line], *(None for _ in node.operands[1:])]
        yield _excerpt(node, result, place, reads, attributes, [1] * x.ndim)


_RECURRENT_WORK = 20_000
"""How many products of an LSTM or a GRU are computed at most, with each of which two balls come."""


def _steps(node: Node, found: Results, choose: Choose) -> Iterator[Excerpt]:
    """The first steps of one sequence of an LSTM or a GRU, which depend on no later ones."""
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
    places = _indices(y)[:steps, :, :1]
    yield Excerpt(node.attributes, operands, (y[:steps, :, :1],), (places.ravel(),))


_CUTS: Mapping[str, Cut] = {
    **dict.fromkeys(ELEMENTWISE, _elements),
    **dict.fromkeys(("Exp", "LeakyRelu", "Relu", "Sigmoid", "Sin", "Tanh"), _elements),
    **dict.fromkeys(("Ceil", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Not"), _elements),
    **dict.fromkeys(("Erf", "Softplus"), _elements),
    **dict.fromkeys(("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"), _reduced),
    "ReduceSumSquare": _reduced,
    "GlobalAveragePool": lambda node, found, choose: _along(
        node, found, choose, range(2, node.operand(0).ndim)
    ),
    "Clip": _of_one_operand,
    "QuantizeLinear": _quantized,
    "DequantizeLinear": _quantized,
    "BatchNormalization": _normalized,
    "MatMul": _products,
    "Gemm": _gemm,
    "Conv": _convolved,
    "ConvInteger": _convolved,
    "ConvTranspose": _convolved_back,
    "MaxPool": _pooled,
    "Resize": _resized,
    "ScatterND": _scattered,
    "Softmax": _lines,
    "ArgMax": lambda node, found, choose: _along(node, found, choose, [node.integer("axis", 0)]),
    "GRU": _steps,
    "LSTM": _steps,
}
"""How an operator is cut; others are compared whole, as most of them only move elements."""

ELEMENT_BY_ELEMENT = frozenset(name for name, cut in _CUTS.items() if cut is _elements)
"""The operators of which an element depends on the elements of operands at its own place."""
