"""BatchNormalization, and of balls LayerNormalization.

Source: the draft of the working group of BatchNormalization, sections on reals and on floats; of
types that differ, and LayerNormalization, ONNX.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.functions import size, square_root
from sonnx_ort.meaning.lines import Lines, Numbers, of_arrays
from sonnx_ort.meaning.node import BallNode, Node, mapped
from sonnx_ort.meaning.numbers import (
    Array,
    Kind,
    Number,
)
from sonnx_ort.meaning.results import (
    OPEN,
    UNDEFINED,
    Elements,
    NotDefinedError,
)

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
    scale, shift, mean, variance = (_of_channels(vector, x.ndim) for vector in vectors)
    deviation = mapped(lambda each: _deviation(each, epsilon), variance)
    normalized = mapped(
        lambda *each: _normalized(node, *each), x, scale, shift, mean, variance, deviation
    )
    reason = "the operands break BatchNormalization.C3"
    return (Elements(normalized, node.element_type(), _NORMALIZED, reason),)


def _of_channels(vector: Array, rank: int) -> Array:
    """What has an element for each channel, the second axis of X, in a shape that is broadcast."""
    return vector.reshape([-1, *[1] * (rank - 2)] if rank else [])


def lines_of_normalization(node: Node, operands: Numbers) -> Lines:
    """Lines of one element of X, which is the only one of its channel, and what that has."""
    x, *vectors = of_arrays(operands)
    spread = (np.broadcast_to(_of_channels(each, x.ndim), x.shape) for each in vectors)

    def form(read: Numbers) -> tuple[Mapping[str, Any], Numbers]:
        elements, *of_channels = of_arrays(read)
        return node.attributes, [elements[np.newaxis], *of_channels]

    return Lines(x.shape, [x, *spread], {}, (1, -1), together=True, form=form)


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
