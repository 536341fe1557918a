"""Intervals of sums: products of matrices, convolutions, pooling and reductions.

A sum of products with constants is bounded by the constants: those above 0 and those below 0 are
summed apart. `Format.total` widens it by what rounding can do in any order of the terms.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import Terms
from .interval_functions import ZERO
from .intervals import element_count, float_attribute, format_of, hull, least_sum, operand
from .node import Node, reduced_axes
from .ranges import ANYTHING, Ends, Interval
from .sizes import Bounds, Rejected, bounds_of_size, reach, require

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
    """Constants of which no product of two overflows; a sum of none is not what is bounded.

    Raises:
        Rejected: They are not known, there are none, or one is NaN or too large.
    """
    if weights is None:
        raise Rejected("the weights are not constant")
    require(weights.size, "there are no weights")
    require(float(np.abs(weights).max()) <= _LARGEST_WEIGHT, "a weight is NaN or too large")
    return weights


_LARGEST_WEIGHT = 1e18
_MATRIX = 2


def _terms_of_matrices(node: Node) -> Terms:
    """The products that a MatMul or a Gemm adds, without C."""
    a, b, rank = operand(node, 0), operand(node, 1), len(node.shape(0))
    turned = [bool(node.attribute(name, 0)) for name in ("transA", "transB")]
    axis = 0 if turned[0] else rank - 1
    weights = node.weights(1)
    if weights is not None and weights.ndim == _MATRIX and not a.infinite:
        kept = a.along([each for each in range(rank) if each != axis], rank)
        if turned[0] and kept.lower.ndim == _MATRIX:
            kept = Interval(kept.lower.T, kept.upper.T, kept.nan)
        return _by_weights(kept, finite_weights(weights if turned[1] else weights.T))
    weights = node.weights(0)
    if weights is not None and weights.ndim == _MATRIX and not b.infinite:
        found = _by_weights(b.uniform, finite_weights(weights.T if turned[0] else weights))
        # Outputs are rows here.
        return Terms(
            found.lower.min(),
            found.upper.max(),
            found.magnitude.max(),
            found.count,
            found.nan,
            found.positive,
        )
    return _any_product(a, b, element_count(node, 0, [axis]))


def _by_weights(x: Interval, weights: Array) -> Terms:
    """Products with a matrix of (outputs, inputs)."""
    if x.lower.ndim == 0:
        positive, negative = (each[:, None] for each in _signed_sums(weights, (1,)))
    else:
        positive = np.maximum(weights, 0).astype(np.float64)
        negative = np.minimum(weights, 0).astype(np.float64)
    natural = bool((weights >= 0).all() and (x.lower >= 0).all())
    return Terms(*_weighted(x, positive, negative), weights.shape[1], x.nan, natural)


def _any_product(a: Interval, b: Interval, count: Bounds) -> Terms:
    """Sums of products of two intervals."""
    one, other = a.whole, b.whole
    corners = [x * y for x in (one.lower, one.upper) for y in (other.lower, other.upper)]
    require(all(map(math.isfinite, corners)), "an operand may be infinite")
    return _repeated(Interval.of(min(corners), max(corners), nan=a.nan or b.nan), count)


def _repeated(x: Interval, count: Bounds) -> Terms:
    """So many numbers of one interval."""
    with np.errstate(over="ignore"):
        lower = np.minimum(x.lower * count.lower, x.lower * count.upper)
        upper = np.maximum(x.upper * count.lower, x.upper * count.upper)
        magnitude = x.magnitude * count.upper
    return Terms(lower, upper, magnitude, count.upper, x.nan, bool((x.lower >= 0).all()))


def matrix_product(node: Node) -> Sequence[Interval]:
    """MatMul: sums of products."""
    return [format_of(node).total(_terms_of_matrices(node))]


def general_product(node: Node) -> Sequence[Interval]:
    """Alpha * A * B + beta * C, which is added to C block by block."""
    kind, terms = format_of(node), _terms_of_matrices(node)
    alpha, beta = (float_attribute(node, name, 1.0) for name in ("alpha", "beta"))
    if alpha.lower != 1 or alpha.upper != 1:
        terms = terms.scaled(alpha)
    if node.given(2):
        c = operand(node, 2)
        terms = terms.with_term(c if beta.lower == beta.upper == 1 else kind.product(beta, c))
    return [kind.total(terms)]


def convolved(node: Node) -> Sequence[Interval]:
    """Conv: sums of products per output channel, and a bias."""
    return [format_of(node).total(_with_bias(node, _terms_of_windows(node)))]


def _terms_of_windows(node: Node) -> Terms:
    """The products that a Conv adds, per output channel; padding may add zeros to any window."""
    x, weights, rank = _per_channel(node), node.weights(1), len(node.shape(0))
    if any(node.attribute("pads") or ()) or node.attribute("auto_pad", "NOTSET") != "NOTSET":
        x = hull([x, ZERO], rank=x.lower.ndim)
    if weights is None:
        return _any_product(x, operand(node, 1), element_count(node, 1, range(1, rank)))
    parts = _weighted_groups(node, x, finite_weights(weights), weights.shape[1])
    return _per_output(parts, math.prod(weights.shape[1:]), x, rank)


def convolved_back(node: Node) -> Sequence[Interval]:
    """ConvTranspose: each output is a sum of some products, and of all of them at most.

    Kernels up to 1.26 leave memory unwritten where an output is larger than what is summed into.
    """
    added = node.attribute("output_padding", ())
    strides = node.attribute("strides") or [1] * len(added)
    within = all(more < stride for more, stride in zip(added, strides, strict=False))
    require(within, "more may be added to the output than a step")
    require(not node.attribute("output_shape"), "the size of the output is given")
    x = hull([_per_channel(node), ZERO], rank=1)
    weights = finite_weights(node.weights(1))
    inputs = weights.shape[0] // node.attribute("group", 1)
    parts = _weighted_groups(node, x, weights, inputs, back=True)
    terms = _per_output(parts, inputs * math.prod(weights.shape[2:]), x, weights.ndim)
    return [format_of(node).total(_with_bias(node, terms))]


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
    parts: Sequence[tuple[Ends, Ends, Ends]], count: int, x: Interval, rank: int
) -> Terms:
    shape = (1, -1, *[1] * (rank - 2))
    least, most, total = (np.concatenate(each).reshape(shape) for each in zip(*parts, strict=True))
    return Terms(least, most, total, count, x.nan)


def _with_bias(node: Node, terms: Terms) -> Terms:
    if not node.given(2):
        return terms
    bias, shape = operand(node, 2), (1, -1, *[1] * (len(node.shape(0)) - 2))
    if bias.lower.ndim == 1:
        bias = Interval(bias.lower.reshape(shape), bias.upper.reshape(shape), bias.nan)
    return terms.with_term(bias)


def added(node: Node) -> Sequence[Interval]:
    """Add, Sum and Mean; a sum may be computed with the products of an operand, as one sum."""
    kind, count = format_of(node), node.operands
    operands = [operand(node, index) for index in range(count)]
    found = operands[0]
    for each in operands[1:]:
        found = kind.sum(found, each)
    if count == _PAIR and node.op_type != "Mean":
        for index, other in ((0, operands[1]), (1, operands[0])):
            found = _with_products(node, index, found, other)
    if count > _PAIR:
        # In another order a partial sum may be infinite.
        largest = np.asarray(sum(float(each.magnitude.max()) for each in operands))
        within = bool(largest * (1 + kind.share(count)) <= kind.largest)
        found = found if within else ANYTHING
    return [kind.quotient(found, Interval.of(count, count)) if node.op_type == "Mean" else found]


_PAIR = 2


def _with_products(node: Node, index: int, found: Interval, other: Interval) -> Interval:
    """A sum that a kernel may compute block by block with the products that an operand adds.

    MatMul and Add become a Gemm, and a Conv adds to what is beside it. What stands between is
    moved or left out.
    """
    source, scale = node.source(index), 1.0
    while source is not None and source.op_type in _LOOKED_THROUGH:
        place = 0
        if source.op_type == "Mul":
            factors = [operand(source, each).whole for each in (0, 1)]
            constants = [each.lower == each.upper for each in factors]
            if True not in constants:
                return found
            place = constants.index(False) if False in constants else 0
            scale *= abs(factors[1 - place].lower)
        source = source.source(place)
    if source is not None and source.op_type == "If":
        # A session takes a branch out of an If whose condition is constant.
        return ANYTHING
    if source is None or source.op_type not in _TERMS:
        return found
    kind = format_of(node)
    for terms_of in (_largest_terms, _TERMS[source.op_type]):
        try:
            terms = terms_of(source)
        except Rejected:
            continue
        largest = float(terms.magnitude.max()) * scale + float(other.magnitude.max())
        share = kind.share(terms.count + 1)
        if largest * (1 + share) <= kind.largest:
            return kind.rounded(
                found.lower, found.upper, nan=found.nan, error=share * other.magnitude
            )
    return ANYTHING


_LOOKED_THROUGH = {
    *("Cast", "Dropout", "Expand", "Flatten", "Identity", "Mul", "Pad", "Reshape", "Slice"),
    *("Squeeze", "Transpose", "Unsqueeze"),
}


def _largest_terms(node: Node) -> Terms:
    """As many terms as a Conv, a Gemm or a MatMul adds, of the largest magnitude."""
    rank = len(node.shape(0))
    if node.op_type == "Conv":
        count = element_count(node, 1, range(1, rank))
    else:
        count = element_count(node, 0, [0 if node.attribute("transA", 0) else rank - 1])
    return _any_product(operand(node, 0), operand(node, 1), count)


_TERMS: Mapping[str, Callable[[Node], Terms]] = {
    "Conv": _terms_of_windows,
    "Gemm": _terms_of_matrices,
    "MatMul": _terms_of_matrices,
}
"""What the operators add that may be computed with a sum of their results."""


def averaged(node: Node) -> Sequence[Interval]:
    """AveragePool and GlobalAveragePool: means of the elements of windows, and of padding."""
    x, kernel = operand(node, 0).uniform, node.attribute("kernel_shape")
    if kernel:
        count = math.prod(kernel)
    else:
        count = element_count(node, 0, range(2, len(node.shape(0)))).upper
    empty = not _windows_have_elements(node)
    if node.attribute("count_include_pad", 0) or empty:
        x = hull([x, ZERO])
    found = _mean(node, x, count)
    # No elements have no mean.
    return [Interval(found.lower, found.upper, found.nan or empty)]


def _windows_have_elements(node: Node) -> bool:
    """Whether certainly no window of a pooling lies in padding alone.

    Kernels refuse an empty image. A window starts less than one stride after the last that fits,
    and `auto_pad` adds less than a window reaches. A dilated window may step over the image.
    """
    kernel = node.attribute("kernel_shape")
    if not kernel:
        return True
    rank = len(kernel)
    strides = node.attribute("strides") or [1] * rank
    dilations = node.attribute("dilations") or [1] * rank
    pads = node.attribute("pads") or [0] * 2 * rank
    spatial, ceil = node.shape(0)[2:], node.attribute("ceil_mode", 0)
    automatic = node.attribute("auto_pad", "NOTSET") in {"SAME_UPPER", "SAME_LOWER"}
    fits = len(spatial) == len(strides) == len(dilations) == len(pads) / 2 == rank
    require(fits and not (automatic and (ceil or any(pads))), "its attributes are not known")
    for axis, size in enumerate(spatial):
        extent, known = reach(kernel[axis], dilations[axis]), bounds_of_size(size)
        padded = automatic or pads[axis] > 0 or pads[axis + rank] > 0 or ceil
        after = pads[axis + rank] + (strides[axis] - 1 if ceil else 0)
        lands = dilations[axis] == 1 or (known is not None and known.lower >= dilations[axis])
        if padded and not (lands and pads[axis] < extent and after < extent):
            return False
    return True


def _mean(node: Node, x: Interval, count: int) -> Interval:
    """A sum of up to so many elements, divided by their number."""
    kind = format_of(node)
    total = kind.total(_repeated(x, Bounds(count, count)))
    if total.infinite:
        return total
    found = kind.rounded(total.lower / count, total.upper / count, nan=total.nan)
    return found.at_least(0) if (x.lower >= 0).all() else found


def spectrum(node: Node) -> Sequence[Interval]:
    """STFT: sums of products of a frame with a window and with numbers from -1 to 1."""
    x, kind = operand(node, 0).uniform, format_of(node)
    require(not x.infinite, "an operand may be infinite")
    length = node.integers(3)[0] if node.given(3) else None
    largest = float(length or 0)
    if node.given(2):
        window = finite_weights(node.weights(2))
        require(length in (None, window.size), "the window has another length")
        length, largest = window.size, float(np.abs(window).sum(dtype=np.float64))
    if length is None or length < 1:
        raise Rejected("the length of frames is not known")
    # A number of the signal may have two parts. Of lengths that are no power of 2, kernels
    # multiply transforms with each other.
    with np.errstate(over="ignore"):
        total = _PARTS * largest * x.magnitude
        partial = total * _PARTS * _PARTS * length
    return [
        kind.total(Terms(-total, total, total, _OF_TRANSFORMS * length, x.nan, largest=partial))
    ]


_PARTS = 2

_OF_TRANSFORMS = 8
"""How many times as much as sums are transforms of any length allowed to be away."""


def pooled(node: Node) -> Sequence[Interval | None]:
    """The largest elements of windows; a window in padding alone has the lowest number."""
    x, rank = operand(node, 0), len(node.shape(0))
    found = x.along(range(2, rank), rank)
    if not _windows_have_elements(node):
        found = Interval(np.full_like(found.lower, -np.inf), found.upper, found.nan)
    # Kernels give the lowest finite number for the largest of negative infinities.
    upper = np.where(np.isneginf(found.upper), 0.0, found.upper)
    return [Interval(found.lower, upper, found.nan), None]


def reduced(node: Node) -> Sequence[Interval]:
    """ReduceSum, ReduceMean, ReduceL1, ReduceSumSquare and ReduceL2."""
    x, (axes, rank), kind = operand(node, 0), reduced_axes(node), format_of(node)
    if node.op_type in {"ReduceL1", "ReduceL2", "ReduceSumSquare"}:
        x = Interval(np.zeros_like(x.magnitude), x.magnitude, x.nan)
    if node.op_type in {"ReduceL2", "ReduceSumSquare"}:
        x = kind.square(x)
    x = x.along(axes, rank)
    try:
        count = element_count(node, 0, axes)
    except Rejected:
        require((x.lower >= 0).all(), "how much is summed is not known")
        empty = node.op_type == "ReduceMean"
        return [Interval.of(0, math.inf, nan=x.nan or empty)]
    if node.op_type == "ReduceMean":
        return [_without(node, _mean(node, x, count.upper), axes)]
    found = kind.total(_repeated(x, count))
    if node.op_type == "ReduceSum":
        found = found.at_least(least_sum(node))
    if node.op_type == "ReduceL2":
        found = kind.root(found)
    return [_without(node, found, axes)]


def _without(node: Node, x: Interval, axes: Sequence[int]) -> Interval:
    """An interval along the axes that remain."""
    if node.attribute("keepdims", 1) or x.lower.ndim == 0:
        return x
    gone = tuple(axes)
    return Interval(x.lower.squeeze(gone), x.upper.squeeze(gone), x.nan)


def extreme(node: Node) -> Sequence[Interval]:
    """ReduceMax and ReduceMin; of no elements they are the lowest and the largest number."""
    x, (axes, rank) = operand(node, 0), reduced_axes(node)
    element_count(node, 0, axes)
    return [_without(node, x.along(axes, rank), axes)]
