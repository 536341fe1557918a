"""Operators that move or choose elements, from Squeeze to Transpose, and Constant.

Sources: the drafts of the working group of these names, sections "Informal specification" and
constraints. Those without a draft, such as Squeeze and Transpose, are ONNX's; so are the versions
that take axes as attributes. A Slice without axes or steps, or beyond the ends: ONNX Slice,
version 13. Elements keep their bits, and balls are moved as numbers are; numpy is only used for
indexing.
"""

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from sonnx_ort.facts.sizes import selected
from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.lines import padded
from sonnx_ort.meaning.node import BallNode, Node, are_balls, balls
from sonnx_ort.meaning.results import (
    NotDefinedError,
    Result,
    copied,
)


def squeeze(node: Node) -> tuple[Result, ...]:
    """Squeeze: without the named axes of size 1, or without all of them.

    Raises:
        NotDefinedError: A named axis does not exist, or has another size.
    """
    x = node.operand(0)
    axes = node.listed(1, "axes", 13)
    if axes is None:
        removed = {k for k, size in enumerate(x.shape) if size == 1}
    else:
        removed = _places(axes, x.ndim)
    if any(x.shape[k] != 1 for k in removed):
        raise NotDefinedError(f"not all of the axes {sorted(removed)} of {x.shape} have size 1")
    return (copied(x.reshape([size for k, size in enumerate(x.shape) if k not in removed])),)


def unsqueeze(node: Node) -> tuple[Result, ...]:
    """Unsqueeze: with axes of size 1 at the named places of the result.

    Raises:
        NotDefinedError: A place is beyond the rank of the result, or named twice.
    """
    x = node.operand(0)
    axes = node.listed(1, "axes", 13) or []
    rank = x.ndim + len(axes)
    inserted = _places(axes, rank)
    sizes = iter(x.shape)
    return (copied(x.reshape([1 if k in inserted else next(sizes) for k in range(rank)])),)


def _places(axes: Iterable[int], rank: int) -> set[int]:
    """The axes counted from the front; each may be named once."""
    named = list(axes)
    if any(not -rank <= axis < rank for axis in named):
        raise NotDefinedError(f"not all of the axes {named} are in [{-rank}, {rank - 1}]")
    places = {axis % rank for axis in named}
    if len(places) < len(named):
        raise NotDefinedError(f"the axes {named} name one twice")
    return places


def concat(node: Node) -> tuple[Result, ...]:
    """Concat: the tensors one after the other along an axis.

    Raises:
        NotDefinedError: Scalars, sizes that differ on other axes, or no such axis.
    """
    tensors = [node.operand(place) for place in range(len(node.operands))]
    if any(map(are_balls, tensors)):
        tensors = list(map(balls, tensors))
    if not tensors[0].ndim or len({each.ndim for each in tensors}) > 1:
        raise NotDefinedError("the operands are scalars, or their ranks differ")
    axis = node.axis(1)
    if len({each.shape[:axis] + each.shape[axis + 1 :] for each in tensors}) > 1:
        raise NotDefinedError(f"the sizes differ on other axes than {axis}")
    return (copied(np.concatenate(tensors, axis)),)


def cut(node: Node) -> tuple[Result, ...]:
    """Slice: the elements from start to before end, with a step, along the named axes.

    Negative places count from the end; those beyond an end are moved to it. Without axes they
    are the first ones, without steps each step is 1.

    Raises:
        NotDefinedError: Axes that do not exist or are named twice, a step of 0, or lists of several
            lengths.
    """
    x = node.operand(0)
    lists = enumerate(("starts", "ends", "axes", "steps"), 1)
    starts, ends, named, by = (node.listed(*each, 10) for each in lists)
    starts, ends = starts or [], ends or []
    axes = list(range(len(starts))) if named is None else named
    steps = [1] * len(starts) if by is None else by
    if len({len(each) for each in (starts, ends, axes, steps)}) > 1:
        raise NotDefinedError("starts, ends, axes and steps differ in their lengths")
    _places(axes, x.ndim)
    if 0 in steps:
        raise NotDefinedError("a step is 0")
    for axis, *along in zip(axes, starts, ends, steps, strict=True):
        x = np.take(x, selected(x.shape[axis], *along), axis)
    return (copied(x),)


_SCALARS: dict[str, type[np.generic]] = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
"""The attributes of a Constant that hold numbers, and the dtypes of their results."""


def constant(node: Node) -> tuple[Result, ...]:
    """Constant: its attribute. The draft has `value` only (R1), ONNX `value_float` and others too.

    Raises:
        NotDefinedError: It has none of these attributes, or several.
    """
    given = [name for name in ("value", *_SCALARS) if name in node.attributes]
    if len(given) != 1:
        raise NotDefinedError("a Constant has one attribute, which is not sparse and no string")
    value = np.asarray(node.attributes[given[0]], _SCALARS.get(given[0]))
    if isinstance(node, BallNode) and value.dtype.kind not in "fVbiu":
        raise NotFollowedError("its value is no tensor of numbers")
    return (copied(value),)


