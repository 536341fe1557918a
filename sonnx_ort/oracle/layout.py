"""Operators that only move elements, from Reshape to Slice, and Shape and Constant.

Sources: the drafts of the working group of these names, sections "Informal specification" and
constraints. Squeeze has no draft: ONNX Squeeze, version 25; so have the versions that take shapes
and axes as attributes. A Slice without axes or steps, or beyond the ends: ONNX Slice, version 13.
Elements keep their bits; numpy is only used for indexing.
"""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.kernel.sizes import selected
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.results import NotDefinedError, Result, copied, exactly

Array = npt.NDArray[Any]


def reshape(node: Node) -> tuple[Result, ...]:
    """Reshape: the elements in row-major order, in another shape.

    Raises:
        NotDefinedError: S breaks C1 to C3 of the draft, or the sizes differ (C1 of X).
    """
    x = node.operand(0)
    asked = node.integers("shape", []) if node.version < 5 else node.operand(1).tolist()
    return (copied(_in_shape(x, _asked_shape(x.shape, asked, node.integer("allowzero", 0)))),)


def _asked_shape(sizes: Sequence[int], asked: Sequence[int], allowzero: int) -> list[int]:
    if allowzero not in (0, 1):
        raise NotDefinedError("allowzero is neither 0 nor 1")
    if any(size < -1 for size in asked) or asked.count(-1) > 1:
        raise NotDefinedError("the shape has a size below -1, or two of -1")
    if allowzero and 0 in asked and -1 in asked:
        raise NotDefinedError("the shape has 0 and -1, and allowzero is 1")
    if not allowzero and any(size == 0 and i >= len(sizes) for i, size in enumerate(asked)):
        raise NotDefinedError("the shape has a 0 for an axis that X does not have")
    if -1 in asked and 0 in sizes:
        raise NotDefinedError("the shape has -1, and X no elements")
    kept = asked if allowzero else [sizes[i] if size == 0 else size for i, size in enumerate(asked)]
    if -1 not in kept:
        return list(kept)
    others = prod(size for size in kept if size != -1)
    return [prod(sizes) // others if size == -1 else size for size in kept]


def _in_shape(x: Array, shape: Sequence[int]) -> Array:
    if prod(shape) != x.size:
        raise NotDefinedError(f"X has {x.size} elements, and the result {prod(shape)}")
    return x.reshape(shape)


def flatten(node: Node) -> tuple[Result, ...]:
    """Flatten: the axes before `axis`, and those from it on, as one axis each.

    Raises:
        NotDefinedError: The axis is not in [-rank, rank].
    """
    x, axis = node.operand(0), node.integer("axis", 1)
    if not -x.ndim <= axis <= x.ndim:
        raise NotDefinedError(f"axis {axis} is not in [{-x.ndim}, {x.ndim}]")
    first = axis + x.ndim if axis < 0 else axis
    return (copied(x.reshape(prod(x.shape[:first]), prod(x.shape[first:]))),)


def squeeze(node: Node) -> tuple[Result, ...]:
    """Squeeze: without the named axes of size 1, or without all of them.

    Raises:
        NotDefinedError: A named axis does not exist, or has another size.
    """
    x = node.operand(0)
    axes = _named_axes(node)
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
    axes = _named_axes(node) or []
    rank = x.ndim + len(axes)
    inserted = _places(axes, rank)
    sizes = iter(x.shape)
    return (copied(x.reshape([1 if k in inserted else next(sizes) for k in range(rank)])),)


def _named_axes(node: Node) -> list[int] | None:
    """The axes, which are an attribute before version 13."""
    if node.version < 13:
        return node.integers("axes", []) if "axes" in node.attributes else None
    axes = node.optional(1)
    return None if axes is None else axes.ravel().tolist()


def _places(axes: Iterable[int], rank: int) -> set[int]:
    named = list(axes)
    if any(not -rank <= axis < rank for axis in named):
        raise NotDefinedError(f"not all of the axes {named} are in [{-rank}, {rank - 1}]")
    places = {axis % rank for axis in named}
    if len(places) < len(named):
        raise NotDefinedError(f"the axes {named} name one twice")
    return places


def concat(node: Node) -> tuple[Result, ...]:
    """Concat: the tensors one behind the other along an axis.

    Raises:
        NotDefinedError: Scalars, sizes that differ on other axes, or no such axis.
    """
    tensors = [node.operand(place) for place in range(len(node.operands))]
    axis = node.integer("axis", 1)
    rank = tensors[0].ndim
    if rank == 0 or any(each.ndim != rank for each in tensors):
        raise NotDefinedError("the operands are scalars, or their ranks differ")
    if not -rank <= axis < rank:
        raise NotDefinedError(f"axis {axis} is not in [{-rank}, {rank - 1}]")
    axis %= rank
    if len({each.shape[:axis] + each.shape[axis + 1 :] for each in tensors}) > 1:
        raise NotDefinedError(f"the sizes differ on other axes than {axis}")
    return (copied(np.concatenate(tensors, axis)),)


def cut(node: Node) -> tuple[Result, ...]:
    """Slice: the elements from start to before end, with a step, along the named axes.

    Negative places count from the end; those beyond an end are moved to it. Without axes the first
    ones are meant, without steps each is 1.

    Raises:
        NotDefinedError: Axes that do not exist or are named twice, a step of 0, or lists of several
            lengths.
    """
    x = node.operand(0)
    starts, ends, named, by = (_list_of_slice(node, *each) for each in enumerate(_OF_A_SLICE, 1))
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


_OF_A_SLICE = ("starts", "ends", "axes", "steps")
"""The lists of a Slice, which are attributes before version 10."""


def _list_of_slice(node: Node, place: int, name: str) -> list[int] | None:
    if node.version < 10:
        return node.integers(name, []) if name in node.attributes else None
    operand = node.optional(place)
    return None if operand is None else operand.ravel().tolist()


def shape(node: Node) -> tuple[Result, ...]:
    """Shape: the sizes from `start` to before `end`, both clamped to [0, rank]."""
    sizes = node.operand(0).shape
    rank = len(sizes)
    start, end = node.integer("start", 0), node.integer("end", rank)
    first, last = (max(0, min(rank, k + rank if k < 0 else k)) for k in (start, end))
    return (exactly(np.array(sizes[first:last], np.int64)),)


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
    said = [name for name in ("value", *_SCALARS) if name in node.attributes]
    if len(said) != 1:
        raise NotDefinedError("a Constant has one attribute, which is not sparse and no string")
    value = node.attributes[said[0]]
    return (copied(np.asarray(value, _SCALARS.get(said[0]))),)
