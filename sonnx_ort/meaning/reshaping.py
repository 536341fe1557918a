"""Operators that give the same elements another shape: Reshape, Flatten, Expand; and Shape.

Sources: the drafts of the working group of Reshape, Flatten and Shape; ONNX of Expand.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import Array
from sonnx_ort.meaning.results import (
    NotDefinedError,
    Result,
    copied,
    exactly,
)


def reshape(node: Node) -> tuple[Result, ...]:
    """Reshape: the elements in row-major order, in another shape.

    Raises:
        NotDefinedError: S breaks C1 to C3 of the draft, or the sizes differ (C1 of X).
    """
    x = node.operand(0)
    asked = node.listed(1, "shape", 5) or []
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


def shape(node: Node) -> tuple[Result, ...]:
    """Shape: the sizes from `start` to before `end`, both clamped to [0, rank]."""
    sizes = node.operand(0).shape
    rank = len(sizes)
    start, end = node.integer("start", 0), node.integer("end", rank)
    first, last = (max(0, min(rank, k + rank if k < 0 else k)) for k in (start, end))
    return (exactly(np.array(sizes[first:last], np.int64)),)


def expand(node: Node) -> tuple[Result, ...]:
    """Expand: broadcast to a shape, to which the shape of the operand may extend it."""
    return (copied(np.broadcast_to(node.operand(0), expanded_shape(node))),)


def expanded_shape(node: Node) -> tuple[int, ...]:
    """The shape of the result of an Expand.

    Raises:
        NotDefinedError: The shapes cannot be broadcast.
    """
    asked = tuple(node.listed(1, "shape", 8) or ())
    try:
        return np.broadcast_shapes(node.operand(0).shape, asked)
    except ValueError as error:
        raise NotDefinedError(f"{node.operand(0).shape} cannot be broadcast to {asked}") from error