def transpose(node: Node) -> tuple[Result, ...]:
    """Transpose: with the axes in another order.

    Raises:
        NotDefinedError: perm is none of the axes.
    """
    x = node.operand(0)
    order = node.integers("perm", list(range(x.ndim))[::-1])
    if sorted(order) != list(range(x.ndim)):
        raise NotDefinedError(f"perm {order} does not name each of {x.ndim} axes once")
    return (copied(x.transpose(order)),)


def tile(node: Node) -> tuple[Result, ...]:
    """Tile: repeated along each axis."""
    return (copied(np.tile(node.operand(0), node.listed(1, "repeats", 6) or [])),)


def tiled_size(node: Node) -> int:
    """The number of elements that a Tile gives."""
    return node.operand(0).size * prod(node.listed(1, "repeats", 6) or [])


def gather(node: Node) -> tuple[Result, ...]:
    """Gather: the elements at some indices along an axis.

    Raises:
        NotDefinedError: An index or the axis does not exist.
    """
    x, indices, axis = node.operand(0), node.known(1), node.axis(0)
    size = x.shape[axis]
    if ((indices < -size) | (indices >= size)).any():
        raise NotDefinedError(f"an index is not in [{-size}, {size - 1}]")
    return (copied(np.take(x, indices, axis)),)


def gathered_size(node: Node) -> int:
    """The number of elements that a Gather gives."""
    x, axis = node.operand(0), node.axis(0)
    return node.operand(1).size * prod(x.shape[:axis] + x.shape[axis + 1 :])


def split(node: Node) -> tuple[Result, ...]:
    """Split: parts along an axis.

    Raises:
        NotDefinedError: The parts do not add up, or there is no such axis.
    """
    x, axis = node.operand(0), node.axis(0)
    sizes = node.listed(1, "split", 13)
    if sizes is None:
        count = node.integer("num_outputs", 1)
        size = -(-x.shape[axis] // count)
        sizes = [max(0, min(size, x.shape[axis] - k * size)) for k in range(count)]
    if sum(sizes) != x.shape[axis]:
        raise NotDefinedError(f"the parts {sizes} do not add up to {x.shape[axis]}")
    return tuple(map(copied, np.split(x, np.cumsum(sizes)[:-1].tolist(), axis)))


def pad(node: Node) -> tuple[Result, ...]:
    """Pad; before version 11 pads and value are attributes.

    Raises:
        NotDefinedError: Pads do not fit the axes, or are below 0.
    """
    x = node.operand(0)
    around = _pads(node)
    mode = str(node.attributes.get("mode", "constant"))
    if mode != "constant":
        # The modes have the same names in numpy.
        places: Any = np.pad(np.arange(x.size).reshape(x.shape), around, mode)  # type: ignore[call-overload]
        return (copied(x.ravel()[places]),)
    value: Any = node.optional(2)
    if node.version < 11:
        value = np.array(node.attributes.get("value", 0.0), np.float32)
    elif value is None:
        value = np.zeros((), x.dtype)
    if are_balls(x) != are_balls(value):
        raise NotDefinedError("it pads balls with something else")
    return (copied(padded(x, around, value.ravel()[0])),)


def _pads(node: Node) -> list[tuple[int, int]]:
    """The pads in front of each axis and after it."""
    rank = node.operand(0).ndim
    pads = node.listed(1, "pads", 11) or []
    axes = node.listed(3, "axes", 18) or list(range(rank))
    if len(pads) != 2 * len(axes) or any(not -rank <= axis < rank for axis in axes):
        raise NotDefinedError(f"{len(pads)} pads do not fit the axes {axes} of {rank}")
    if any(pad < 0 for pad in pads):
        raise NotDefinedError("a pad is below 0")
    _places(axes, rank)
    around = [(0, 0)] * rank
    for axis, *both in zip(axes, pads, pads[len(axes) :], strict=False):
        around[axis] = both[0], both[1]
    return around


def padded_size(node: Node) -> int:
    """The number of elements that a Pad gives."""
    pairs = zip(_pads(node), node.operand(0).shape, strict=True)
    return prod(size + sum(pads) for pads, size in pairs)


def constant_of_shape(node: Node) -> tuple[Result, ...]:
    """ConstantOfShape: one number for all elements."""
    value = np.asarray(node.attributes.get("value", np.zeros(1, np.float32)))
    return (copied(np.full(node.known(0).tolist(), value.ravel()[0], value.dtype)),)


def identity(node: Node) -> tuple[Result, ...]:
    """Identity: the operand."""
    return (copied(node.operand(0)),)


def dropout(node: Node) -> tuple[Result, ...]:
    """Dropout, which does nothing unless its node is for training.

    Raises:
        NotDefinedError: It is for training.
    """
    if node.optional(2) is not None and node.known(2).any():
        raise NotDefinedError("it is for training")
    return identity(node)
