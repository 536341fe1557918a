"""BatchNormalization, and of balls other normalizations, sums along axes and LSTM.

Sources: the draft of the working group of BatchNormalization, section "Informal specification", on
reals and on floats, and ONNX for types that differ; for the others ONNX. A sum of n summands in a
format is off by at most `relative_error` of its roundings times the sum of their magnitudes, in any
order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.activations import softmax
from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    NotFollowedError,
    Operation,
    anything,
    are_balls,
    mapped,
)
from sonnx_ort.oracle.elements import Exact
from sonnx_ort.oracle.intervals import ball_of
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import (
    BinaryFormat,
    Kind,
    Number,
    add_floats,
    divide_floats,
    multiply_floats,
    power_of_two,
    square_root_of_float,
    subtract_floats,
    upper_bound,
)
from sonnx_ort.oracle.recurrent import lstm
from sonnx_ort.oracle.results import (
    UNDEFINED,
    Elements,
    Enclosed,
    NotDefinedError,
    half_a_subnormal,
    relative_error,
    tensor,
)

if TYPE_CHECKING:
    from flint import arb


_ROUNDINGS_OF_A_NORMALIZATION = 8
"""A sum, a root, a reciprocal, two factors, two sums, and one in reserve."""

_NORMALIZED = "8 roundings of the sum of magnitudes, for any order of scaling and shifting (ours)"


def batch_normalization(node: Node) -> tuple[Elements, ...]:
    """BatchNormalization: (element - mean) / deviation, scaled and shifted.

    The second axis of X is the channel; the other operands are scale, shift, mean and variance per
    channel. Any order of scaling, shifting and subtracting is admitted.

    Raises:
        NotDefinedError: Operands do not have one element for each channel.
        ValueError: The node is for training, or has statistics for each element, or the square of a
            deviation may be below 0.
    """
    old = isinstance(node, BallNode) and node.version < 9
    if node.integer("training_mode", 0) or not node.integer("spatial", 1) or old:
        raise ValueError("BatchNormalization has a meaning here for inference by channels alone")
    x, vectors = node.exact(), [node.exact(place) for place in range(1, 5)]
    count = x.shape[1] if x.ndim > 1 else 1
    if any(vector.shape != (count,) for vector in vectors):
        raise NotDefinedError(f"operands do not have one element for each of {count} channels")
    epsilon, binary = node.factor("epsilon", 1e-5), node.format()
    if isinstance(node, BallNode):
        return (Elements(_normalized_balls(node, vectors, epsilon), None, _NORMALIZED),)
    if binary is None:
        raise ValueError("BatchNormalization has no meaning over the reals here")
    channels = [
        _Channel(binary, scale, shift, mean, variance, _deviation(variance, epsilon))
        for scale, shift, mean, variance in zip(*(v.tolist() for v in vectors), strict=True)
    ]
    places = np.ndindex(x.shape)
    elements = [
        channels[index[1] if x.ndim > 1 else 0].normalized(each)
        for index, each in zip(places, x.ravel().tolist(), strict=True)
    ]
    reason = "the operands break BatchNormalization.C3"
    return (Elements(tensor(elements, x.shape), node.element_type(), _NORMALIZED, reason),)


def _deviation(variance: Number, epsilon: Number) -> Number:
    return square_root_of_float(add_floats(variance, epsilon))


@dataclass(frozen=True, slots=True)
class _Channel:
    """What elements of a channel are normalized with; the deviation is not yet rounded."""

    binary: BinaryFormat
    scale: Number
    shift: Number
    mean: Number
    variance: Number
    deviation: Number

    def normalized(self, x: Number) -> Enclosed:
        """An element; not defined if the variance is negative or NaN."""
        scale, shift, mean, variance = self.scale, self.shift, self.mean, self.variance
        if variance.kind is Kind.NAN or (variance.negative and not variance.is_zero):
            return UNDEFINED
        quotient = divide_floats(multiply_floats(scale, subtract_floats(x, mean)), self.deviation)
        total = add_floats(quotient, shift)
        if scale.kind is Kind.INFINITE:
            # If scaled before the subtraction, element and mean may both be infinite.
            return Enclosed(total, total, reach=power_of_two(self.binary.largest_exponent))
        # Infinities have magnitude zero here, because the reach covers finite numbers only.
        divisor = self.deviation.magnitude
        factor = upper_bound(scale.magnitude / divisor) if divisor else Fraction(0)
        distance, half_subnormal = x.magnitude + mean.magnitude, half_a_subnormal(self.binary)
        summands = factor * distance + shift.magnitude
        underflow = 2 * half_subnormal * (distance + scale.magnitude + 4)
        error = relative_error(_ROUNDINGS_OF_A_NORMALIZATION, self.binary) * summands + underflow
        on_the_way = (scale.magnitude * distance, factor, distance, variance.magnitude)
        reach = max(summands + error, *on_the_way)
        operands = (x, scale, shift, mean, variance)
        finite = divisor and all(each.kind is Kind.FINITE for each in operands)
        return Enclosed(total, total, error if finite else Fraction(0), reach)


def _normalized_balls(node: BallNode, vectors: Sequence[Exact], epsilon: "arb") -> Exact:
    x = node.operand(0)

    def of_element(x: "arb", scale: "arb", shift: "arb", mean: "arb", variance: "arb") -> "arb":
        if not variance + epsilon > 0:
            raise NotFollowedError("a variance may be 0 or negative")
        factor = scale / (variance + epsilon).sqrt()
        made = factor * (x - mean) + shift
        if node.binary is None:
            return made
        distance = abs(x) + abs(mean)
        summands = abs(factor) * distance + abs(shift)
        on_the_way = reduce(_larger, (abs(scale) * distance, abs(factor), distance, abs(variance)))
        # The roundings are those that `_Channel` counts, and one of the bound.
        amplified = 1 + distance + abs(scale)
        return node.rounded(made, 9, summands, reach=on_the_way, amplified=amplified)

    spread = (each.reshape(-1, *[1] * max(x.ndim - 2, 0)) for each in vectors)
    return mapped(of_element, x, *spread)


def _larger(a: "arb", b: "arb") -> "arb":
    return a.max(b)


def _normalize_layers(node: BallNode) -> tuple[Array, ...]:
    """LayerNormalization: to mean 0 and variance 1 along the last axes, scaled and shifted."""
    node.unbounded("LayerNormalization")
    x, axis, epsilon = node.operand(0), node.axis(-1), node.factor("epsilon", 1e-5)
    kept, scale, shift = x.shape[:axis], node.operand(1), node.optional(2)
    made = np.empty((prod(kept), prod(x.shape[axis:])), object)
    for place, line in enumerate(x.reshape(made.shape).tolist()):
        mean = sum(line) / max(1, len(line))
        centered = [each - mean for each in line]
        variance = sum(each * each for each in centered) / max(1, len(line))
        made[place] = [each / (variance + epsilon).sqrt() for each in centered]
    scaled = mapped(lambda e, factor: e * factor, made.reshape(x.shape), scale)
    return (scaled if shift is None else mapped(lambda a, b: a + b, scaled, shift),)


def _reduction(compute: Callable[[BallNode, Sequence[Any]], Any], since: int) -> Operation:
    """A reduction; its axes are an attribute before a version."""

    def of_node(node: BallNode) -> tuple[Array, ...]:
        x = node.operand(0)
        axes = node.listed(1, "axes", since)
        if not axes:
            if node.integer("noop_with_empty_axes", 0):
                return (x,)
            axes = list(range(x.ndim))
        return (reduced(node, x, axes, compute),)

    return Operation(of_node, lambda node: node.operand(0).size, exact=True)


def reduced(
    node: BallNode,
    x: Array,
    axes: Sequence[int],
    compute: Callable[[BallNode, Sequence[Any]], Any],
) -> Array:
    """What a function makes of the elements along some axes.

    Raises:
        NotFollowedError: An axis does not exist.
    """
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise NotFollowedError(f"not all of the axes {list(axes)} are in [{-x.ndim}, {x.ndim - 1}]")
    along = sorted({axis % x.ndim for axis in axes})
    kept = [k for k in range(x.ndim) if k not in along]
    lines = x.transpose(*kept, *along).reshape(prod(x.shape[k] for k in kept), -1)
    made = tensor((compute(node, line) for line in lines.tolist()), [x.shape[k] for k in kept])
    if not are_balls(x):
        made = made.astype(x.dtype)
    return np.expand_dims(made, along) if node.integer("keepdims", 1) else made


def total(node: BallNode, line: Sequence[Any]) -> Any:
    """The sum of some balls or integers."""
    made = sum(line)
    if node.binary is None or not line or isinstance(made, int):
        return made
    return node.rounded(made, len(line) + 1, sum(map(abs, line)))


def mean(node: BallNode, line: Sequence[Any]) -> Any:
    """The mean of some balls.

    Raises:
        NotFollowedError: There are none, or they are integers.
    """
    if not line or isinstance(line[0], int):
        raise NotFollowedError("it is the mean of nothing, or of integers")
    return node.rounded(sum(line) / len(line), len(line) + 2, sum(map(abs, line)) / len(line))


def _top(_: BallNode, line: Sequence[Any]) -> Any:
    if not line:
        raise NotFollowedError("nothing has no largest element")
    return max(line) if isinstance(line[0], int) else reduce(_larger, line)


def _bottom(node: BallNode, line: Sequence[Any]) -> Any:
    return -_top(node, [-each for each in line])


def _sum_of_squares(node: BallNode, line: Sequence[Any]) -> Any:
    if line and isinstance(line[0], int):
        raise NotFollowedError("it squares integers")
    return total(node, [node.rounded(each * each) for each in line])


def _lstm(node: BallNode) -> tuple[Array, ...]:
    """LSTM: what `recurrent` encloses; what is behind the end of a sequence is anything."""

    def around(enclosed: Enclosed) -> "arb":
        if enclosed.ends is None:
            return anything()
        lower, upper = enclosed.ends
        made = ball_of(lower - enclosed.error).union(ball_of(upper + enclosed.error))
        # Another rounding is that of the bound.
        return node.rounded(made, reach=ball_of(enclosed.reach))

    return tuple(
        tensor(map(around, each.elements.ravel()), each.elements.shape) for each in lstm(node)
    )


def _recurrent_multiplications(node: BallNode) -> int:
    length, batch, *_ = node.operand(0).shape
    return prod((length, batch, node.operand(1).size + node.operand(2).size))


SUMS: Mapping[str, Operation] = MappingProxyType(
    {
        "BatchNormalization": Operation(batch_normalization, lambda node: node.operand(0).size),
        "LSTM": Operation(_lstm, _recurrent_multiplications),
        "LayerNormalization": Operation(_normalize_layers, lambda node: node.operand(0).size),
        "ReduceMax": _reduction(_top, 18),
        "ReduceMean": _reduction(mean, 18),
        "ReduceMin": _reduction(_bottom, 18),
        "ReduceSum": _reduction(total, 13),
        "ReduceSumSquare": _reduction(_sum_of_squares, 18),
        "Softmax": Operation(softmax, lambda node: node.operand(0).size),
    }
)
"""Operators with sums of many elements."""
