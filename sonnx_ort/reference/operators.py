"""`Div` and `Sub` on arrays of every element type: the result, or the rule that is broken.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1), and for integer division the project's own C1 and C2, with R5 in the place of
C1 in the preliminary edition, since no integer represents infinity.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.reference import floats, integers
from sonnx_ort.reference.breach import Breach
from sonnx_ort.reference.encoding import decode, encode
from sonnx_ort.reference.formats import FLOAT_FORMATS, INTEGER_FORMATS
from sonnx_ort.reference.integers import IntegerFormat
from sonnx_ort.reference.number import Number

Array = npt.NDArray[Any]


def divide(a: Array, b: Array, element_type: ElementType, edition: Edition) -> Array | Breach:
    """Divide element by element.

    Args:
        a: The dividends, of any shape.
        b: The divisors.
        element_type: The type of both.
        edition: The edition of the profile.

    Returns:
        The quotients, in the same shape and dtype, or the first rule that is broken.
    """
    if a.shape != b.shape:
        return Breach(_shape_rule("Div", element_type, edition))
    if element_type.family is Family.FLOAT:
        return _on_floats(a, b, element_type, lambda x, y: floats.divide(x, y, edition))
    integer_format = INTEGER_FORMATS[element_type]
    breach = _division_breach(a, b, integer_format, edition)
    return breach or _on_integers(a, b, _defined_quotient)


def subtract(a: Array, b: Array, element_type: ElementType, edition: Edition) -> Array | Breach:
    """Subtract element by element.

    Args:
        a: The minuends, of any shape.
        b: The subtrahends.
        element_type: The type of both.
        edition: The edition of the profile; it decides only which rule unequal shapes break.

    Returns:
        The differences, in the same shape and dtype, or the first rule that is broken.
    """
    if a.shape != b.shape:
        return Breach(_shape_rule("Sub", element_type, edition))
    if element_type.family is Family.FLOAT:
        return _on_floats(a, b, element_type, floats.subtract)
    integer_format = INTEGER_FORMATS[element_type]
    return _on_integers(a, b, lambda x, y: integers.subtract(x, y, integer_format))


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    match edition:
        case Edition.TYPED:
            return f"{operator}.{element_type.family}.R1"
        case Edition.PRELIMINARY:
            return f"{operator}.R1"


def _division_breach(
    a: Array, b: Array, integer_format: IntegerFormat, edition: Edition
) -> Breach | None:
    zero_rule = "Div.R5" if edition is Edition.PRELIMINARY else "Div.int.C1"
    elements = [(i, (int(a[i]), int(b[i]))) for i in np.ndindex(a.shape)]
    for index, values in elements:
        if integers.divide(*values) is None:
            return Breach(zero_rule, index, values)
    for index, values in elements:
        if _defined_quotient(*values) > integer_format.largest:
            return Breach("Div.int.C2", index, values)
    return None


def _defined_quotient(a: int, b: int) -> int:
    quotient = integers.divide(a, b)
    if quotient is None:
        raise ZeroDivisionError("zero divisors break a rule and have no quotient")
    return quotient


def _on_floats(
    a: Array, b: Array, element_type: ElementType, compute: Callable[[Number, Number], Number]
) -> Array:
    binary_format = FLOAT_FORMATS[element_type]
    bits_dtype = np.dtype(f"u{element_type.dtype.itemsize}")
    a_bits, b_bits = a.view(bits_dtype), b.view(bits_dtype)
    result = np.empty(a.shape, bits_dtype)
    for i in np.ndindex(a.shape):
        x, y = decode(int(a_bits[i]), binary_format), decode(int(b_bits[i]), binary_format)
        result[i] = encode(compute(x, y), binary_format)
    return result.view(element_type.dtype)


def _on_integers(a: Array, b: Array, compute: Callable[[int, int], int]) -> Array:
    result = np.empty(a.shape, a.dtype)
    for i in np.ndindex(a.shape):
        result[i] = compute(int(a[i]), int(b[i]))
    return result
