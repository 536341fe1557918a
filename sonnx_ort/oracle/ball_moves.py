"""Operators that move or choose elements, balls among them.

Sources: `layout`, and for the operators that it has not ONNX.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle import layout
from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    Compute,
    NotFollowedError,
    Operation,
    are_balls,
    balls,
    sizes_of_operands,
)
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.results import Result, tensor

if TYPE_CHECKING:
    from flint import arb


def _laid_out(compute: Callable[[Node], Sequence[Result]]) -> Operation:
    """What `layout` computes; it copies elements of any kind."""

    def of_node(node: BallNode) -> tuple[Array, ...]:
        return tuple(result.nearest for result in compute(node))

    return Operation(of_node, moves=True, exact=True)


def _concat(node: BallNode) -> tuple[Array, ...]:
    if any(map(are_balls, node.given())):
        node = replace(node, operands=tuple(map(balls, node.given())))
    return tuple(result.nearest for result in layout.concat(node))


def _moving(compute: Compute, count: Callable[[BallNode], int] = sizes_of_operands) -> Operation:
    return Operation(compute, count, moves=True, exact=True)


def axis_of(node: BallNode, default: int) -> int:
    """The axis that a node names, counted from the first.

    Raises:
        NotFollowedError: There is none.
    """
    rank, axis = node.operand(0).ndim, node.integer("axis", default)
    if not -rank <= axis < rank:
        raise NotFollowedError(f"axis {axis} is not in [{-rank}, {rank - 1}]")
    return axis % rank


def integers_of(node: BallNode, place: int, name: str, since: int) -> list[int] | None:
    """The integers of an operand, which is an attribute before a version; None if left out."""
    if node.version < since:
        return node.integers(name, []) if name in node.attributes else None
    if node.optional(place) is None:
        return None
    return [int(each) for each in node.known(place).ravel()]


def _constant(node: BallNode) -> tuple[Array, ...]:
    (result,) = layout.constant(node)
    if result.nearest.dtype.kind not in "fVbiu":
        raise NotFollowedError("its value is no tensor of numbers")
    return (result.nearest,)


def _shape(node: BallNode) -> tuple[Array, ...]:
    return tuple(result.nearest for result in layout.shape(node))


def _transpose(node: BallNode) -> tuple[Array, ...]:
    x = node.operand(0)
    order = node.integers("perm", list(range(x.ndim))[::-1])
    if sorted(order) != list(range(x.ndim)):
        raise NotFollowedError(f"perm {order} does not name each of {x.ndim} axes once")
    return (x.transpose(order),)


def _expand(node: BallNode) -> tuple[Array, ...]:
    return (np.broadcast_to(node.operand(0), _expanded_shape(node)),)


def _expanded_shape(node: BallNode) -> tuple[int, ...]:
    asked = tuple(integers_of(node, 1, "shape", 8) or ())
    try:
        return np.broadcast_shapes(node.operand(0).shape, asked)
    except ValueError as error:
        raise NotFollowedError(f"{node.operand(0).shape} cannot be broadcast to {asked}") from error


def _tile(node: BallNode) -> tuple[Array, ...]:
    return (np.tile(node.operand(0), integers_of(node, 1, "repeats", 6) or []),)


def _tiled_size(node: BallNode) -> int:
    return node.operand(0).size * prod(integers_of(node, 1, "repeats", 6) or [])


def _gather(node: BallNode) -> tuple[Array, ...]:
    x, indices, axis = node.operand(0), node.known(1), axis_of(node, 0)
    size = x.shape[axis]
    if ((indices < -size) | (indices >= size)).any():
        raise NotFollowedError(f"an index is not in [{-size}, {size - 1}]")
    return (np.take(x, indices, axis),)


def _gathered_size(node: BallNode) -> int:
    x, axis = node.operand(0), axis_of(node, 0)
    return node.operand(1).size * prod(x.shape[:axis] + x.shape[axis + 1 :])


def _split(node: BallNode) -> tuple[Array, ...]:
    x, axis = node.operand(0), axis_of(node, 0)
    sizes = integers_of(node, 1, "split", 13)
    if sizes is None:
        count = node.integer("num_outputs", 1)
        size = -(-x.shape[axis] // count)
        sizes = [max(0, min(size, x.shape[axis] - k * size)) for k in range(count)]
    if sum(sizes) != x.shape[axis]:
        raise NotFollowedError(f"the parts {sizes} do not add up to {x.shape[axis]}")
    return tuple(np.split(x, np.cumsum(sizes)[:-1].tolist(), axis))


def _pad(node: BallNode) -> tuple[Array, ...]:
    """Pad; before version 11 pads and value are attributes."""
    x = node.operand(0)
    pads, axes = _pads(node)
    mode = str(node.attributes.get("mode", "constant"))
    if mode != "constant":
        around = [(0, 0)] * x.ndim
        for axis, before, behind in zip(axes, pads, pads[len(axes) :], strict=False):
            around[axis] = before, behind
        # The modes have the same names in numpy.
        places: Any = np.pad(np.arange(x.size).reshape(x.shape), around, mode)  # type: ignore[call-overload]
        return (x.ravel()[places],)
    value: Any = node.optional(2)
    if node.version < 11:
        value = np.array(node.attributes.get("value", 0.0), np.float32)
    elif value is None:
        value = np.zeros((), x.dtype)
    if are_balls(x) != are_balls(value):
        raise NotFollowedError("it pads balls with something else")
    shape, inner = list(x.shape), [slice(None)] * x.ndim
    for axis, before, behind in zip(axes, pads, pads[len(axes) :], strict=False):
        inner[axis] = slice(before, before + x.shape[axis])
        shape[axis] += before + behind
    made = np.full(shape, value.ravel()[0], x.dtype)
    made[tuple(inner)] = x
    return (made,)


def _pads(node: BallNode) -> tuple[list[int], list[int]]:
    rank = node.operand(0).ndim
    pads = integers_of(node, 1, "pads", 11) or []
    axes = integers_of(node, 3, "axes", 18) or list(range(rank))
    if len(pads) != 2 * len(axes) or any(not -rank <= axis < rank for axis in axes):
        raise NotFollowedError(f"{len(pads)} pads do not fit the axes {axes} of {rank}")
    if any(pad < 0 for pad in pads):
        raise NotFollowedError("a pad is below 0")
    return pads, axes


def _padded_size(node: BallNode) -> int:
    pads, axes = _pads(node)
    shape = list(node.operand(0).shape)
    for axis, before, behind in zip(axes, pads, pads[len(axes) :], strict=False):
        shape[axis] += before + behind
    return prod(shape)


def _constant_of_shape(node: BallNode) -> tuple[Array, ...]:
    value = np.asarray(node.attributes.get("value", np.zeros(1, np.float32)))
    return (np.full(node.known(0).tolist(), value.ravel()[0], value.dtype),)


def _identity(node: BallNode) -> tuple[Array, ...]:
    return (node.operand(0),)


def _dropout(node: BallNode) -> tuple[Array, ...]:
    """Dropout, which does nothing unless its node is for training."""
    if node.optional(2) is not None and node.known(2).any():
        raise NotFollowedError("it is for training")
    return _identity(node)


def _places_of_largest(node: BallNode) -> tuple[Array, ...]:
    """ArgMax, if one element is the largest for certain, or several are the same number."""
    axis = axis_of(node, 0)
    last = bool(node.integer("select_last_index", 0))
    lines = np.moveaxis(node.operand(0), axis, -1)
    if lines.shape[-1] == 0:
        raise NotFollowedError("there is no element along the axis")
    flat = lines.reshape(-1, lines.shape[-1])
    places = [_place_of_largest(line, last) for line in flat.tolist()]
    made = np.array(places, np.int64).reshape(lines.shape[:-1])
    return (np.expand_dims(made, axis) if node.integer("keepdims", 1) else made,)


def _place_of_largest(line: "Sequence[arb]", last: bool) -> int:
    best = max(range(len(line)), key=lambda place: line[place].upper())
    ties = [k for k, each in enumerate(line) if k == best or each == line[best]]
    if not all(k in ties or each < line[best] for k, each in enumerate(line)):
        raise NotFollowedError("several elements may be the largest")
    return ties[-1 if last else 0]


def _range(node: BallNode) -> tuple[Array, ...]:
    """Range, whose index, product and sum a format may each round."""
    start, _, delta = (node.operand(place).ravel()[0] for place in range(3))
    made = [
        node.rounded(start + i * delta, 4, abs(start) + i * abs(delta)) if i else start
        for i in range(_count(node))
    ]
    return (tensor(made, [len(made)]),)


def _count(node: BallNode) -> int:
    if any(node.operand(place).size != 1 for place in range(3)):
        raise NotFollowedError("start, limit and delta are not all scalars")
    start, limit, delta = (balls(node.operand(place)).item() for place in range(3))
    if not delta != 0:
        raise NotFollowedError("delta may be 0")
    count = ((limit - start) / delta).ceil().unique_fmpz()
    if count is None:
        raise NotFollowedError("the number of elements is not certain")
    return max(0, int(count))


MOVES: Mapping[str, Operation] = MappingProxyType(
    {
        **{
            name: _laid_out(getattr(layout, name.lower()))
            for name in ("Flatten", "Reshape", "Squeeze", "Unsqueeze")
        },
        "ArgMax": Operation(_places_of_largest),
        "Concat": _moving(_concat),
        "Constant": _moving(_constant),
        "ConstantOfShape": _moving(_constant_of_shape, lambda node: prod(node.known(0).tolist())),
        "Dropout": _moving(_dropout),
        "Expand": _moving(_expand, lambda node: prod(_expanded_shape(node))),
        "Gather": _moving(_gather, _gathered_size),
        "Identity": _moving(_identity),
        "Pad": _moving(_pad, _padded_size),
        "Range": Operation(_range, _count),
        "Shape": _moving(_shape, lambda _: 0),
        "Slice": _laid_out(layout.cut),
        "Split": _moving(_split),
        "Tile": _moving(_tile, _tiled_size),
        "Transpose": _moving(_transpose),
    }
)
"""The operators that move or choose elements."""
