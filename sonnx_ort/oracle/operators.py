"""The profile's operators on arrays: the result, or the first violated rule.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1). For other operators the shape rule is the same in both editions. `domains` has
the rules on elements, `single_operands` those of operators that are not element-wise, which
`tensors` computes.
"""

from collections.abc import Container
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
"""The attributes of a node without any."""

ZEROS_OF_EITHER_SIGN = frozenset({"Max", "Min", "Clip", "MatMul", "BatchNormalization"})
"""Operators that may return a zero of either sign for zeros of both signs.

Compare their results by value. `outcome` considers 0 larger than -0, as IEEE 754-2019 does (9.6).
"""

OPERATORS = elementwise.OPERATORS | single_operands.OPERATORS
"""The operators that the oracle computes."""


def outcome(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    unneeded: Container[str] = frozenset(),
) -> Array | Violation:
    """The exact results of an operator, each rounded once, or the first violated rule.

    For a NaN result, any quiet NaN is correct; for some operators a zero of either sign is, see
    `ZEROS_OF_EITHER_SIGN`. For operators without a finite exact computation, `enclosure` gives
    other correct results.

    Args:
        operator: Its name.
        operands: All operands, of any shapes, None for omitted ones; conditions of a Where have
            dtype bool, and indices of a Slice are integers.
        element_type: The type of all other operands.
        edition: It determines the violated rule of Div and Sub, and the result for a zero divisor.
        attributes: The attributes of the node. The default direction of a BitShift is left.
        unneeded: Rules of `AGAINST_KERNELS` that do not count, because no kernel is wrong there.

    Raises:
        ValueError: The operator does not support the type.
    """
    if operator in single_operands.OPERATORS:
        broken = single_operands.single_operand_violation(operator, operands, attributes)
        return broken or tensor_result(operator, operands, element_type, attributes)
    present = [operand for operand in operands if operand is not None]
    compute = elementwise.computation(operator, element_type, edition, attributes)
    if len({operand.shape for operand in present}) > 1:
        return Violation(_shape_rule(operator, element_type, edition))
    result_type = elementwise.result_type(operator, element_type, attributes)
    decoded = [decoded_elements(operand, element_type) for operand in present]
    broken = None
    if element_type.family is Family.INTEGER:
        broken = violation_of_integers(operator, present, element_type, edition, unneeded=unneeded)
    elif element_type.family is Family.FLOAT:
        broken = violation_of_floats(operator, present[0], decoded[0], result_type)
    if broken is not None:
        return broken
    results = [compute(*place) for place in zip(*decoded, strict=True)]
    return encoded_elements(results, result_type).reshape(present[0].shape)


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    if operator in ("Div", "Sub") and edition is Edition.PRELIMINARY:
        return f"{operator}.R1"
    return f"{operator}.{element_type.family}.R1"
