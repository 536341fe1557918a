"""Enclosures of results that implementations may round differently.

With unit roundoff u and n roundings on the longest path, a computed sum differs from the exact one
by at most gamma = n u / (1 - n u) times the sum of the magnitudes of all summands. An underflowing
product adds at most half the smallest subnormal number.

The oracle computes exactly and rounds once. Most kernels must return exactly these bits. If a
result is irrational, or depends on the order of a sum, nearby results are admitted: within some
units in the last place, which were measured, or within a bound on the rounding errors, which is
proved for every order of summation (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
3.1).
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import (
    FLOAT_FORMATS,
    add_floats,
    square_root_of_float,
)
from sonnx_ort.oracle.domains import Violation
from sonnx_ort.oracle.elements import (
    TYPES,
    Attributes,
    Operands,
    converted,
    decoded_elements,
    encoded_elements,
    exact_elements,
)
from sonnx_ort.oracle.numbers import BinaryFormat, Kind, Number, finite, power_of_two
from sonnx_ort.oracle.operators import NO_ATTRIBUTES, outcome
from sonnx_ort.oracle.tensors import exact_epsilon
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

_ROUNDINGS_OF_A_NORMALIZATION = 8
"""A sum, a root, a reciprocal, two factors, two sums, and one in reserve."""


@dataclass(frozen=True, slots=True)
class Margin:
    """The allowed deviation of a result from the exact one.

    Attributes:
        value: The exact result; None if an operand is not finite, so that there is no margin.
        error: The bound of the error.
        reach: The bound of all intermediate magnitudes.
    """

    value: Fraction | None
    error: Fraction = Fraction(0)
    reach: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Margins:
    """The margins of all elements of a result, in row-major order."""

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
        """Which results have intermediate values that may exceed the format."""
        limit = power_of_two(self.format.largest_exponent)
        return [margin.reach >= limit for margin in self.elements]


def product_margins(a: Array, b: Array, element_type: ElementType) -> Margins:
    """The margins of the matrix product a b."""
    binary = FLOAT_FORMATS[element_type]
    rows, columns = exact_elements(a, element_type), exact_elements(b, element_type)
    half_subnormal, gamma = half_a_subnormal(binary), relative_error(a.shape[1], binary)

    def margin(row: Any, column: Any) -> Margin:
        if not _all_finite([*row, *column]):
            return Margin(None, reach=_reach_of_products(row, column))
        products = [x.value * y.value for x, y in zip(row, column, strict=True)]
        sum_of_magnitudes = sum(map(abs, products), Fraction(0))
        error = gamma * sum_of_magnitudes + 2 * len(products) * half_subnormal
        return Margin(sum(products, Fraction(0)), error, sum_of_magnitudes + error)

    indexes = np.ndindex(a.shape[0], b.shape[1])
    return Margins(tuple(margin(rows[i], columns[:, j]) for i, j in indexes), binary)


def normalization_margins(
    x: Array, vectors: Sequence[Array], element_type: ElementType, attributes: Attributes
) -> Margins:
    """The margins of a BatchNormalization, for any order of scaling, shifting and subtracting.

    The second axis of x is the channel; `vectors` are scale, shift, mean and variance per channel.
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
    # Infinities have magnitude zero here, because the reach covers finite numbers only.
    factor = Fraction(0) if deviation.magnitude == 0 else scale.magnitude / deviation.magnitude
    distance, half_subnormal = x.magnitude + mean.magnitude, half_a_subnormal(binary)
    summands = factor * distance + shift.magnitude
    underflow = 2 * half_subnormal * (distance + scale.magnitude + 4)
    error = relative_error(_ROUNDINGS_OF_A_NORMALIZATION, binary) * summands + underflow
    on_the_way = (scale.magnitude * distance, factor, distance, variance.magnitude)
    reach = max(summands + error, *on_the_way)
    if scale.kind is Kind.INFINITE:
        # If scaled before the subtraction, element and mean may both be infinite.
        return Margin(None, reach=power_of_two(binary.largest_exponent))
    if not _all_finite([x, *channel]) or deviation.is_zero:
        return Margin(None, reach=reach)
    value = scale.value * (x.value - mean.value) / deviation.magnitude + shift.value
    return Margin(value, error, reach)


def _reach_of_products(row: Iterable[Number], column: Iterable[Number]) -> Fraction:
    """The sum of the magnitudes of the finite products."""
    pairs = [pair for pair in zip(row, column, strict=True) if _all_finite(pair)]
    return sum((x.magnitude * y.magnitude for x, y in pairs), Fraction(0))


def _all_finite(numbers: Iterable[Number]) -> bool:
    return all(number.kind is Kind.FINITE for number in numbers)


def relative_error(roundings: int, binary: BinaryFormat) -> Fraction:
    """A bound of the relative error after this number of roundings, which is gamma for few.

    For many it is 2^(1.5 n u) - 1, rounded up, which bounds (1 - u)^-n - 1.
    """
    error = roundings * power_of_two(-binary.precision)
    return error / (1 - error) if 2 * error < 1 else power_of_two(ceil(Fraction(3, 2) * error)) - 1


def half_a_subnormal(binary: BinaryFormat) -> Fraction:
    """The largest error of a rounding below the normal numbers."""
    return power_of_two(binary.smallest_exponent - binary.precision)


def _number(value: Fraction) -> Number:
    return finite(abs(value), negative=value < 0)


