"""The profile's operators on arrays of every element type: the result, or the rule that is broken.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1), and for integer division the project's own C1 and C2, with R5 in the place of
C1 in the preliminary edition, since no integer represents infinity. SONNX Broadcast, "Informal
specification": condition 1 (ranks), condition 2 (sizes) and the relations between multi-indexes of
step 1 and step 2, which are followed index by index; indexes start at 0 here and at 1 there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import (
    FLOAT_FORMATS,
    INTEGER_FORMATS,
    IntegerFormat,
    divide_floats,
    divide_integers,
    subtract_floats,
    subtract_integers,
)
from sonnx_ort.oracle.numbers import Number, decode, encode
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition


@dataclass(frozen=True, slots=True)
class Violation:
    """The first broken rule, in the order of the operator's contract.

    Attributes:
        rule: Its id.
        index: Where the first offending element stands, in row-major order; None where the shapes
            offend.
        values: The elements of A and B there; None where the shapes offend.
    """

    rule: str
    index: tuple[int, ...] | None = None
    values: tuple[int, int] | None = None


Array = npt.NDArray[Any]
Sizes = tuple[int, ...]


def broadcast(*tensors: Array) -> tuple[Array, ...] | Violation:
    """Give tensors one shape, each by repeating its own elements.

    Args:
        *tensors: X0 to XL, at least one; each of any shape and dtype.

    Returns:
        Z0 to ZL, bit for bit the elements of X0 to XL, or the rule that is broken.
    """
    rank = max(tensor.ndim for tensor in tensors)
    padded = [_prepended(tensor.shape, rank) for tensor in tensors]
    common = tuple(max(sizes[k] for sizes in padded) for k in range(rank))
    if not all(_fits(sizes, common) for sizes in padded):
        return Violation("Broadcast.E1")
    return tuple(
        _repeated(tensor, sizes, common) for tensor, sizes in zip(tensors, padded, strict=True)
    )


def _prepended(sizes: Sizes, rank: int) -> Sizes:
    """Step 1: sizes of 1 at the lower axes until there are as many as the rank."""
    return (1,) * (rank - len(sizes)) + sizes


def _fits(sizes: Sizes, common: Sizes) -> bool:
    return all(size in (largest, 1) for size, largest in zip(sizes, common, strict=True))


def _repeated(tensor: Array, sizes: Sizes, common: Sizes) -> Array:
    """Step 2: each element of Zm is the one of Ym, and so of Xm, that its index leads to."""
    bits = np.dtype(f"u{tensor.dtype.itemsize}")
    elements, result = tensor.view(bits), np.empty(common, bits)
    prepended = len(common) - tensor.ndim
    for index in np.ndindex(common):
        leading_to = tuple(map(_index, index, sizes, common))
        result[index] = elements[leading_to[prepended:]]
    return result.view(tensor.dtype)


def _index(current: int, size: int, common_size: int) -> int:
    """The document's f: the current index where the size is the common one, else the first."""
    return current if size == common_size else 0


def divide(a: Array, b: Array, element_type: ElementType, edition: Edition) -> Array | Violation:
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
        return Violation(_shape_rule("Div", element_type, edition))
    if element_type.family is Family.FLOAT:
        return _on_floats(a, b, element_type, lambda x, y: divide_floats(x, y, edition))
    integer_format = INTEGER_FORMATS[element_type]
    violation = _division_violation(a, b, integer_format, edition)
    return violation or _on_integers(a, b, _defined_quotient)


def subtract(a: Array, b: Array, element_type: ElementType, edition: Edition) -> Array | Violation:
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
        return Violation(_shape_rule("Sub", element_type, edition))
    if element_type.family is Family.FLOAT:
        return _on_floats(a, b, element_type, subtract_floats)
    integer_format = INTEGER_FORMATS[element_type]
    return _on_integers(a, b, lambda x, y: subtract_integers(x, y, integer_format))


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    match edition:
        case Edition.TYPED:
            return f"{operator}.{element_type.family}.R1"
        case Edition.PRELIMINARY:
            return f"{operator}.R1"


def _division_violation(
    a: Array, b: Array, integer_format: IntegerFormat, edition: Edition
) -> Violation | None:
    zero_rule = "Div.R5" if edition is Edition.PRELIMINARY else "Div.int.C1"
    elements = [(i, (int(a[i]), int(b[i]))) for i in np.ndindex(a.shape)]
    for index, values in elements:
        if divide_integers(*values) is None:
            return Violation(zero_rule, index, values)
    for index, values in elements:
        if _defined_quotient(*values) > integer_format.largest:
            return Violation("Div.int.C2", index, values)
    return None


def _defined_quotient(a: int, b: int) -> int:
    quotient = divide_integers(a, b)
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
