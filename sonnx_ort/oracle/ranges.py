"""Range.

Source: SONNX Range, draft of the working group, section "Informal specification".
"""

from fractions import Fraction
from math import ceil

import numpy as np

from sonnx_ort.oracle.elements import encoded_elements
from sonnx_ort.oracle.enclosure import half_a_subnormal, relative_error
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import Kind, Number
from sonnx_ort.oracle.results import (
    EXACT,
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
    number,
    tensor,
)

_ROUNDED = "index, product and sum are each rounded (ours: the draft ignores accuracy)"
_MOST = 1 << 24


def range_of(node: Node) -> tuple[Elements | Result, ...]:
    """Range: start, start + delta, start + 2 delta and so on, up to before limit.

    The number of elements is that over the reals, in each type.

    Raises:
        NotDefinedError: A step of 0, a number that is not finite, or an operand that is no scalar.
        ValueError: More than 2^24 elements.
    """
    if any(node.operand(place).size != 1 for place in range(3)):
        raise NotDefinedError("start, limit and delta are not all scalars")
    start, limit, delta = (_value(node.exact(place).ravel()[0]) for place in range(3))
    if delta == 0:
        raise NotDefinedError("delta is 0")
    count = max(0, ceil((limit - start) / delta))
    if count > _MOST:
        raise ValueError(f"{count} elements are too many to compute")
    values = [start + i * delta for i in range(count)]
    element_type = node.element_type()
    if element_type is not None and node.is_of_integers():
        return (exactly(encoded_elements([int(value) for value in values], element_type)),)
    binary = node.format()
    if binary is None or count == 0:
        points = [Enclosed(number(value), number(value)) for value in values]
        return (Elements(tensor(points, [count]), element_type, EXACT),)
    relative, underflow = relative_error(3, binary), 2 * half_a_subnormal(binary)
    elements = []
    for i, value in enumerate(values):
        magnitude = abs(start) + i * abs(delta)
        error = relative * magnitude + underflow if i else Fraction(0)
        elements.append(Enclosed(number(value), number(value), error, magnitude + error))
    return (Elements(tensor(elements, [count]), element_type, _ROUNDED),)


def _value(datum: Number | int | np.integer) -> Fraction:
    if not isinstance(datum, Number):
        return Fraction(int(datum))
    if datum.kind is not Kind.FINITE:
        raise NotDefinedError("start, limit and delta are not all finite")
    return datum.value
