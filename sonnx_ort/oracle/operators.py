"""The profile's element-wise operators on arrays: the result, or the first rule that is broken.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1). Of the other operators the rule about shapes is the same in both editions.
`domains` has the rules about elements.
"""

import operator as python
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import (
    FLOAT_FORMATS,
    INTEGER_FORMATS,
    add_floats,
    divide_floats,
    divide_floats_by_formula,
    divide_integers,
    magnitude_of_float,
    multiply_floats,
    negative_float,
    p_relu_floats,
    p_relu_integers,
    reciprocal_of_float,
    remainder_of_floats,
    square_root_of_float,
    subtract_floats,
)
from sonnx_ort.oracle.comparison import equal, largest, less, less_or_equal, smallest
from sonnx_ort.oracle.domains import domain_violation
from sonnx_ort.oracle.numbers import Number, decode, encode
from sonnx_ort.oracle.violation import Violation
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Datum = Number | int | bool
"""An element: of a floating-point type, of an integer type, or a condition."""

Computation = Callable[..., Any]
"""Computes one element exactly; it is rounded or taken modulo 2^n behind that, once.

A BitShift is to the left; a Mod of floats is one with `fmod=1`, that of integers without.
"""

ZEROS_OF_EITHER_SIGN = frozenset({"Max", "Min"})
"""The operators that may give a zero of either sign where the operands are zeros of both.

So compare these by value. `outcome` takes 0 for larger than -0, as IEEE 754-2019 does (9.6).
"""


def _chosen(condition: bool, x: Datum, y: Datum) -> Datum:
    return x if condition else y


_ON_FLOATS: Mapping[str, Computation] = {
    "Add": add_floats,
    "Sub": subtract_floats,
    "Mul": multiply_floats,
    "Div": divide_floats,
    "Max": largest,
    "Min": smallest,
    "PRelu": p_relu_floats,
    "Mod": remainder_of_floats,
    "Abs": magnitude_of_float,
    "Neg": negative_float,
    "Reciprocal": reciprocal_of_float,
    "Sqrt": square_root_of_float,
    "Equal": equal,
    "Less": less,
    "LessOrEqual": less_or_equal,
    "Greater": lambda a, b: less(b, a),
    "GreaterOrEqual": lambda a, b: less_or_equal(b, a),
    "Where": _chosen,
}
_ON_INTEGERS: Mapping[str, Computation] = {
    "Add": python.add,
    "Sub": python.sub,
    "Mul": python.mul,
    "Div": divide_integers,
    "Max": lambda *operands: max(operands),
    "Min": lambda *operands: min(operands),
    "PRelu": p_relu_integers,
    "Mod": python.mod,
    "BitShift": python.lshift,
    "Abs": abs,
    "Neg": python.neg,
    "BitwiseAnd": python.and_,
    "BitwiseOr": python.or_,
    "BitwiseXor": python.xor,
    "Equal": python.eq,
    "Less": python.lt,
    "LessOrEqual": python.le,
    "Greater": python.gt,
    "GreaterOrEqual": python.ge,
    "Where": _chosen,
}
_ON_CONDITIONS: Mapping[str, Computation] = {
    "And": python.and_,
    "Or": python.or_,
    "Xor": python.xor,
    "Equal": python.eq,
}

_COMPUTATIONS: Mapping[Family, Mapping[str, Computation]] = MappingProxyType(
    {
        Family.FLOAT: _ON_FLOATS,
        Family.INTEGER: _ON_INTEGERS,
        Family.BOOLEAN: _ON_CONDITIONS,
    }
)
_COMPARISONS = frozenset({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})

WITHOUT_EXACT_RESULT = frozenset({"Acos", "Cast", "Log", "Pow"})
"""The operators whose results no finite arithmetic gives, or that depend on the implementation.

Those of a Cast are of a type that each node says.
"""

OPERATORS = frozenset(name for computations in _COMPUTATIONS.values() for name in computations)
"""The names of the operators that the oracle computes."""


def outcome(
    operator: str, operands: Sequence[Array], element_type: ElementType, edition: Edition
) -> Array | Violation:
    """What an operator gives, element by element.

    Args:
        operator: Its name.
        operands: All its operands, of any shapes; conditions of a Where are of dtype bool.
        element_type: The type of all other operands.
        edition: The edition of the profile. It decides which rule the operands of Div and Sub
            break, and what a zero divisor gives.

    Returns:
        The results, or the first rule that is broken. Where a result is NaN, any quiet NaN is
        right; of some operators a zero of either sign is, see `ZEROS_OF_EITHER_SIGN`.

    Raises:
        ValueError: The operator does not take the type.
    """
    compute = _computation(operator, element_type, edition)
    if len({operand.shape for operand in operands}) > 1:
        return Violation(_shape_rule(operator, element_type, edition))
    if element_type.family is Family.INTEGER:
        limits = INTEGER_FORMATS[element_type]
        violation = domain_violation(operator, operands, limits, edition)
        if violation is not None:
            return violation
    places = zip(*(_decoded(operand, element_type) for operand in operands), strict=True)
    result_type = ElementType.BOOL if operator in _COMPARISONS else element_type
    bits = [_encoded(compute(*place), result_type) for place in places]
    shape, dtype = operands[0].shape, result_type.dtype
    return np.array(bits, f"u{dtype.itemsize}").reshape(shape).view(dtype)


def _computation(operator: str, element_type: ElementType, edition: Edition) -> Computation:
    computations = _COMPUTATIONS[element_type.family]
    if operator not in computations:
        raise ValueError(f"{operator} of {element_type} has no meaning")
    by_formula = edition is Edition.PRELIMINARY and element_type.family is Family.FLOAT
    return divide_floats_by_formula if operator == "Div" and by_formula else computations[operator]


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    if operator in ("Div", "Sub") and edition is Edition.PRELIMINARY:
        return f"{operator}.R1"
    return f"{operator}.{element_type.family}.R1"


def _decoded(array: Array, element_type: ElementType) -> Iterable[Datum]:
    """The elements in row-major order."""
    if array.dtype.kind == "b" or element_type.family is not Family.FLOAT:
        elements: list[int] | list[bool] = array.ravel().tolist()
        return elements
    bits = array.view(f"u{array.dtype.itemsize}").ravel().tolist()
    return [decode(pattern, FLOAT_FORMATS[element_type]) for pattern in bits]


def _encoded(datum: Datum, element_type: ElementType) -> int:
    """The bit pattern of an element: of a float rounded, of an integer modulo 2^n."""
    if isinstance(datum, Number):
        return encode(datum, FLOAT_FORMATS[element_type])
    return datum % (1 << 8 * element_type.dtype.itemsize)
