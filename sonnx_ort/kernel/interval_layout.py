"""Intervals of the results of operators that reorder, select or repeat elements."""

from collections.abc import Mapping, Sequence

import numpy as np

from .interval_functions import IntervalRule
from .intervals import SLACK, format_of, hull, of_elements, operand, rounded
from .node import Node
from .sizes import Interval, Rejected, from_the_front, require


def _rank(node: Node, index: int = 0) -> int | None:
    shape = node.known_shape(index)
    return None if shape is None else len(shape)


def _moved(node: Node) -> Sequence[Interval]:
    """Results that have only elements of the first operand, anywhere."""
    return [operand(node, 0).uniform] * node.results


def _transposed(node: Node) -> Sequence[Interval]:
    x, rank = operand(node, 0), _rank(node)
    if rank is None or x.lower.ndim != rank:
        return [x.uniform]
    order = node.attribute("perm") or range(rank)[::-1]
    return [Interval(x.lower.transpose(order), x.upper.transpose(order), x.nan)]


def _taken(node: Node) -> Sequence[Interval]:
    """Parts along one axis, which are those of any of its indices."""
    x, rank = operand(node, 0), _rank(node)
    if rank is None:
        return _moved(node)
    return [x.along([node.axis(0, rank)], rank)] * node.results


def _sliced(node: Node) -> Sequence[Interval]:
    x, rank = operand(node, 0), _rank(node)
    if rank is None or x.lower.ndim != rank:
        return [x.uniform]
    try:
        given = node.integers(3) if node.version >= 10 and node.given(3) else node.attribute("axes")
        axes = range(rank) if given is None else [from_the_front(axis, rank) for axis in given]
    except Rejected:
        axes = range(rank)
    return [x.along(axes, rank)]


def _joined(node: Node) -> Sequence[Interval]:
    """Per index of the joined axis, if its sizes are known and small."""
    parts = [operand(node, index) for index in range(node.operands)]
    shapes = [node.known_shape(index) for index in range(node.operands)]
    rank = _rank(node)
    if rank is None or any(shape is None or len(shape) != rank for shape in shapes):
        return [hull(parts)]
    axis = node.axis(1, rank)
    sizes = [shape[axis] for shape in shapes if shape is not None]
    counts = [size for size in sizes if isinstance(size, int)]
    if len(counts) < len(sizes) or not 0 < sum(counts) <= _MOST_JOINED:
        return [hull(parts)]
    others = [other for other in range(rank) if other != axis]
    lower, upper = [], []
    for part, count in zip(parts, counts, strict=True):
        each = part.along(others, rank)
        shape = [1] * axis + [count] + [1] * (rank - axis - 1)
        lower.append(np.broadcast_to(each.lower, shape))
        upper.append(np.broadcast_to(each.upper, shape))
    nan = any(part.nan for part in parts)
    return [Interval(np.concatenate(lower, axis), np.concatenate(upper, axis), nan)]


_MOST_JOINED = 1 << 11
"""A joined axis with more indices is not looked at one by one."""


def _padded(node: Node) -> Sequence[Interval]:
    x = operand(node, 0).uniform
    if node.attribute("mode", "constant") != "constant":
        return [x]
    given = node.attribute("value", 0.0) if node.version < 11 else 0.0
    value = operand(node, 2) if node.given(2) else Interval.of(given, given)
    return [hull([x, value.uniform])]


def _with_others(*indices: int) -> IntervalRule:
    """Elements of several operands, and nothing else."""

    def rule(node: Node) -> Sequence[Interval]:
        require(node.attribute("reduction", "none") == "none", "it reduces")
        return [hull([operand(node, index).uniform for index in indices])]

    return rule


def _filled(node: Node) -> Sequence[Interval | None]:
    format_of(node)
    value = node.tensor("value")
    return [Interval.of(0, 0) if value is None else of_elements(value)]


def _counted(node: Node) -> Sequence[Interval]:
    """Range by steps above 0: from the start to the limit, each a sum of those before it."""
    start, limit, step = (operand(node, index).whole for index in range(3))
    require(start.finite and limit.finite and step.finite and step.lower > 0, "it is not bounded")
    count = max((limit.upper - start.lower) / step.lower, 0) + 1
    largest = max(*map(abs, (start.lower, start.upper, limit.lower, limit.upper)), step.upper)
    error = SLACK * (count + 1) * format_of(node).unit * largest
    upper = max(start.upper, limit.upper)
    return [rounded(node, np.asarray(start.lower), np.asarray(upper), error=error)]


def _resized(node: Node) -> Sequence[Interval]:
    """Means of elements; cubic ones have weights of both signs, below 2 along each axis."""
    mode, x = node.attribute("mode", "nearest"), operand(node, 0)
    plain = node.attribute("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize"
    require(plain and not node.attribute("antialias", 0), "its mode is not verified")
    x = x.uniform
    if mode == "nearest":
        return [x]
    rank = _rank(node)
    if mode == "cubic":
        require(rank is not None, "its rank is not known")
        largest = x.magnitude * 2.0 ** (rank or 0)
        return [rounded(node, -largest, largest, nan=x.nan or x.infinite)]
    error = SLACK * format_of(node).unit * x.magnitude
    return [rounded(node, x.lower, x.upper, nan=x.nan or x.infinite, error=error)]


LAYOUT: Mapping[str, IntervalRule] = {
    **dict.fromkeys(
        (
            *("Compress", "DepthToSpace", "Expand", "Flatten", "GatherElements", "GatherND"),
            *("Reshape", "SpaceToDepth", "Squeeze", "Tile", "Unsqueeze"),
        ),
        _moved,
    ),
    "Concat": _joined,
    "ConstantOfShape": _filled,
    "Gather": _moved,
    "Identity": lambda node: [operand(node, 0)],
    "Pad": _padded,
    "Range": _counted,
    "Resize": _resized,
    "ScatterElements": _with_others(0, 2),
    "ScatterND": _with_others(0, 2),
    "Slice": _sliced,
    "Split": _taken,
    "Transpose": _transposed,
    "Trilu": lambda node: [hull([operand(node, 0).uniform, Interval.of(0, 0)])],
}
"""The operators that move elements by name."""
