"""Intervals of layers of networks, and the operators whose float results have intervals.

The layers are normalization, shares and recurrence. Each rule is tested against the kernels of ONNX
Runtime: `tests/soundness/test_interval_rules.py`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from .catalog import require_verified
from .interval_functions import FUNCTIONS, IntervalRule
from .interval_layout import LAYOUT
from .interval_sums import SUMS, finite_weights
from .intervals import element_count, float_attribute, hull, operand, rounded, summed
from .node import FLOATS, Node
from .sizes import Interval, bounds_of_size, from_the_front, require


def _normalized_by_constants(node: Node) -> Sequence[Interval]:
    """BatchNormalization of inference: (x - mean) / sqrt(variance + epsilon) * scale + bias."""
    x, rank = operand(node, 0), len(node.shape(0))
    require(not x.infinite, "an operand may be infinite")
    scale, bias, mean, variance = (
        finite_weights(node.weights(index)).astype(np.float64) for index in range(1, 5)
    )
    spread = variance + float_attribute(node, "epsilon", 1e-5)
    require((spread > 0).all(), "a variance is not positive")
    shape = (1, -1, *[1] * (rank - 2)) if rank > 1 else (-1,)
    factor = finite_weights((scale / np.sqrt(spread)).reshape(shape))
    shift = bias.reshape(shape) - mean.reshape(shape) * factor
    if x.lower.ndim != rank:
        x = x.uniform
    ends = x.lower * factor, x.upper * factor
    total = x.magnitude * np.abs(factor) + np.abs(mean.reshape(shape) * factor)
    total = total + np.abs(bias.reshape(shape))
    return [
        summed(
            node,
            np.minimum(*ends) + shift,
            np.maximum(*ends) + shift,
            total,
            _OF_NORMALIZATION,
            nan=x.nan,
        )
    ]


_OF_NORMALIZATION = 8
"""How often a normalization rounds, at most."""


def _shares(node: Node) -> Sequence[Interval]:
    """Softmax: from 0 to 1; with infinite operands NaN."""
    x = operand(node, 0)
    found = rounded(node, np.asarray(0.0), np.asarray(1.0), nan=x.nan or x.infinite)
    return [Interval(0 * found.upper, found.upper, found.nan)]


def _logarithms_of_shares(node: Node) -> Sequence[Interval]:
    x, rank = operand(node, 0), len(node.shape(0))
    if x.infinite:
        return [Interval.of(-math.inf, math.inf, nan=True)]
    first = from_the_front(node.attribute("axis", -1 if node.version >= 13 else 1), rank)
    axes = [first] if node.version >= 13 else range(first, rank)
    spread = (x.whole.upper - x.whole.lower) + math.log(element_count(node, 0, axes).upper)
    return [rounded(node, np.asarray(-spread), np.asarray(0.0), nan=x.nan, error=1e-3)]


def _recurrent(node: Node) -> Sequence[Interval | None]:
    """LSTM and GRU with their own functions: states are products of shares and of tangents."""
    plain = node.attribute("activations") is None and not node.given(7)
    require(plain, "its functions are not verified")
    x, hidden = operand(node, 0).uniform, node.attribute("hidden_size")
    require(not x.infinite, "an operand may be infinite")
    start = operand(node, 5).uniform if node.given(5) else Interval.of(0, 0)
    state = hull([start, Interval.of(-1, 1)]).uniform
    largest = float(state.magnitude) * (1 + _OF_GATES)
    state = Interval.of(-largest, largest, nan=x.nan or state.nan)
    reached = float(x.magnitude) * _largest_sum(node, 1) + largest * _largest_sum(node, 2)
    if node.given(3):
        bias = operand(node, 3)
        require(not bias.nan, "a bias may be NaN")
        reached += 2 * float(bias.magnitude.max())
    require(hidden and reached * (1 + _OF_GATES) < _LARGEST_GATE, "a gate may be infinite")
    cell = operand(node, 6).uniform if node.given(6) else Interval.of(0, 0)
    require(not cell.infinite, "the cell may be infinite")
    steps = bounds_of_size(node.shape(0)[0])
    count = _MOST_STEPS + 1 if steps is None else steps.upper
    if node.op_type == "GRU":
        require(count <= _MOST_STEPS, "it has too many steps")
        return [state] * node.results
    if count > _MOST_STEPS:
        return [state, state, None][: node.results]
    content = (float(cell.magnitude) + count) * (1 + _OF_GATES)
    cells = Interval.of(-content, content, nan=state.nan or cell.nan)
    return [state, state, cells][: node.results]


def _largest_sum(node: Node, index: int) -> float:
    """The largest sum of magnitudes along the last of three axes of an operand."""
    weights = node.weights(index)
    if weights is not None:
        return float(np.abs(finite_weights(weights)).sum(axis=2, dtype=np.float64).max())
    x = operand(node, index)
    require(not x.nan, "a weight may be NaN")
    return float(x.magnitude.max()) * element_count(node, index, [2]).upper


_OF_GATES = 2.0**-7
"""How far states may be away from exact ones, as a share."""

_LARGEST_GATE = 1e30
_MOST_STEPS = 1 << 14


LAYERS: Mapping[str, IntervalRule] = {
    "BatchNormalization": _normalized_by_constants,
    "GRU": _recurrent,
    "LSTM": _recurrent,
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
