"""Intervals of sums: products of matrices, convolutions, pooling, reductions and normalizations.

A sum of products with constants is bounded by the constants: those above 0 and those below 0 are
summed apart. `summed` widens it by what rounding can do in any order of the terms.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .interval_functions import IntervalRule, added
from .intervals import element_count, float_attribute, hull, least_sum, operand, rounded, summed
from .node import Node, reduced_axes
from .ranges import Ends, Interval
from .sizes import Bounds, Rejected, require

Array = npt.NDArray[Any]


def _weighted(x: Interval, positive: Ends, negative: Ends) -> tuple[Ends, Ends, Ends]:
    """The smallest and the largest sum of products with weights, and that of their magnitudes.

    Args:
        x: The factors, of which the last axis is summed, or one for all of them.
        positive: The sums of weights above 0: (outputs, inputs).
        negative: The sums of weights below 0.
    """
    lower, upper = np.atleast_1d(x.lower), np.atleast_1d(x.upper)
    shape = (*lower.shape[:-1], positive.shape[-1])
    lower, upper = np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)
    with np.errstate(all="ignore"):
        least = lower @ positive.T + upper @ negative.T
        most = upper @ positive.T + lower @ negative.T
        total = np.maximum(np.abs(lower), np.abs(upper)) @ (positive - negative).T
    return least, most, total


def _signed_sums(weights: Array, axes: tuple[int, ...]) -> tuple[Ends, Ends]:
    """The sums of the elements above 0 and of those below 0 along some axes, in double."""
    positive = np.maximum(weights, 0).sum(axis=axes, dtype=np.float64)
    negative = np.minimum(weights, 0).sum(axis=axes, dtype=np.float64)
    return positive, negative


def finite_weights(weights: Array | None) -> Array:
    """Constants of which no product of two overflows, as ONNX Runtime may fold them.

    Raises:
        Rejected: They are not known, or one is NaN or too large.
    """
    if weights is None:
        raise Rejected("the weights are not constant")
    small = weights.size == 0 or float(np.abs(weights).max()) <= _LARGEST_WEIGHT
    require(small, "a weight is NaN or too large")
    return weights


_LARGEST_WEIGHT = 1e18


def _matrix_product(node: Node) -> Sequence[Interval]:
    a, b = operand(node, 0), operand(node, 1)
    rank = len(node.shape(0))
    for index, x in ((1, a), (0, b)):
        weights = node.weights(index)
        if weights is None or weights.ndim != _MATRIX or x.infinite:
            continue
        if index == 1:
            factors = x.along(range(rank - 1), rank) if x.lower.ndim == rank else x.uniform
            return [_by_weights(node, factors, finite_weights(weights).T)]
        found = _by_weights(node, x.uniform, finite_weights(weights))
        return [found.uniform]
    return [_any_product(node, a, b, element_count(node, 0, [rank - 1]))]


_MATRIX = 2


def _by_weights(node: Node, x: Interval, weights: Array) -> Interval:
    """Products with a matrix of (outputs, inputs)."""
    if x.lower.ndim == 0:
        positive, negative = (each[:, None] for each in _signed_sums(weights, (1,)))
    else:
        positive = np.maximum(weights, 0).astype(np.float64)
        negative = np.minimum(weights, 0).astype(np.float64)
    least, most, total = _weighted(x, positive, negative)
    natural = bool((weights >= 0).all() and (x.lower >= 0).all())
    return summed(node, least, most, total, weights.shape[1], nan=x.nan, positive=natural)


def _any_product(node: Node, a: Interval, b: Interval, terms: Bounds) -> Interval:
    """Sums of products of two intervals."""
    one, other = a.whole, b.whole
    corners = [x * y for x in (one.lower, one.upper) for y in (other.lower, other.upper)]
    require(all(map(math.isfinite, corners)), "an operand may be infinite")
    ends = _times(np.asarray(min(corners)), np.asarray(max(corners)), terms)
    total, positive = np.asarray(max(map(abs, corners)) * terms.upper), min(corners) >= 0
    return summed(node, *ends, total, terms.upper, nan=a.nan or b.nan, positive=positive)


def _times(lower: Ends, upper: Ends, terms: Bounds) -> tuple[Ends, Ends]:
    """The ends of a sum of so many numbers between two."""
    with np.errstate(over="ignore"):
        return (
            np.minimum(lower * terms.lower, lower * terms.upper),
            np.maximum(upper * terms.lower, upper * terms.upper),
        )


def _general_product(node: Node) -> Sequence[Interval]:
    """Alpha * A * B + beta * C."""
    alpha, beta = (float_attribute(node, name, 1.0) for name in ("alpha", "beta"))
    a, b = operand(node, 0), operand(node, 1)
    axis = 0 if node.attribute("transA", 0) else 1
    weights = node.weights(1)
    if weights is not None and weights.ndim == _MATRIX and not a.infinite:
        kept = a.along([1 - axis], 2) if a.lower.ndim == _MATRIX else a.uniform
        if axis == 0 and kept.lower.ndim == _MATRIX:
            kept = Interval(kept.lower.T, kept.upper.T, kept.nan)
        turned = weights if node.attribute("transB", 0) else weights.T
        product = _by_weights(node, kept, finite_weights(turned))
    else:
        product = _any_product(node, a, b, element_count(node, 0, [axis]))
    scaled = _scaled(node, product, alpha)
    if not node.given(2):
        return [scaled]
    return [added(node, scaled, _scaled(node, operand(node, 2), beta), fused=True)]


def _scaled(node: Node, x: Interval, factor: float) -> Interval:
    if factor == 1:
        return x
    require(not x.infinite and math.isfinite(factor), "it may be infinite")
    ends = x.lower * factor, x.upper * factor
    return rounded(node, np.minimum(*ends), np.maximum(*ends), nan=x.nan)


def _convolved(node: Node) -> Sequence[Interval]:
    """Per output channel; padding may add zeros to any window."""
    x, weights = _per_channel(node), node.weights(1)
    pads = any(node.attribute("pads") or ()) or node.attribute("auto_pad", "NOTSET") != "NOTSET"
    if pads:
        x = hull([x, Interval.of(0, 0)], rank=max(x.lower.ndim, 0))
    rank = len(node.shape(0))
    if weights is None:
        count = element_count(node, 1, range(1, rank))
        return [_with_bias(node, _any_product(node, x, operand(node, 1), count), rank)]
    parts = _weighted_groups(node, x, finite_weights(weights), weights.shape[1])
    return [_per_output(node, parts, math.prod(weights.shape[1:]), x.nan, rank)]


def _convolved_back(node: Node) -> Sequence[Interval]:
    """Each output is a sum of some products, and of all of them at most."""
    x = hull([_per_channel(node), Interval.of(0, 0)], rank=1)
    weights = finite_weights(node.weights(1))
    inputs = weights.shape[0] // node.attribute("group", 1)
    parts = _weighted_groups(node, x, weights, inputs, back=True)
    terms = inputs * math.prod(weights.shape[2:])
    return [_per_output(node, parts, terms, x.nan, weights.ndim)]


def _weighted_groups(
    node: Node, x: Interval, weights: Array, inputs: int, *, back: bool = False
) -> list[tuple[Ends, Ends, Ends]]:
    """The sums of each group, with so many inputs; of weights back from outputs to inputs."""
    groups, parts = node.attribute("group", 1), []
    sums, count = _signed_sums(weights, tuple(range(2, weights.ndim))), weights.shape[0] // groups
    for group in range(groups):
        positive, negative = (each[group * count : (group + 1) * count] for each in sums)
        own = (positive.T, negative.T) if back else (positive, negative)
        parts.append(_weighted(_group_of(x, group, inputs), *own))
    return parts


def _per_channel(node: Node) -> Interval:
    """The interval of the first operand per channel, as a vector, or one for all.

    Raises:
        Rejected: An element may be infinite.
    """
    x, rank = operand(node, 0), len(node.shape(0))
    require(not x.infinite, "an operand may be infinite")
    if x.lower.ndim != rank or x.lower.shape[1] == 1:
        return x.uniform
    kept = x.along([axis for axis in range(rank) if axis != 1], rank)
    return Interval(kept.lower.ravel(), kept.upper.ravel(), kept.nan)


def _group_of(x: Interval, group: int, inputs: int) -> Interval:
    if x.lower.ndim == 0:
        return x
    part = slice(group * inputs, (group + 1) * inputs)
    return Interval(x.lower[part], x.upper[part], x.nan)


def _per_output(
    node: Node, parts: Sequence[tuple[Ends, Ends, Ends]], terms: int, nan: bool, rank: int
) -> Interval:
    least, most, total = (np.concatenate(each) for each in zip(*parts, strict=True))
    shape = (1, -1, *[1] * (rank - 2))
    products = summed(
        node, least.reshape(shape), most.reshape(shape), total.reshape(shape), terms, nan=nan
    )
    return _with_bias(node, products, rank)


def _with_bias(node: Node, products: Interval, rank: int) -> Interval:
    if not node.given(2):
        return products
    bias, shape = operand(node, 2), (1, -1, *[1] * (rank - 2))
    if bias.lower.ndim == 1:
        bias = Interval(bias.lower.reshape(shape), bias.upper.reshape(shape), bias.nan)
    return added(node, products, bias, fused=True)


def _averaged(node: Node) -> Sequence[Interval]:
    x = operand(node, 0).uniform
    kernel = node.attribute("kernel_shape")
    if kernel:
        count = math.prod(kernel)
    else:
        count = element_count(node, 0, range(2, len(node.shape(0)))).upper
    pads = node.attribute("pads") or []
    require(all(pad < size for pad, size in zip(pads, [*(kernel or [])] * 2, strict=False)), "pads")
    if node.attribute("count_include_pad", 0):
        x = hull([x, Interval.of(0, 0)])
    return [_mean(node, x, count)]


def _sum_of(node: Node, x: Interval, count: Bounds) -> Interval:
    """The sum of so many elements of one interval."""
    positive, most = bool((x.lower >= 0).all()), count.upper
    ends = _times(x.lower, x.upper, count)
    return summed(node, *ends, x.magnitude * most, most, nan=x.nan, positive=positive)


def _mean(node: Node, x: Interval, count: int) -> Interval:
    """A sum of up to so many elements, divided by their number."""
    positive, total = bool((x.lower >= 0).all()), _sum_of(node, x, Bounds(count, count))
    if total.infinite:
        return total
    found = rounded(node, total.lower / count, total.upper / count, nan=total.nan)
    return found.at_least(0) if positive else found


def _spectrum(node: Node) -> Sequence[Interval]:
    """STFT: sums of products of a frame with a window and with numbers from -1 to 1."""
    x = operand(node, 0).uniform
    require(not x.infinite, "an operand may be infinite")
    if node.given(2):
        window = finite_weights(node.weights(2))
        length, largest = window.size, float(np.abs(window).sum(dtype=np.float64))
    else:
        (length,) = node.integers(3)
        largest = float(length)
    # A number of the signal may have two parts.
    total = 2 * largest * x.magnitude
    return [summed(node, -total, total, total, _OF_TRANSFORMS * length, nan=x.nan)]


_OF_TRANSFORMS = 8
"""How many times as much as sums are transforms of any length allowed to be away."""


def _pooled(node: Node) -> Sequence[Interval | None]:
    """The largest elements of windows; a kernel may skip NaN, and take a number for none."""
    x = operand(node, 0)
    if x.nan:
        return [Interval.of(-math.inf, math.inf, nan=True), None]
    rank = len(node.shape(0))
    return [x.along(range(2, rank), rank), None]


def _total(node: Node) -> Sequence[Interval]:
    """ReduceSum, ReduceMean, ReduceL1, ReduceSumSquare and ReduceL2."""
    x, (axes, rank) = operand(node, 0), reduced_axes(node)
    if node.op_type in {"ReduceL1", "ReduceL2", "ReduceSumSquare"}:
        x = Interval(np.zeros_like(x.magnitude), x.magnitude, x.nan)
    if node.op_type in {"ReduceL2", "ReduceSumSquare"}:
        with np.errstate(over="ignore"):
            x = Interval(x.lower, x.upper**2, x.nan)
    x = x.along(axes, rank)
    positive = bool((x.lower >= 0).all())
    try:
        count = element_count(node, 0, axes)
    except Rejected:
        require(positive, "how much is summed is not known")
        empty = node.op_type == "ReduceMean"
        return [Interval.of(0, math.inf, nan=x.nan or empty)]
    if node.op_type == "ReduceMean":
        return [_without(node, _mean(node, x, count.upper), axes)]
    found = _sum_of(node, x, count)
    if node.op_type == "ReduceSum":
        found = found.at_least(least_sum(node))
    if node.op_type == "ReduceL2":
        found = rounded(node, np.sqrt(found.lower), np.sqrt(found.upper), nan=found.nan)
        found = found.at_least(0)
    return [_without(node, found, axes)]


def _without(node: Node, x: Interval, axes: Sequence[int]) -> Interval:
    """An interval along the axes that remain."""
    if node.attribute("keepdims", 1) or x.lower.ndim == 0:
        return x
    gone = tuple(axes)
    return Interval(x.lower.squeeze(gone), x.upper.squeeze(gone), x.nan)


def _extreme(node: Node) -> Sequence[Interval]:
    """ReduceMax and ReduceMin; a kernel may drop NaN."""
    x, (axes, rank) = operand(node, 0), reduced_axes(node)
    element_count(node, 0, axes)
    x = x.along(axes, rank)
    if x.nan:
        return [Interval.of(-math.inf, math.inf, nan=True)]
    return [_without(node, x, axes)]


SUMS: Mapping[str, IntervalRule] = {
    "AveragePool": _averaged,
    "Conv": _convolved,
    "ConvTranspose": _convolved_back,
    "Gemm": _general_product,
    "GlobalAveragePool": _averaged,
    "GlobalMaxPool": _pooled,
    "MatMul": _matrix_product,
    "MaxPool": _pooled,
    "ReduceL1": _total,
    "ReduceL2": _total,
    "ReduceMax": _extreme,
    "ReduceMean": _total,
    "ReduceMin": _extreme,
    "ReduceSum": _total,
    "ReduceSumSquare": _total,
    "STFT": _spectrum,
}
"""The operators that sum or compare many elements by name."""
