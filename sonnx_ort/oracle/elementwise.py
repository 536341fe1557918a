"""Element computations of the element-wise operators."""

import operator as python
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from math import trunc
from types import MappingProxyType
from typing import Any

from sonnx_ort.oracle.arithmetic import (
    add_floats,
    divide_floats,
    divide_floats_by_formula,
    divide_integers,
    floored_remainder_of_floats,
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
from sonnx_ort.oracle.elements import TYPES, Attributes, Datum, converted
from sonnx_ort.oracle.functions import angle_of_float, logarithm_of_float, power_of_floats
from sonnx_ort.oracle.numbers import equal, largest, less, less_or_equal, smallest
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

Computation = Callable[..., Any]
"""Computes one exact element, which is then rounded or taken modulo 2^n once."""


def _selected(condition: bool, x: Datum, y: Datum) -> Datum:
    return x if condition else y


def _truncated_remainder(a: int, b: int) -> int:
    """The remainder of the truncated quotient of integers, with the sign of a."""
    return a - b * trunc(Fraction(a, b))


_ON_FLOATS: Mapping[str, Computation] = {
    "Add": add_floats,
    "Sub": subtract_floats,
    "Mul": multiply_floats,
    "Div": divide_floats,
    "Max": largest,
    "Min": smallest,
    "PRelu": p_relu_floats,
    "Mod": floored_remainder_of_floats,
    "Abs": magnitude_of_float,
    "Neg": negative_float,
    "Reciprocal": reciprocal_of_float,
    "Sqrt": square_root_of_float,
    "Log": logarithm_of_float,
    "Acos": angle_of_float,
    "Pow": power_of_floats,
    "Equal": equal,
    "Less": less,
    "LessOrEqual": less_or_equal,
    "Greater": lambda a, b: less(b, a),
    "GreaterOrEqual": lambda a, b: less_or_equal(b, a),
    "Where": _selected,
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
    "Pow": python.pow,
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
    "Where": _selected,
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

OPERATORS = frozenset(name for computations in _COMPUTATIONS.values() for name in computations) | {
    "Cast"
}
"""The element-wise operators."""


def computation(
    operator: str, element_type: ElementType, edition: Edition, attributes: Attributes
) -> Computation:
    """The computation of an operator's elements.

    Raises:
        ValueError: The operator does not support the type of its common operands.
    """
    family = element_type.family
    computations = _COMPUTATIONS[family]
    match operator, family:
        case "Cast", _:
            return partial(converted, target=result_type(operator, element_type, attributes))
        case "Div", Family.FLOAT if edition is Edition.PRELIMINARY:
            return divide_floats_by_formula
        case "BitShift", Family.INTEGER if attributes.get("direction") == "RIGHT":
            return python.rshift
        case "Mod", Family.INTEGER if attributes.get("fmod"):
            return _truncated_remainder
        case "Mod", Family.FLOAT if attributes.get("fmod"):
            return remainder_of_floats
    if operator not in computations:
        raise ValueError(f"{operator} of {element_type} has no meaning")
    return computations[operator]


def result_type(operator: str, element_type: ElementType, attributes: Attributes) -> ElementType:
    """The type of the results, given the common type of the operands."""
    if operator == "Cast":
        return TYPES[int(attributes["to"])]
    return ElementType.BOOL if operator in _COMPARISONS else element_type
