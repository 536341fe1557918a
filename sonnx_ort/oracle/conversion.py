"""Cast: an element in another type.

ONNX Cast, version 25: floats lose their fraction where they become integers; integers are taken
modulo 2^n; what becomes a float is rounded to nearest even; a condition is 1 or 0, and holds of
everything but zeros. Floats that the integer type does not hold have no result.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import trunc
from types import MappingProxyType

from sonnx_ort.oracle.numbers import Kind, Number, finite
from sonnx_ort.profile.element_type import ElementType, Family

Datum = Number | int | bool
"""An element: of a floating-point type, of an integer type, or a condition."""

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
"""The types by the numbers that ONNX gives them."""


def converted(datum: Datum, target: ElementType) -> Datum:
    """An element in another type, not yet rounded to it or taken modulo 2^n.

    Args:
        datum: The element; finite where a float becomes an integer.
        target: The type.
    """
    match target.family:
        case Family.BOOLEAN:
            return not datum.is_zero if isinstance(datum, Number) else datum != 0
        case Family.INTEGER:
            return trunc(finite_value(datum))
        case Family.FLOAT:
            return datum if isinstance(datum, Number) else _as_number(int(datum))


def finite_value(datum: Datum) -> Fraction:
    """The value of an element.

    Args:
        datum: The element.

    Raises:
        ValueError: It is an infinity or NaN.
    """
    if not isinstance(datum, Number):
        return Fraction(datum)
    if datum.kind is not Kind.FINITE:
        raise ValueError(f"{datum.kind.name} has no value")
    return datum.value


def _as_number(value: int) -> Number:
    return finite(Fraction(abs(value)), negative=value < 0)
