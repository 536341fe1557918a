"""Bounds of the rounding errors of sums of products, whatever the order of summation.

With u the unit roundoff and n roundings on the longest way, what is computed is away from the exact
sum by at most gamma = n u / (1 - n u) times the sum of the magnitudes of all summands. A product
that underflows adds half the smallest subnormal number at most.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS, add_floats, square_root_of_float
from sonnx_ort.oracle.elements import Attributes, exact_elements
from sonnx_ort.oracle.numbers import BinaryFormat, Kind, Number, finite, power_of_two
from sonnx_ort.oracle.tensors import exact_epsilon
from sonnx_ort.profile.element_type import ElementType

Array = npt.NDArray[Any]

_ROUNDINGS_OF_A_NORMALIZATION = 8
"""Those of a sum, a root, a reciprocal, two factors and two sums, and one to spare."""


@dataclass(frozen=True, slots=True)
class Margin:
    """How far a result may be from the exact one.

    Attributes:
        value: The exact result; None where an operand is no number, so that there is no margin.
        error: The bound of the error.
        reach: The bound of all magnitudes on the way.
    """

    value: Fraction | None
    error: Fraction = Fraction(0)
    reach: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Margins:
    """The margins of all elements of a result, in row-major order.

    Attributes:
        elements: The margins.
        format: The format of the result.
    """

    elements: tuple[Margin, ...]
    format: BinaryFormat

    @property
    def ends(self) -> tuple[list[Number], list[Number]]:
        """The smallest and the largest results, not yet rounded."""
        lower = [_number((m.value or Fraction(0)) - m.error) for m in self.elements]
        upper = [_number((m.value or Fraction(0)) + m.error) for m in self.elements]
        return lower, upper

    @property
    def exact(self) -> list[bool]:
        """Which results have no margin."""
        return [margin.value is None for margin in self.elements]

    @property
    def beyond(self) -> list[bool]:
        """Of which results something on the way may be beyond the format."""
        limit = power_of_two(self.format.largest_exponent)
        return [margin.reach >= limit for margin in self.elements]


def product_margins(a: Array, b: Array, element_type: ElementType) -> Margins:
    """Those of a product of matrices.

    Args:
        a: The one matrix.
        b: The other one.
        element_type: The type of both, and of the result.
    """
    binary = FLOAT_FORMATS[element_type]
    rows, columns = exact_elements(a, element_type), exact_elements(b, element_type)
    tiny, gamma = _half_a_subnormal(binary), _gamma(a.shape[1], binary)

    def margin(row: Any, column: Any) -> Margin:
        if not _all_finite([*row, *column]):
            return Margin(None, reach=_reach_of_products(row, column))
        products = [x.value * y.value for x, y in zip(row, column, strict=True)]
        sum_of_magnitudes = sum(map(abs, products), Fraction(0))
        error = gamma * sum_of_magnitudes + 2 * len(products) * tiny
        return Margin(sum(products, Fraction(0)), error, sum_of_magnitudes + error)

    indexes = np.ndindex(a.shape[0], b.shape[1])
    return Margins(tuple(margin(rows[i], columns[:, j]) for i, j in indexes), binary)


def normalization_margins(
    x: Array, vectors: Sequence[Array], element_type: ElementType, attributes: Attributes
) -> Margins:
    """Those of a BatchNormalization, in whatever order it scales, shifts and subtracts.

    Args:
        x: The tensor, whose second axis is that of the channels.
        vectors: The scale, shift, mean and variance of each channel.
        element_type: The type of all, and of the result.
        attributes: The attributes of the node.
    """
    binary, epsilon = FLOAT_FORMATS[element_type], exact_epsilon(attributes)
    elements = exact_elements(x, element_type)
    channels = list(zip(*(exact_elements(v, element_type) for v in vectors), strict=True))
    margins = [
        _normalization_margin(elements.item(*index), channels[index[1]], epsilon, binary)
        for index in np.ndindex(x.shape)
    ]
    return Margins(tuple(margins), binary)


def _normalization_margin(
    x: Number, channel: Sequence[Number], epsilon: Number, binary: BinaryFormat
) -> Margin:
    scale, shift, mean, variance = channel
    deviation = square_root_of_float(add_floats(variance, epsilon))
    # Infinities have a magnitude of zero here: what is reached is that of numbers alone.
    factor = Fraction(0) if deviation.magnitude == 0 else scale.magnitude / deviation.magnitude
    distance, tiny = x.magnitude + mean.magnitude, _half_a_subnormal(binary)
    summands = factor * distance + shift.magnitude
    underflow = 2 * tiny * (distance + scale.magnitude + 4)
    error = _gamma(_ROUNDINGS_OF_A_NORMALIZATION, binary) * summands + underflow
    on_the_way = (scale.magnitude * distance, factor, distance, variance.magnitude)
    reach = max(summands + error, *on_the_way)
    if scale.kind is Kind.INFINITE:
        # Scaled before they are subtracted, element and mean may both be infinite.
        return Margin(None, reach=power_of_two(binary.largest_exponent))
    if not _all_finite([x, *channel]) or deviation.is_zero:
        return Margin(None, reach=reach)
    value = scale.value * (x.value - mean.value) / deviation.magnitude + shift.value
    return Margin(value, error, reach)


def _reach_of_products(row: Iterable[Number], column: Iterable[Number]) -> Fraction:
    """The sum of the magnitudes of the products of numbers alone."""
    pairs = [pair for pair in zip(row, column, strict=True) if _all_finite(pair)]
    return sum((x.magnitude * y.magnitude for x, y in pairs), Fraction(0))


def _all_finite(numbers: Iterable[Number]) -> bool:
    return all(number.kind is Kind.FINITE for number in numbers)


def _gamma(roundings: int, binary: BinaryFormat) -> Fraction:
    """The relative error of so many roundings."""
    error = roundings * power_of_two(-binary.precision)
    return error / (1 - error)


def _half_a_subnormal(binary: BinaryFormat) -> Fraction:
    return power_of_two(binary.smallest_exponent - binary.precision)


def _number(value: Fraction) -> Number:
    return finite(abs(value), negative=value < 0)
