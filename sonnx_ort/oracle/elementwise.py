"""The element-wise operators, whose operands are broadcast to each other.

Broadcasting is that of ONNX; the profile's rules on shapes and on the operands of `Broadcast` are
narrower. Elements outside the domain of an operator have no defined result.
"""

import operator as python
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import trunc
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.domains import AGAINST_KERNELS, domain
from sonnx_ort.oracle.elements import (
    Attributes,
    Datum,
    Exact,
    as_number,
    converted,
    encoded_elements,
    exact_elements,
    type_numbered,
    zero_of,
)
from sonnx_ort.oracle.functions import angle_of_float, logarithm_of_float, power_of_floats
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import (
    add_floats,
    divide_floats,
    divide_floats_by_formula,
    divide_integers,
    equal,
    floored_remainder_of_floats,
    largest,
    less,
    less_or_equal,
    magnitude_of_float,
    multiply_floats,
    negative_float,
    p_relu_floats,
    p_relu_integers,
    reciprocal_of_float,
    remainder_of_floats,
    smallest,
    square_root_of_float,
    subtract_floats,
)
from sonnx_ort.oracle.results import (
    EXACT,
    UNITS,
    Enclosure,
    NotDefinedError,
    Result,
    alike,
    between,
    within_units,
)
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
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
    "Pow": lambda x, y: power_of_floats(x, as_number(y)),
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
_BY_WAY_OF_FLOAT = frozenset({ElementType.FLOAT16, ElementType.BFLOAT16})
"""Types to which a Cast may convert wider numbers through float, rounding twice."""

_COMPARISONS = frozenset({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})

OPERATORS = frozenset(name for computations in _COMPUTATIONS.values() for name in computations) | {
    "Cast"
}
"""The element-wise operators."""


def elementwise(operator: str) -> Callable[[Node], tuple[Result, ...]]:
    """What computes one of `OPERATORS`."""

    def of_node(node: Node) -> tuple[Result, ...]:
        element_type = operand_type(operator, node)
        of_result = result_type(operator, element_type, node.attributes)
        compute = computation(operator, element_type, node.edition, node.attributes)
        spread = _broadcast(operator, node)
        bounds = domain(operator, element_type, of_result, len(spread), AGAINST_KERNELS)
        places = list(zip(*(each.ravel().tolist() for each in spread), strict=True))
        broken = [bounds.broken(place) for place in places]
        zero = zero_of(of_result)
        computed = [
            zero if rule else compute(*place) for rule, place in zip(broken, places, strict=True)
        ]
        shape = spread[0].shape
        nearest = encoded_elements(computed, of_result).reshape(shape)
        undefined = np.array([rule is not None for rule in broken], np.bool_).reshape(shape)
        rules = sorted({rule.named(node.edition) for rule in broken if rule is not None})
        reason = f"the operands break {' and '.join(rules)}" if rules else ""
        admitted, bound = _admitted(operator, element_type, nearest, computed, of_result)
        return (Result(nearest, admitted, undefined, bound, reason),)

    return of_node


def operand_type(operator: str, node: Node) -> ElementType:
    """The type of the operands; of a Where that of X and Y, of a Pow that of the base.

    Raises:
        ValueError: The operands have several types, which the operator does not support.
    """
    exponent_apart = operator == "Pow" and (node.is_of_integers(1) or not node.is_of_integers(0))
    first = 1 if operator == "Where" else 0
    last = 1 if exponent_apart else len(node.operands)
    element_type = node.common_type(*range(first, last))
    if element_type is None:
        raise ValueError(f"{operator} has no meaning over the reals here")
    return element_type


def _broadcast(operator: str, node: Node) -> Sequence[Exact]:
    """The exact operands in their common shape.

    The slope of a PRelu does not extend its operand.

    Raises:
        NotDefinedError: They cannot be broadcast.
    """
    operands = [node.exact(place) for place in range(len(node.operands))]
    shapes = [operand.shape for operand in operands]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        common = None
    if common is None or (operator == "PRelu" and common != shapes[0]):
        raise NotDefinedError(f"operands of shapes {shapes} cannot be broadcast")
    return [np.broadcast_to(operand, common) for operand in operands]


def _admitted(
    operator: str,
    element_type: ElementType,
    nearest: Array,
    computed: Sequence[Datum],
    of_result: ElementType,
) -> tuple[Enclosure, str]:
    """What is admitted beside the nearest elements, and the bound that says so."""
    units = UNITS.get((operator, element_type))
    if units is not None:
        measured = f"{units} units in the last place, measured of ONNX Runtime (ours)"
        return within_units(nearest, units), measured
    if operator == "Cast" and of_result in _BY_WAY_OF_FLOAT:
        through = exact_elements(encoded_elements(computed, ElementType.FLOAT), ElementType.FLOAT)
        twice = encoded_elements(through.tolist(), of_result).reshape(nearest.shape)
        if not alike(nearest, twice).all():
            with np.errstate(invalid="ignore"):
                ends = [np.where(s, nearest, twice) for s in (nearest < twice, nearest >= twice)]
            return between(*ends), "a float may be rounded before (ours)"
    return between(nearest, nearest), EXACT


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
    """The type of the results, given the common type of the operands.

    Raises:
        ValueError: It is none of the profile's.
    """
    if operator == "Cast":
        return type_numbered(int(attributes["to"]))
    return ElementType.BOOL if operator in _COMPARISONS else element_type
