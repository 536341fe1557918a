"""Intervals of operators that reorder, select or repeat elements, and of layers of networks.

The layers are normalization and shares. At the end stand all operators whose float
results have intervals. Each rule is tested against the kernels of ONNX Runtime:
`tests/soundness/test_interval_rules.py`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from .arithmetic import SLACK, Terms
from .bounds import require_counted
from .catalog import MOVING, require_verified
from .interval_functions import FUNCTIONS, ONE, ZERO, IntervalRule
from .interval_recurrent import gated_unit, long_short_term_memory
from .interval_sums import SUMS
from .intervals import element_count, float_attribute, format_of, hull, of_elements, operand
from .layout import require_filled, require_written
from .node import FLOATS, Node
from .ranges import ANYTHING, Interval
from .sizes import Rejected, from_the_front, require


def _rank(node: Node, index: int = 0) -> int | None:
    shape = node.known_shape(index)
    return None if shape is None else len(shape)


def _moved(node: Node) -> Sequence[Interval]:
    """Results that have only elements of the first operand, anywhere."""
    return [operand(node, 0).uniform] * node.results


def _selected(node: Node) -> Sequence[Interval]:
    require_counted(node)
    return _moved(node)


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
    require_written(node)
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
    require_filled(node)
    x = operand(node, 0).uniform
    if node.attribute("mode", "constant") != "constant":
        return [x]
    if node.given(2):
        value = operand(node, 2).uniform
    else:
        value = float_attribute(node, "value", 0.0) if node.version < 11 else ZERO
    return [hull([x, value])]


def _with_others(*indices: int) -> IntervalRule:
    """Elements of several operands, and nothing else."""

    def rule(node: Node) -> Sequence[Interval]:
        require(node.attribute("reduction", "none") == "none", "it reduces")
        return [hull([operand(node, index).uniform for index in indices])]

    return rule


def _filled(node: Node) -> Sequence[Interval | None]:
    format_of(node)
    value = node.tensor("value")
    return [ZERO if value is None else of_elements(value)]


def _counted(node: Node) -> Sequence[Interval]:
    """Range by steps above 0: from the start to the limit, each a sum of those before it."""
    start, limit, step = (operand(node, index).whole for index in range(3))
    require(start.finite and limit.finite and step.finite and step.lower > 0, "it is not bounded")
    kind, spread = format_of(node), max(limit.upper - start.lower, 0.0)
    require(spread < kind.largest / 2, "it is counted by a difference that may be infinite")
    largest = max(*map(abs, (start.lower, start.upper, limit.lower, limit.upper)), step.upper)
    error = SLACK * (spread / step.lower + 2) * kind.unit * largest
    upper = max(start.upper, limit.upper)
    return [kind.rounded(np.asarray(start.lower), np.asarray(upper), error=error)]


def _resized(node: Node) -> Sequence[Interval]:
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


LAYOUT: Mapping[str, IntervalRule] = {
    **dict.fromkeys(MOVING, _moved),
    "Compress": _selected,
    "Concat": _joined,
    "ConstantOfShape": _filled,
    "Identity": lambda node: [operand(node, 0)],
    "Pad": _padded,
    "Range": _counted,
    "Resize": _resized,
    "ScatterElements": _with_others(0, 2),
    "ScatterND": _with_others(0, 2),
    "Slice": _sliced,
    "Split": _taken,
    "Transpose": _transposed,
    "Trilu": lambda node: [hull([operand(node, 0).uniform, ZERO])],
}
"""The operators that move elements by name."""


def _normalized_by_constants(node: Node) -> Sequence[Interval]:
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


def _shares(node: Node) -> Sequence[Interval]:
    """Softmax: from 0 to 1; with infinite operands NaN."""
    nan = operand(node, 0).infinite
    return [format_of(node).rounded(np.asarray(0.0), np.asarray(1.0), nan=nan).at_least(0)]


def _logarithms_of_shares(node: Node) -> Sequence[Interval]:
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


LAYERS: Mapping[str, IntervalRule] = {
    "BatchNormalization": _normalized_by_constants,
    "GRU": gated_unit,
    "LSTM": long_short_term_memory,
    "LogSoftmax": _logarithms_of_shares,
    "Softmax": _shares,
}
"""The layers by name."""


INTERVAL_RULES: Mapping[str, IntervalRule] = {**FUNCTIONS, **LAYERS, **LAYOUT, **SUMS}
"""The rules by standard operator."""


def intervals_of(node: Node) -> Sequence[Interval | None]:
    """The intervals of a node's float results; None for one of which nothing is known.

    Raises:
        Rejected: Nothing is known of any.
    """
    require(node.op_type in INTERVAL_RULES, f"the interval of a {node.op_type} has no rule")
    require_verified(node)
    kinds = [node.result_type(place) for place in range(node.results)]
    require(any(kind in FLOATS for kind in kinds), "no result is a float")
    found = INTERVAL_RULES[node.op_type](node)
    return [
        each if kind in FLOATS and each is not None and each.whole.says_something else None
        for each, kind in zip(found, kinds, strict=False)
    ]
