"""The element-wise operators that are enforced where that is asked for, one model each.

Every model declares all its inputs with one size, and ONNX Runtime broadcasts them nevertheless.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import onnx

from model_builders.bundle import Array, Bundle, bundle, case, float32, int32
from model_builders.expected import NODE_NAMES, element_type_of, elementwise_outcome
from model_builders.graphs import OPSET, parse
from sonnx_ort.models import Case
from sonnx_ort.profile.catalog import OPERATORS

_INF, _NAN = np.inf, np.nan
_FALSE_AND_TRUE = np.array([False, False, True, True]), np.array([False, True, False, True])
_BITS = int32([12, -1, 255, -(2**31)]), int32([10, 7, -256, -1])
_FLOATS = (
    float32([1, 2, 3, 0.0, -_INF, _INF, _NAN, _NAN]),
    float32([3, 2, 1, -0.0, 1, _INF, 1, _NAN]),
)


_SUBJECTS: Mapping[str, tuple[str, tuple[Array, ...]]] = MappingProxyType(
    {
        "Add": (
            "Sums are rounded once; inf - inf is NaN.",
            (
                float32([1, 2**24, 3.0e38, _INF, -0.0, _NAN]),
                float32([-1, 1, 3.0e38, -_INF, -0.0, 1]),
            ),
        ),
        "Mul": (
            "Products wrap modulo 2^32.",
            (int32([6, -7, 65536, -(2**31)]), int32([7, 3, 65537, -1])),
        ),
        "Max": (
            "The largest of three, and NaN where an operand is.",
            (
                float32([1, 5, -_INF, _NAN, 1]),
                float32([3, 4, -2, 1, _NAN]),
                float32([2, 6, -1, _INF, 9]),
            ),
        ),
        "Min": (
            "The smallest of three integers.",
            (int32([1, 5, -(2**31)]), int32([3, 4, 2**31 - 1]), int32([2, 6, 0])),
        ),
        "PRelu": (
            "Elements below zero times their slope, the others as they are.",
            (float32([1, -2, -0.5, 0, -_INF, _NAN]), float32([9, 0.25, -0.1, 9, 2, 0])),
        ),
        "And": ("Whether both conditions hold.", _FALSE_AND_TRUE),
        "Or": ("Whether any of two conditions holds.", _FALSE_AND_TRUE),
        "Xor": ("Whether exactly one of two conditions holds.", _FALSE_AND_TRUE),
        "BitwiseAnd": ("The bits that are set in both integers, in two's complement.", _BITS),
        "BitwiseOr": ("The bits that are set in any of two integers, in two's complement.", _BITS),
        "BitwiseXor": ("The bits that differ in two integers, in two's complement.", _BITS),
        "Equal": ("NaN is equal to nothing, not even to NaN; -0 and 0 are equal.", _FLOATS),
        "Less": ("NaN is less than nothing, and -0 not less than 0.", _FLOATS),
        "LessOrEqual": ("NaN is not less than or equal to anything, -0 and 0 are.", _FLOATS),
        "Greater": ("NaN is greater than nothing, and 0 not greater than -0.", _FLOATS),
        "GreaterOrEqual": ("NaN is not greater than or equal to anything, -0 and 0 are.", _FLOATS),
        "Where": (
            "Elements of one of two tensors, as conditions say.",
            (
                np.array([True, False, True, False]),
                int32([1, 2, 3, 4]),
                int32([-1, -2, -3, -4]),
            ),
        ),
    }
)
"""What the model of an operator shows, and operands for it."""


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for operator, (shows, operands) in _SUBJECTS.items():
        short = (*operands[:-1], operands[-1][:1])
        cases = [one_node("n and n", operator, *operands), one_node("n and 1", operator, *short)]
        yield bundle(_name(operator), shows, model(operator, *operands), cases)


def _name(operator: str) -> str:
    """The operator in small letters: `bitwise_and`."""
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in operator)
    return f"{words.lower().strip('_')}_of_one_size"


def one_node(name: str, operator: str, *operands: Array) -> Case:
    """Make a case of a model of one node that expects what the oracle says."""
    names = OPERATORS[operator].operand_names(len(operands))
    inputs = dict(zip(names, operands, strict=True))
    made = case(name, elementwise_outcome(operator, *operands), **inputs)
    return replace(made, operators=operator)


def model(operator: str, *operands: Array, attributes: str = "") -> onnx.ModelProto:
    """Make a model of one node whose inputs are declared with one size.

    Args:
        operator: The operator.
        *operands: Have the types of the inputs, the last of them that of the result too.
        attributes: The attributes of the node, as ONNX's textual syntax has them.
    """
    profiled = OPERATORS[operator]
    names = profiled.operand_names(len(operands))
    types = [element_type_of(operand) for operand in operands]
    inputs = ", ".join(f"{t}[n] {name}" for t, name in zip(types, names, strict=True))
    result = f"{profiled.result_type or types[-1]}[n] {profiled.result}"
    called = f"{operator} {attributes}({', '.join(names)})"
    node = f"[{NODE_NAMES[operator]}] {profiled.result} = {called}"
    opset = max(OPSET, profiled.versions[0])
    return parse(f"({inputs}) => ({result}) {{ {node} }}", opset=opset)
