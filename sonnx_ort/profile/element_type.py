"""The twelve numeric element types of the profile, and bool."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

import ml_dtypes
import numpy as np


class Family(enum.StrEnum):
    """A type family: types that share a section of the typed documents, and so their rules."""

    FLOAT = "float"
    INTEGER = "int"
    BOOLEAN = "bool"


_OF_NUMPY = {"float": "float32", "double": "float64"}


def _family_of(name: str) -> Family:
    if name == "bool":
        return Family.BOOLEAN
    return Family.INTEGER if "int" in name else Family.FLOAT


class ElementType(enum.StrEnum):
    """An element type by its ONNX name: `tensor(float)` is `ElementType.FLOAT`.

    Attributes:
        family: The type family, a section of the typed documents.
        dtype: The numpy dtype; bfloat16 comes from ml_dtypes.
    """

    family: Family
    dtype: np.dtype[np.generic]

    FLOAT16 = "float16"
    FLOAT = "float"
    DOUBLE = "double"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"

    def __new__(cls, name: str) -> "ElementType":
        """Make a type of its name."""
        made = str.__new__(cls, name)
        made._value_ = name
        made.family = _family_of(name)
        made.dtype = np.dtype(
            ml_dtypes.bfloat16 if name == "bfloat16" else _OF_NUMPY.get(name, name)
        )
        return made

    @classmethod
    def named(cls, name: str | None) -> "ElementType | None":
        """The type with this ONNX name; None if it is unknown or not listed here."""
        return None if name is None else _NAMED.get(name)


FLOAT_TYPES = tuple(t for t in ElementType if t.family is Family.FLOAT)
"""The floating-point types."""

IEEE_TYPES = (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)
"""The floating-point types of IEEE 754."""

INTEGER_TYPES = tuple(t for t in ElementType if t.family is Family.INTEGER)
"""The integer types that numpy has."""

SHORT_INTEGERS = ("int2", "int4", "uint2", "uint4")
"""Integer types of which drafts only move elements, by their ONNX names."""

TEXT = "string"
"""The ONNX name of the type of texts, which drafts only move."""

NUMERIC_TYPES = tuple(t for t in ElementType if t is not ElementType.BOOL)
"""The numeric types."""

_NAMED = {element_type.value: element_type for element_type in ElementType}

CARRIERS: Mapping[ElementType, ElementType] = MappingProxyType(
    {ElementType.FLOAT16: ElementType.FLOAT, ElementType.BFLOAT16: ElementType.FLOAT}
)
"""The type that replaces one for which a Python kernel would crash.

The result is exact for a correctly rounded sum, product, quotient or square root: the carrier has
at least 2p + 2 bits for the p bits of the type (24 >= 2 * 11 + 2), so rounding twice gives the same
as rounding once.
"""


def smallest_value(element_type: ElementType) -> int:
    """The smallest value of an integer type."""
    bits = 8 * element_type.dtype.itemsize
    return -(1 << (bits - 1)) if element_type.dtype.kind == "i" else 0