Mask = npt.NDArray[np.bool_]

UNITS: Mapping[tuple[str, ElementType], int] = MappingProxyType(
    {
        ("Log", ElementType.FLOAT16): 1,
        ("Log", ElementType.FLOAT): 3,
        ("Log", ElementType.DOUBLE): 1,
        ("Acos", ElementType.FLOAT16): 1,
        ("Acos", ElementType.FLOAT): 4,
        ("Pow", ElementType.FLOAT16): 1,
        ("Pow", ElementType.FLOAT): 1,
        ("Pow", ElementType.DOUBLE): 1,
    }
)
"""Maximum error of ONNX Runtime in units in the last place."""

_BY_WAY_OF_FLOAT = frozenset({ElementType.FLOAT16, ElementType.BFLOAT16})
"""Types to which a Cast may convert wider numbers through float, rounding twice."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The admitted results.

    Attributes:
        lowest: The smallest admitted element; NaN if the result is NaN.
        highest: The largest admitted element.
        anything: Where every element is admitted, because intermediate values may exceed the type.
    """

    lowest: Array
    highest: Array
    anything: Mask

    def admits(self, found: Array) -> Mask:
        """Which results are admitted; zeros of both signs are equal, and so are all NaNs.

        Raises:
            ValueError: The results have another type or shape.
        """
        expected = self.lowest
        if (found.dtype, found.shape) != (expected.dtype, expected.shape):
            description = f"{found.dtype} {found.shape}, not {expected.dtype} {expected.shape}"
            raise ValueError(f"results are {description}")
        # Reading a signaling NaN raises the invalid-operation flag.
        with np.errstate(invalid="ignore"):
            within = (expected <= found) & (found <= self.highest)
            if found.dtype.kind not in "biu":
                within |= np.isnan(found) & np.isnan(expected)
        return np.asarray(within | self.anything)


def enclosure(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    unneeded: Container[str] = frozenset(),
) -> Enclosure | Violation:
    """The admitted results of an operator, or the first violated rule.

    An omitted operand is None; `element_type` is the common type of the operands. Rules in
    `unneeded` do not count, as for `outcome`.

    Raises:
        ValueError: The operator does not support the type.
    """
    nearest = outcome(operator, operands, element_type, edition, attributes, unneeded=unneeded)
    if isinstance(nearest, Violation):
        return nearest
    present = [operand for operand in operands if operand is not None]
    match operator, element_type.family:
        case "MatMul", Family.FLOAT:
            margins = product_margins(present[0], present[1], element_type)
            return _around(nearest, margins, element_type)
        case "BatchNormalization", _:
            margins = normalization_margins(present[0], present[1:], element_type, attributes)
            return _around(nearest, margins, element_type)
        case "Cast", _ if TYPES[int(attributes["to"])] in _BY_WAY_OF_FLOAT:
            return _rounded_twice(nearest, present[0], element_type)
    units = UNITS.get((operator, element_type), 0)
    return _between(_shifted_by_ulps(nearest, -units), _shifted_by_ulps(nearest, units))


def _between(lowest: Array, highest: Array) -> Enclosure:
    return Enclosure(lowest, highest, np.zeros(lowest.shape, np.bool_))


def _shifted_by_ulps(array: Array, units: int) -> Array:
    """The floats moved by a number of ulps; infinities, NaNs and integers are unchanged."""
    if units == 0:
        return array
    width = 8 * array.dtype.itemsize
    finite = np.isfinite(array).ravel().tolist()
    bits = array.view(f"u{array.dtype.itemsize}").ravel().tolist()
    moved = [_step(b, units, width) if f else b for b, f in zip(bits, finite, strict=True)]
    return np.array(moved, f"u{array.dtype.itemsize}").view(array.dtype).reshape(array.shape)


def _step(bits: int, units: int, width: int) -> int:
    """The bit pattern moved by a number of ulps; patterns of one sign are ordered by value."""
    sign = 1 << (width - 1)
    place = (-(bits - sign) if bits >= sign else bits) + units
    return place if place >= 0 else sign - place


def _around(nearest: Array, margins: Margins, element_type: ElementType) -> Enclosure:
    """The interval given by the margins; without a margin, the rounded result."""
    lowest, highest = (
        encoded_elements(ends, element_type).reshape(nearest.shape) for ends in margins.ends
    )
    exact = np.array(margins.exact).reshape(nearest.shape)
    beyond = np.array(margins.beyond, np.bool_).reshape(nearest.shape)
    return Enclosure(np.where(exact, nearest, lowest), np.where(exact, nearest, highest), beyond)


def _rounded_twice(nearest: Array, operand: Array, element_type: ElementType) -> Enclosure:
    """The results rounded once, and those first rounded to float."""
    target = next(t for t in _BY_WAY_OF_FLOAT if t.dtype == nearest.dtype)
    as_floats = _converted(operand, element_type, ElementType.FLOAT)
    twice = _converted(as_floats, ElementType.FLOAT, target)
    with np.errstate(invalid="ignore"):
        smaller = nearest < twice
    return _between(np.where(smaller, nearest, twice), np.where(smaller, twice, nearest))


def _converted(array: Array, element_type: ElementType, target: ElementType) -> Array:
    exact = [converted(element, target) for element in decoded_elements(array, element_type)]
    return encoded_elements(exact, target).reshape(array.shape)
