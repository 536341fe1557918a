"""Sliding windows on balls: MaxPool and averages.

Sources: `windows`, and for averages ONNX AveragePool, version 22.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    NotFollowedError,
    Operation,
)
from sonnx_ort.oracle.ball_sums import mean, reduced
from sonnx_ort.oracle.elements import Exact
from sonnx_ort.oracle.results import tensor
from sonnx_ort.oracle.windows import Windows, patches, windows_of

if TYPE_CHECKING:
    from flint import arb


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
        "GlobalAveragePool": Operation(_global_average, lambda node: node.operand(0).size),
        "MaxPool": Operation(_max_pool, _elements_of_windows),
    }
)
"""The operators of windows."""
