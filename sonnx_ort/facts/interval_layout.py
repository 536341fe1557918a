"""Intervals of operators of which parts of a tensor are told apart, and of layers of networks.

The layers are normalization and shares.
"""

import math
from collections.abc import Sequence

import numpy as np

from . import moving
from .arithmetic import SLACK, Terms
from .interval_functions import ONE, ZERO
from .intervals import element_count, float_attribute, format_of, hull, of_elements, operand
from .node import Node
from .ranges import ANYTHING, Interval
from .sizes import Rejected, from_the_front, require


def _rank(node: Node, index: int = 0) -> int | None:
    shape = node.known_shape(index)
    return None if shape is None else len(shape)


def same(node: Node) -> Sequence[Interval]:
    """The elements of the operand, each in its place."""
    return [operand(node, 0)]


def transposed(node: Node) -> Sequence[Interval]:
    """Transpose: the axes in another order."""
    x, rank = operand(node, 0), _rank(node)
    if rank is None or x.lower.ndim != rank:
        return [x.uniform]
    order = node.attribute("perm") or range(rank)[::-1]
    return [Interval(x.lower.transpose(order), x.upper.transpose(order), x.nan)]


def taken(node: Node) -> Sequence[Interval]:
    """Parts along one axis, which are those of any of its indices."""
    x, rank = operand(node, 0), _rank(node)
    if rank is None:
        return [x.uniform] * node.results
    return [x.along([node.axis(0, rank)], rank)] * node.results


def sliced(node: Node) -> Sequence[Interval]:
    """Slice: parts along the axes that are named."""
    x, rank = operand(node, 0), _rank(node)
    if rank is None or x.lower.ndim != rank:
        return [x.uniform]
    try:
        given = node.integers(3) if node.version >= 10 and node.given(3) else node.attribute("axes")
        axes = range(rank) if given is None else [from_the_front(axis, rank) for axis in given]
    except Rejected:
        axes = range(rank)
    return [x.along(axes, rank)]


def joined(node: Node) -> Sequence[Interval]:
    """Per index of the joined axis, if its sizes are known and small."""
    moving.joined(node)
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


def padded(node: Node) -> Sequence[Interval]:
    """Pad: the elements, and the constant that is added."""
    moving.require_filled(node)
    x = operand(node, 0).uniform
    if node.attribute("mode", "constant") != "constant":
        return [x]
    if node.given(2):
        value = operand(node, 2).uniform
    else:
        value = float_attribute(node, "value", 0.0) if node.version < 11 else ZERO
    return [hull([x, value])]


def filled(node: Node) -> Sequence[Interval | None]:
    """ConstantOfShape: its number, 0 by default."""
    format_of(node)
    value = node.tensor("value")
    return [ZERO if value is None else of_elements(value)]


def counted(node: Node) -> Sequence[Interval]:
    """Range by steps above 0: from the start to the limit, each a sum of those before it."""
    start, limit, step = (operand(node, index).whole for index in range(3))
    require(start.finite and limit.finite and step.finite and step.lower > 0, "it is not bounded")
    kind, spread = format_of(node), max(limit.upper - start.lower, 0.0)
    require(spread < kind.largest / 2, "it is counted by a difference that may be infinite")
    largest = max(*map(abs, (start.lower, start.upper, limit.lower, limit.upper)), step.upper)
    error = SLACK * (spread / step.lower + 2) * kind.unit * largest
    upper = max(start.upper, limit.upper)
    return [kind.rounded(np.asarray(start.lower), np.asarray(upper), error=error)]


def resized(node: Node) -> Sequence[Interval]:
    """Means of elements; cubic ones have weights of both signs.

    Along each axis the magnitudes of cubic weights sum to at most 1 + |a| / 2: at a fraction t
    those of the outer elements are |a| * t * (1 - t), by which also the inner ones differ from
    weights between 0 and 1 that sum to 1.
    """
    mode, kind, x = node.attribute("mode", "nearest"), format_of(node), operand(node, 0).uniform
    plain = node.attribute("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize"
    require(plain and not node.attribute("antialias", 0), "its mode is not verified")
    if mode == "nearest":
        return [x]
    rank, nan = len(node.shape(0)), x.infinite
    if mode == "linear":
        return [kind.total(Terms(x.lower, x.upper, x.magnitude, 2**rank, nan))]
    require(mode == "cubic" and not node.attribute("exclude_outside", 0), "its weights are open")
    factor = float_attribute(node, "cubic_coeff_a", -0.75).magnitude
    largest = x.magnitude * ((1 + factor / 2) * (1 + _OF_WEIGHTS)) ** rank
    require(factor < _LARGEST_FACTOR, "its weights are too large")
    return [kind.total(Terms(-largest, largest, largest, 4**rank, nan))]


_OF_WEIGHTS = 2.0**-10
"""How far the weights of a cubic Resize may be away from exact ones, as a share."""

_LARGEST_FACTOR = 1e6


def normalized_by_constants(node: Node) -> Sequence[Interval]:
    """BatchNormalization of inference, which kernels compute as x * factor + shift.

    Both are formed before: factor = scale / Sqrt(variance + epsilon), shift = bias - mean * factor.
    Others subtract the mean first.
    """
    x, rank, kind = operand(node, 0), len(node.shape(0)), format_of(node)
    require(all(node.type(index) == node.type() for index in range(1, 5)), "its types differ")
    shape = (1, -1, *[1] * (rank - 2)) if rank > 1 else (-1,)
    scale, bias, mean, variance = (_reshaped(operand(node, i), shape) for i in range(1, 5))
    root = kind.root(kind.sum(variance, float_attribute(node, "epsilon", 1e-5)))
    inverse = kind.quotient(ONE, root)
    factor = hull([kind.quotient(scale, root), kind.product(scale, inverse)], rank=rank)
    moved = kind.product(kind.product(mean, inverse), scale)
    shift = kind.difference(bias, hull([kind.product(mean, factor), moved], rank=rank))
    if x.lower.ndim != rank:
        x = x.uniform
    first = kind.sum(kind.product(x, factor), shift)
    second = kind.sum(kind.product(kind.difference(x, mean), factor), bias)
    return [hull([first, second], rank=rank)]


def _reshaped(x: Interval, shape: Sequence[int]) -> Interval:
    """The interval of a vector of channels beside the other axes."""
    if x.lower.ndim != 1:
        return x.uniform
    return Interval(x.lower.reshape(shape), x.upper.reshape(shape), x.nan)


def shares(node: Node) -> Sequence[Interval]:
    """Softmax: from 0 to 1; with infinite operands NaN."""
    nan = operand(node, 0).infinite
    return [format_of(node).rounded(np.asarray(0.0), np.asarray(1.0), nan=nan).at_least(0)]


def logarithms_of_shares(node: Node) -> Sequence[Interval]:
    """LogSoftmax: the difference to the largest, less the logarithm of a sum of exponentials."""
    x, rank, kind = operand(node, 0), len(node.shape(0)), format_of(node)
    if x.infinite:
        return [ANYTHING]
    first = from_the_front(node.attribute("axis", -1 if node.version >= 13 else 1), rank)
    axes = [first] if node.version >= 13 else range(first, rank)
    count = element_count(node, 0, axes).upper
    share, whole = kind.share(count), x.whole
    ends = Interval.of(whole.lower, whole.lower), Interval.of(whole.upper, whole.upper)
    below = Interval.of(float(kind.difference(*ends).lower), 0)
    return [kind.difference(below, Interval.of(-share, math.log(count) + share))]
