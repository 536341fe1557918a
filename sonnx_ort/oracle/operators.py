"""The profile's operators on arrays: the result, or the first rule that is broken.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1). Of the other operators the rule about shapes is the same in both editions.
`domains` has the rules about elements, `single_operands` those of operators that are not
element-wise, which `tensors` computes.
"""

from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from sonnx_ort.oracle import elementwise, single_operands
from sonnx_ort.oracle.domains import Violation, violation_of_floats, violation_of_integers
from sonnx_ort.oracle.elements import Attributes, Operands, decoded_elements, encoded_elements
from sonnx_ort.oracle.tensors import tensor_result
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

NO_ATTRIBUTES: Attributes = MappingProxyType({})
"""What a node has where nothing is said."""

ZEROS_OF_EITHER_SIGN = frozenset({"Max", "Min", "Clip", "MatMul", "BatchNormalization"})
"""The operators that may give a zero of either sign where the operands are zeros of both.

So compare these by value. `outcome` takes 0 for larger than -0, as IEEE 754-2019 does (9.6).
"""

OPERATORS = elementwise.OPERATORS | single_operands.OPERATORS
"""The names of the operators that the oracle computes."""


def outcome(
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
) -> Array | Violation:
    """What an operator gives: the exact results, each rounded once.

    Args:
        operator: Its name.
        operands: All its operands, of any shapes, None in the places of those that are left out;
            conditions of a Where are of dtype bool, and what a Slice cuts by is of integers.
        element_type: The type of all other operands.
        edition: The edition of the profile. It decides which rule the operands of Div and Sub
            break, and what a zero divisor gives.
        attributes: The attributes of the node. By default a BitShift is to the left.

    Returns:
        The results, or the first rule that is broken. Where a result is NaN, any quiet NaN is
        right; of some operators a zero of either sign is, see `ZEROS_OF_EITHER_SIGN`. What else
        may be right of those that no finite arithmetic computes, `enclosure` says.

    Raises:
        ValueError: The operator does not take the type.
    """
    if operator in single_operands.OPERATORS:
        broken = single_operands.single_operand_violation(operator, operands, attributes)
        return broken or tensor_result(operator, operands, element_type, attributes)
    given = [operand for operand in operands if operand is not None]
    compute = elementwise.computation(operator, element_type, edition, attributes)
    if len({operand.shape for operand in given}) > 1:
        return Violation(_shape_rule(operator, element_type, edition))
    result_type = elementwise.result_type(operator, element_type, attributes)
    decoded = [decoded_elements(operand, element_type) for operand in given]
    broken = None
    if element_type.family is Family.INTEGER:
        broken = violation_of_integers(operator, given, element_type, edition)
    elif element_type.family is Family.FLOAT:
        broken = violation_of_floats(operator, given[0], decoded[0], result_type)
    if broken is not None:
        return broken
    results = [compute(*place) for place in zip(*decoded, strict=True)]
    return encoded_elements(results, result_type).reshape(given[0].shape)


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    if operator in ("Div", "Sub") and edition is Edition.PRELIMINARY:
        return f"{operator}.R1"
    return f"{operator}.{element_type.family}.R1"
