"""Conversion between tensor elements and exact numbers.

ONNX Cast, version 25: floats are truncated to integers; integers are taken modulo 2^n; conversions
to floats round to nearest even; a bool is 1 or 0, and true for everything but zeros. Floats outside
the integer type have no result.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import trunc
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.numbers import (
    FLOAT_FORMATS,
    BinaryFormat,
    Kind,
    Number,
    decode,
    encode,
    finite,
)
from sonnx_ort.profile.element_type import ElementType, Family

Datum = Number | int | bool
"""An element: floating-point number, integer or bool."""

TYPES: Mapping[int, ElementType] = MappingProxyType(
    {
        1: ElementType.FLOAT,
        2: ElementType.UINT8,
        3: ElementType.INT8,
        4: ElementType.UINT16,
        5: ElementType.INT16,
        6: ElementType.INT32,
        7: ElementType.INT64,
        9: ElementType.BOOL,
        10: ElementType.FLOAT16,
        11: ElementType.DOUBLE,
        12: ElementType.UINT32,
        13: ElementType.UINT64,
        16: ElementType.BFLOAT16,
    }
)
"""The types by their ONNX numbers."""


def type_numbered(number: int) -> ElementType:
    """The type with an ONNX number.

    Raises:
        ValueError: It is none of the profile's.
    """
    if number not in TYPES:
        raise ValueError(f"type {number} of ONNX has no meaning")
    return TYPES[number]


def converted(datum: Datum, target: ElementType) -> Datum:
    """Convert an element to another type, before rounding or modulo 2^n.

    A float converted to an integer must be finite.
    """
    match target.family:
        case Family.BOOLEAN:
            return not datum.is_zero if isinstance(datum, Number) else datum != 0
        case Family.INTEGER:
            return trunc(finite_value(datum))
        case Family.FLOAT:
            return as_number(datum)


def finite_value(datum: Datum) -> Fraction:
    """The value of a finite element.

    Raises:
        ValueError: It is an infinity or NaN.
    """
    if not isinstance(datum, Number):
        return Fraction(datum)
    if datum.kind is not Kind.FINITE:
        raise ValueError(f"{datum.kind.name} has no value")
    return datum.value


def as_number(datum: Datum) -> Number:
    """A float as it is, and the float of an integer or bool, not yet rounded."""
    if isinstance(datum, Number):
        return datum
    return finite(Fraction(abs(datum)), negative=datum < 0)


Array = npt.NDArray[Any]

Attributes = Mapping[str, Any]
"""The attributes of a node: numbers, texts, and sequences of them."""

NO_ATTRIBUTES: Attributes = MappingProxyType({})
"""The attributes of a node without any."""

Operands = Sequence[Array | None]
"""The operands of a node, None for omitted ones."""

Exact = npt.NDArray[np.object_]
"""A tensor of exact elements: `Number` for floats, else int or bool."""


def decoded_elements(array: Array, element_type: ElementType) -> list[Any]:
    """The exact elements in row-major order: `Number` for floats, else int or bool.

    The element type is ignored for a tensor of bools.
    """
    if array.dtype.kind == "b" or element_type.family is not Family.FLOAT:
        elements: list[Any] = array.ravel().tolist()
        return elements
    return decoded_floats(array, FLOAT_FORMATS[element_type])


def decoded_floats(array: Array, binary: BinaryFormat) -> list[Number]:
    """The numbers of an array in row-major order."""
    bits = array.view(f"u{array.dtype.itemsize}").ravel().tolist()
    return [decode(pattern, binary) for pattern in bits]


def significands_of(array: Array, binary: BinaryFormat) -> tuple[Array, Array, Array]:
    """Floats as signed integers times powers of two: integers, exponents, and what is not finite.

    The integers of infinities and NaNs are 0.
    """
    fraction_bits, all_ones = binary.precision - 1, (1 << binary.exponent_bits) - 1
    bits = array.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    fractions = (bits & np.uint64((1 << fraction_bits) - 1)).astype(np.int64)
    upper = (bits >> np.uint64(fraction_bits)).astype(np.int64)
    exponents, negative = upper & all_ones, upper > all_ones
    special = exponents == all_ones
    magnitudes = np.where(exponents == 0, fractions, fractions | 1 << fraction_bits)
    magnitudes[special] = 0
    least = binary.smallest_exponent - fraction_bits
    return (
        np.where(negative, -magnitudes, magnitudes),
        np.maximum(exponents, 1) - 1 + least,
        special,
    )


def exact_elements(array: Array, element_type: ElementType) -> Exact:
    """A tensor of the exact elements."""
    exact = np.empty(array.size, object)
    exact[:] = decoded_elements(array, element_type)
    return exact.reshape(array.shape)


def encoded_elements(elements: Sequence[Datum], element_type: ElementType) -> Array:
    """Round floats, take integers modulo 2^n, and return the elements as a vector."""
    dtype = element_type.dtype
    bits = [_encoded(element, element_type) for element in elements]
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def zero_of(element_type: ElementType) -> Datum:
    """The exact zero of a numeric type."""
    floats = element_type.family is Family.FLOAT
    return finite(Fraction(0), negative=False) if floats else 0


def _encoded(datum: Datum, element_type: ElementType) -> int:
    """The bit pattern of an element: floats are rounded, integers taken modulo 2^n."""
    if isinstance(datum, Number):
        return encode(datum, FLOAT_FORMATS[element_type])
    return datum % (1 << 8 * element_type.dtype.itemsize)
