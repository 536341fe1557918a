"""BatchNormalization and Clip.

Sources: the drafts of the working group, section "Informal specification" of each, on reals and on
floats, and ONNX for bounds of one element, and types of a
BatchNormalization that differ.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import (
    add_floats,
    divide_floats,
    multiply_floats,
    square_root_of_float,
    subtract_floats,
)
from sonnx_ort.oracle.elements import encoded_elements
from sonnx_ort.oracle.enclosure import half_a_subnormal, relative_error
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import BinaryFormat, Kind, Number, power_of_two, precedes, upper_bound
from sonnx_ort.oracle.results import (
    UNDEFINED,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
    point,
    tensor,
)

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
        ValueError: The node is for training, or has statistics for each element.
    """
    if node.integer("training_mode", 0) or not node.integer("spatial", 1):
        raise ValueError("BatchNormalization has a meaning here for inference by channels alone")
    x, vectors = node.exact(), [node.exact(place) for place in range(1, 5)]
    count = x.shape[1] if x.ndim > 1 else 1
    if any(vector.shape != (count,) for vector in vectors):
        raise NotDefinedError(f"operands do not have one element for each of {count} channels")
    binary = node.format()
    if binary is None:
        raise ValueError("BatchNormalization has no meaning over the reals here")
    epsilon = node.factor("epsilon", 1e-5)
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


def clip(node: Node) -> tuple[Elements | Result, ...]:
    """Clip: min(upper, max(lower, element)), for the bounds that are present.

    A NaN element stays NaN. Before version 11 bounds are attributes.

    Raises:
        NotDefinedError: A bound has not one element, or is NaN.
    """
    x, element_type = node.exact(), node.common_type(0, 1, 2)
    lowest, highest = (_bound(node, *named) for named in ((1, "min"), (2, "max")))

    def clipped(element: Any) -> Any:
        if lowest is not None and precedes(element, lowest):
            element = lowest
        return highest if highest is not None and precedes(highest, element) else element

    flat = [clipped(element) for element in x.ravel().tolist()]
    if element_type is not None and node.is_of_integers():
        return (exactly(encoded_elements(flat, element_type).reshape(x.shape)),)
    return (Elements(tensor(map(point, flat), x.shape), element_type),)


def _bound(node: Node, place: int, name: str) -> Any:
    if node.version < 11:
        bound = node.factor(name, 0.0) if name in node.attributes else None
    elif node.optional(place) is None:
        bound = None
    else:
        elements = node.exact(place)
        if elements.size != 1:
            raise NotDefinedError(f"{name} of shape {elements.shape} has not one element")
        bound = elements.item()
    if getattr(bound, "kind", None) is Kind.NAN:
        raise NotDefinedError(f"{name} is NaN")
    return bound
