"""Sliding windows on balls: Conv, ConvInteger, MaxPool and averages.

Sources: `products`, `windows`, and for averages ONNX AveragePool, version 22.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.arithmetic import INTEGER_FORMATS
from sonnx_ort.oracle.ball_conversions import integers_or_balls
from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    NotFollowedError,
    Operation,
    balls,
    mapped,
)
from sonnx_ort.oracle.ball_sums import mean, product, reduced, sums_of_products
from sonnx_ort.oracle.elements import Exact
from sonnx_ort.oracle.products import convolution
from sonnx_ort.oracle.results import tensor
from sonnx_ort.oracle.windows import Windows, patches, windows_of
from sonnx_ort.profile.element_type import ElementType

if TYPE_CHECKING:
    from flint import arb


def _convolve(node: BallNode) -> tuple[Array, ...]:
    x, w, bias = node.operand(0), node.operand(1), node.optional(2)
    if bias is not None and bias.shape != w.shape[:1]:
        raise NotFollowedError(f"B {bias.shape} has not one element for each of {w.shape[0]}")

    def compute(rows: Array, columns: Array, outputs: slice) -> Exact:
        return sums_of_products(node, rows, columns, None if bias is None else bias[outputs])

    return (convolution(node, x, w, 0, compute),)


def _convolve_integers(node: BallNode) -> tuple[Array, ...]:
    """ConvInteger of balls, whose sums may not wrap."""
    x, w = balls(node.operand(0)), balls(node.operand(1))
    zero = 0 if node.optional(2) is None else int(node.known(2).ravel()[0])
    zeros = tensor([0], ()) if node.optional(3) is None else node.known(3)
    if zeros.ndim > 1 or zeros.size not in (1, w.shape[0]):
        raise NotFollowedError(
            f"w_zero_point {zeros.shape} is no scalar, nor one for each of {w.shape[0]}"
        )
    x = mapped(lambda each: each - zero, x)
    w = mapped(lambda each, own: each - own, w, zeros.reshape(-1, *[1] * (w.ndim - 1)))
    sums = convolution(node, x, w, -zero, lambda rows, columns, _: product(rows, columns))
    limits = INTEGER_FORMATS[ElementType.INT32]
    for each in sums.ravel():
        if not (each >= limits.smallest and each <= limits.largest):
            raise NotFollowedError("a sum may be outside int32")
    return (integers_or_balls(sums, np.int32),)


def _multiplications(node: BallNode) -> int:
    x, w = node.operand(0), node.operand(1)
    windows = windows_of(node, w.shape[2:])
    return prod((x.shape[0], *windows.counts, *w.shape))


def _max_pool(node: BallNode) -> tuple[Array, ...]:
    """MaxPool, without the indices."""

    def top(line: "Sequence[arb]", _: int) -> "arb":
        return reduce(lambda a, b: a.max(b), line)

    return (_pooled(node, windows_of(node, node.integers("kernel_shape", [])), top),)


def _average_pool(node: BallNode) -> tuple[Array, ...]:
    """AveragePool: of the elements of a window, or with zeros for its padding."""
    if node.integer("ceil_mode", 0):
        raise NotFollowedError("ceil_mode is set")
    padded = bool(node.integer("count_include_pad", 0))

    def average(line: "Sequence[arb]", size: int) -> Any:
        return mean(node, [*line, *[line[0] * 0] * (size - len(line))] if padded else line)

    return (_pooled(node, windows_of(node, node.integers("kernel_shape", [])), average),)


def _pooled(node: BallNode, windows: Windows, compute: Any) -> Exact:
    """What a function makes of the elements of each window, given the window's size too."""
    x = node.operand(0)
    places = [list(windows.places(window)) for window in np.ndindex(*windows.counts)]
    inside = patches(np.ones((1, *windows.sizes), np.bool_), places, 0)
    if not inside.any(1).all():
        raise NotFollowedError("a window has no element of X")
    size = prod(windows.kernel)
    made = np.empty((*x.shape[:2], *windows.counts), object)
    for batch, channel in np.ndindex(*x.shape[:2]):
        rows = patches(x[batch, channel][None], places, 0)
        found = (compute(row[i].tolist(), size) for row, i in zip(rows, inside, strict=True))
        made[batch, channel] = tensor(found, windows.counts)
    return made


def _elements_of_windows(node: BallNode) -> int:
    windows = windows_of(node, node.integers("kernel_shape", []))
    return prod((*node.operand(0).shape[:2], *windows.counts, *windows.kernel))


def _global_average(node: BallNode) -> tuple[Array, ...]:
    x = node.operand(0)
    return (reduced(node, x, range(2, x.ndim), mean),)


WINDOWS: Mapping[str, Operation] = MappingProxyType(
    {
        "AveragePool": Operation(_average_pool, _elements_of_windows),
        "Conv": Operation(_convolve, _multiplications),
        "ConvInteger": Operation(_convolve_integers, _multiplications),
        "GlobalAveragePool": Operation(_global_average, lambda node: node.operand(0).size),
        "MaxPool": Operation(_max_pool, _elements_of_windows),
    }
)
"""The operators of windows."""
