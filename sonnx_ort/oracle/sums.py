"""BatchNormalization, and of balls other normalizations, and reductions along axes.

Sources: the draft of the working group of BatchNormalization, section "Informal specification", on
reals and on floats, and ONNX for types that differ; for the others ONNX. A sum of n summands in a
format is off by at most `relative_error` of its roundings times the sum of their magnitudes, in any
order.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.balls import NotFollowedError
from sonnx_ort.oracle.functions import largest, size, square_root
from sonnx_ort.oracle.node import BallNode, Node, are_balls, mapped
from sonnx_ort.oracle.numbers import Kind, Number
from sonnx_ort.oracle.results import OPEN, UNDEFINED, Elements, NotDefinedError, tensor

Array = npt.NDArray[Any]

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
    of_balls = isinstance(node, BallNode)
    old = of_balls and node.version < 9
    if node.integer("training_mode", 0) or not node.integer("spatial", 1) or old:
        raise ValueError("BatchNormalization has a meaning here for inference by channels alone")
    x, vectors = node.exact(), [node.exact(place) for place in range(1, 5)]
    count = x.shape[1] if x.ndim > 1 else 1
    if any(vector.shape != (count,) for vector in vectors):
        raise NotDefinedError(f"operands do not have one element for each of {count} channels")
    if not of_balls and node.format() is None:
        raise ValueError("BatchNormalization has no meaning over the reals here")
    epsilon = node.factor("epsilon", 1e-5)
    along = [-1, *[1] * (x.ndim - 2)] if x.ndim else []
    scale, shift, mean, variance = (vector.reshape(along) for vector in vectors)
    deviation = mapped(lambda each: _deviation(each, epsilon), variance)
    normalized = mapped(
        lambda *each: _normalized(node, *each), x, scale, shift, mean, variance, deviation
    )
    reason = "the operands break BatchNormalization.C3"
    return (Elements(normalized, node.element_type(), _NORMALIZED, reason),)


def _deviation(variance: Any, epsilon: Any) -> Any:
    if not isinstance(variance, Number) and not variance + epsilon > 0:
        raise NotFollowedError("a variance may be 0 or negative")
    return square_root(variance + epsilon)


def _normalized(  # noqa: PLR0913, PLR0917 - the operands, and the root of one
    node: Node, x: Any, scale: Any, shift: Any, mean: Any, variance: Any, deviation: Any
) -> Any:
    """An element; not defined if the variance is negative or NaN."""
    if isinstance(x, Number) and (variance.kind is Kind.NAN or variance.below_zero):
        return UNDEFINED
    made = scale * (x - mean) / deviation + shift
    divisor = size(deviation)
    factor = Fraction(0) if divisor == 0 else size(scale) / divisor
    distance = size(x) + size(mean)
    reach = [size(scale) * distance, factor, distance, size(variance)]
    roundings = _ROUNDINGS_OF_A_NORMALIZATION
    if isinstance(scale, Number):
        if scale.kind is Kind.INFINITE:
            # If scaled before the subtraction, element and mean may both be infinite.
            return replace(OPEN, value=made)
        if not (divisor and all(each.is_finite for each in (x, shift, mean, variance))):
            roundings = 0
    return node.rounded(
        made,
        roundings,
        factor * distance + size(shift),
        reach=reach,
        underflow=2 * (distance + size(scale) + 4),
    )


def layer_normalization(node: BallNode) -> tuple[Array, ...]:
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


Reduce = Callable[[BallNode, Sequence[Any]], Any]
"""Makes one element of those along some axes."""


def reduction(compute: Reduce, since: int) -> Callable[[BallNode], tuple[Array, ...]]:
    """What computes a reduction; its axes are an attribute before a version."""

    def of_node(node: BallNode) -> tuple[Array, ...]:
        x = node.operand(0)
        axes = node.listed(1, "axes", since)
        if not axes:
            if node.integer("noop_with_empty_axes", 0):
                return (x,)
            axes = list(range(x.ndim))
        return (reduced(node, x, axes, compute),)

    return of_node


def reduced(node: BallNode, x: Array, axes: Sequence[int], compute: Reduce) -> Array:
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
    return node.rounded(made, len(line), sum(map(abs, line)))


def mean(node: BallNode, line: Sequence[Any]) -> Any:
    """The mean of some balls.

    Raises:
        NotFollowedError: There are none, or they are integers.
    """
    if not line or isinstance(line[0], int):
        raise NotFollowedError("it is the mean of nothing, or of integers")
    return node.rounded(sum(line) / len(line), len(line) + 1, sum(map(abs, line)) / len(line))


def top(_: BallNode, line: Sequence[Any]) -> Any:
    """The largest of some balls or integers.

    Raises:
        NotFollowedError: There are none.
    """
    if not line:
        raise NotFollowedError("nothing has no largest element")
    return max(line) if isinstance(line[0], int) else largest(*line)


def bottom(node: BallNode, line: Sequence[Any]) -> Any:
    """The smallest of some balls or integers.

    Raises:
        NotFollowedError: There are none.
    """
    return -top(node, [-each for each in line])


def sum_of_squares(node: BallNode, line: Sequence[Any]) -> Any:
    """The sum of the squares of some balls.

    Raises:
        NotFollowedError: They are integers.
    """
    if line and isinstance(line[0], int):
        raise NotFollowedError("it squares integers")
    return total(node, [node.rounded(each * each) for each in line])
