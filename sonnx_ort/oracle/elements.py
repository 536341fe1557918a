"""Arrays as exact elements, and exact elements as arrays."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS
from sonnx_ort.oracle.conversion import Datum
from sonnx_ort.oracle.numbers import Number, decode, encode, finite
from sonnx_ort.profile.element_type import ElementType, Family

Array = npt.NDArray[Any]

Attributes = Mapping[str, int | float | str]
"""What a node says."""

Operands = Sequence[Array | None]
"""The operands of a node, None in the places of those that are left out."""

Exact = npt.NDArray[np.object_]
"""A tensor of exact elements: of floats `Number`, else int or bool."""


def decoded_elements(array: Array, element_type: ElementType) -> list[Any]:
    """The exact elements in row-major order: of floats `Number`, else int or bool.

    Args:
        array: The array.
        element_type: Its type, unless it is of conditions.
    """
    if array.dtype.kind == "b" or element_type.family is not Family.FLOAT:
        elements: list[Any] = array.ravel().tolist()
        return elements
    bits = array.view(f"u{array.dtype.itemsize}").ravel().tolist()
    return [decode(pattern, FLOAT_FORMATS[element_type]) for pattern in bits]


def exact_elements(array: Array, element_type: ElementType) -> Exact:
    """A tensor of the exact elements.

    Args:
        array: The array.
        element_type: Its type.
    """
    exact = np.empty(array.size, object)
    exact[:] = decoded_elements(array, element_type)
    return exact.reshape(array.shape)


def encoded_elements(elements: Sequence[Datum], element_type: ElementType) -> Array:
    """Round floats, take integers modulo 2^n, and give them as a vector.

    Args:
        elements: Exact elements.
        element_type: The type that they get.
    """
    dtype = element_type.dtype
    bits = [_encoded(element, element_type) for element in elements]
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)


def zero_of(element_type: ElementType) -> Datum:
    """The exact zero of a type of numbers.

    Args:
        element_type: The type.
    """
    floats = element_type.family is Family.FLOAT
    return finite(Fraction(0), negative=False) if floats else 0


def _encoded(datum: Datum, element_type: ElementType) -> int:
    """The bit pattern of an element: of a float rounded, of an integer modulo 2^n."""
    if isinstance(datum, Number):
        return encode(datum, FLOAT_FORMATS[element_type])
    return datum % (1 << 8 * element_type.dtype.itemsize)
