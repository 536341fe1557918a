"""ConvTranspose: sums of products, as a Conv whose windows read X with gaps.

No document of SONNX has it: ONNX ConvTranspose, version 22. Element o of an axis of the result sums
up the products of the elements i of X and k of the kernel with `stride i + dilation k = o + pad`.
Where `output_shape` or `auto_pad` give the padding, its equations tell the sides. Those of version
1 have the sides exchanged, against its own sentence on auto_pad, and are not taken. A result that
is larger than all products reach has no meaning here, for pads are not negative.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sonnx_ort.facts.sizes import reach
from sonnx_ort.meaning.lines import PADDING, padded
from sonnx_ort.meaning.node import BallNode, Node
from sonnx_ort.meaning.numbers import Array, Exact, Indices
from sonnx_ort.meaning.products import sums_of_products
from sonnx_ort.meaning.results import NotDefinedError


@dataclass(frozen=True, slots=True)
class Spread:
    """How a ConvTranspose spreads X; all lists have an entry for each spatial axis.

    Attributes:
        sizes: The sizes of the axes of X.
        kernel: The sizes of the kernel.
        strides: The distances between elements of X in the result.
        dilations: The distances between elements of the kernel in the result.
        before: The sizes of the padding before the axes, which is cut off the result.
        counts: The sizes of the axes of the result.
    """

    sizes: Sequence[int]
    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    before: Sequence[int]
    counts: Sequence[int]

    def phases(self, chosen: Indices | None = None) -> Iterator[tuple[Indices, Indices, Indices]]:
        """The elements of the result that read the same elements of the kernel, together.

        These are all elements, unless some are chosen by their flat indices.

        Yields:
            The flat indices of elements of the result, those of the elements of the kernel, and for
            each of both the flat index of the element of X, -1 where there is none.
        """
        axes = len(self.sizes)
        flat = np.arange(prod(self.counts)) if chosen is None else chosen
        places = np.array(np.unravel_index(flat, tuple(self.counts))).T.reshape(-1, 1, axes)
        steps = np.array([*np.ndindex(*self.kernel)], np.int64).reshape(1, -1, axes)
        reached = places + self.before - steps * self.dilations
        met = (reached % self.strides == 0).all(-1)
        sources = _flat_indices(reached // self.strides, self.sizes)
        for row in np.unique(met, axis=0):
            same = np.flatnonzero((met == row).all(1))
            read = np.flatnonzero(row)
            yield flat[same], read, sources[np.ix_(same, read)]


def _flat_indices(indices: Array, sizes: Sequence[int]) -> Indices:
    """The flat indices of elements with their indices on the last axis; -1 outside of the sizes."""
    inside = ((indices >= 0) & (indices < sizes)).all(-1)
    row_major = [prod(sizes[k + 1 :]) for k in range(len(sizes))]
    return np.where(inside, indices @ np.array(row_major, np.int64), PADDING)


def spread_of(node: Node) -> Spread:
    """How a node spreads its first operand.

    Raises:
        NotDefinedError: Attributes and shapes do not fit each other.
    """
    x, w, group = node.operand(0), node.operand(1), node.integer("group", 1)
    if x.ndim < 3 or w.ndim != x.ndim:
        raise NotDefinedError(f"X {x.shape} and W {w.shape} do not have the same spatial axes")
    if group < 1 or x.shape[1] % group or x.shape[1] != w.shape[0]:
        raise NotDefinedError(f"channels of X {x.shape} and W {w.shape} do not fit {group} groups")
    sizes, kernel = x.shape[2:], w.shape[2:]
    if node.integers("kernel_shape", list(kernel)) != list(kernel):
        raise NotDefinedError(f"kernel_shape is not that of W {w.shape}")
    axes = len(sizes)
    strides = node.integers("strides", [1] * axes)
    dilations = node.integers("dilations", [1] * axes)
    pads = node.integers("pads", [0] * 2 * axes)
    added = node.integers("output_padding", [0] * axes)
    lengths = (len(strides), len(dilations), len(added), len(pads) // 2)
    if set(lengths) != {axes} or len(pads) % 2:
        raise NotDefinedError(f"attributes of lengths {lengths} do not fit {axes} spatial axes")
    if min((*strides, *dilations, *kernel)) < 1 or min((*pads, *added)) < 0:
        raise NotDefinedError("strides, dilations and kernel are above 0, and pads not below")
    whole = [
        strides[k] * (sizes[k] - 1) + added[k] + reach(kernel[k], dilations[k]) for k in range(axes)
    ]
    before, counts = _padded(node, whole, strides, pads)
    if min(counts) < 0:
        raise NotDefinedError(f"the pads {pads} are larger than the result")
    return Spread(sizes, kernel, strides, dilations, before, counts)


def _padded(
    node: Node, whole: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The padding before each axis, and the sizes of the result, from those without padding."""
    sizes, axes = node.operand(0).shape[2:], len(whole)
    padding = str(node.attributes.get("auto_pad", "NOTSET"))
    asked = node.integers("output_shape", [])
    if not asked and padding in ("NOTSET", "VALID"):
        around = [(pads[k], pads[axes + k]) if padding == "NOTSET" else (0, 0) for k in range(axes)]
        return [first for first, _ in around], [
            size - sum(both) for size, both in zip(whole, around, strict=True)
        ]
    counts = asked or [size * stride for size, stride in zip(sizes, strides, strict=True)]
    if len(counts) != axes:
        raise NotDefinedError(f"output_shape {counts} does not fit {axes} spatial axes")
    totals = [size - count for size, count in zip(whole, counts, strict=True)]
    if min(totals) < 0:
        raise NotDefinedError(f"the result {counts} is larger than all products reach, {whole}")
    upper = padding == "SAME_UPPER"
    return [total // 2 if upper else total - total // 2 for total in totals], counts


def convolve_back(node: BallNode) -> tuple[Exact, ...]:
    """ConvTranspose: sums of products of the elements of X and of kernels, and the bias.

    The weights of a group are those of its channels of X, which come first in W.

    Raises:
        NotDefinedError: Attributes and shapes do not fit each other.
    """
    x, w, bias = node.operand(0), node.operand(1), node.optional(2)
    spread, group = spread_of(node), node.integer("group", 1)
    outputs, inputs = w.shape[1], x.shape[1] // group
    if bias is not None and bias.shape != (outputs * group,):
        raise NotDefinedError(f"B {bias.shape} has not one element for each of {outputs * group}")
    result = np.empty((x.shape[0], outputs * group, prod(spread.counts)), object)
    for part in range(group):
        made = slice(part * outputs, (part + 1) * outputs)
        channels = slice(part * inputs, (part + 1) * inputs)
        for places, read, sources in spread.phases():
            columns = _columns(w[channels], read)
            addends = None if bias is None else np.broadcast_to(bias[made], (len(places), outputs))
            for batch in range(x.shape[0]):
                rows = _rows(x[batch, channels], sources, 0)
                sums = sums_of_products(node, rows, columns, addends)
                result[batch, made][:, places] = sums.T
    return (result.reshape(x.shape[0], outputs * group, *spread.counts),)


def _rows(x: Array, sources: Indices, padding: int) -> Array:
    """The elements of all channels that elements of the result multiply, a row for each."""
    flat = padded(x.reshape(x.shape[0], -1), [(0, 0), (0, 1)], padding)
    return flat[:, sources].swapaxes(0, 1).reshape(len(sources), x.shape[0] * sources.shape[1])


def _columns(w: Array, read: Indices) -> Array:
    """The weights of all channels at some elements of the kernel, a column for each output."""
    weights = w.reshape(*w.shape[:2], -1)[:, :, read]
    return weights.transpose(0, 2, 1).reshape(-1, w.shape[1])


def multiplications(node: Node) -> int:
    """How many a ConvTranspose takes at most."""
    x, w = node.operand(0), node.operand(1)
    spread_of(node)
    return x.size * prod(w.shape[1:])


def products_of(
    node: Node, spread: Spread, operands: Sequence[Array], place: Sequence[Any]
) -> tuple[Array, Array]:
    """What an element of the result multiplies, of the numbers of the elements of X and of W.

    If it multiplies nothing, these are one element of padding each.
    """
    x, w = operands
    batch, output, *spatial = (int(each) for each in place)
    inputs, outputs = x.shape[1] // node.integer("group", 1), w.shape[1]
    part, output = divmod(output, outputs)
    channels = slice(part * inputs, (part + 1) * inputs)
    flat = np.ravel_multi_index(tuple(spatial), tuple(spread.counts))
    ((_, read, sources),) = spread.phases(np.array([flat]))
    (row,) = _rows(x[batch, channels], sources, PADDING)
    column = _columns(w[channels], read)[:, output]
    inside, nothing = row != PADDING, np.full(1, PADDING)
    return (row[inside], column[inside]) if inside.any() else (nothing, nothing)
