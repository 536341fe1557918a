"""The profile's rules on operands: the first that is violated, or what comes of the operands.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1). For other operators the shape rule is the same in both editions. `domains` has
the rules on elements, `single_operands` those of operators that are not element-wise.
"""

from collections.abc import Container
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from sonnx_ort.oracle import elementwise, single_operands
from sonnx_ort.oracle.domains import Violation, domain, violation_of_elements
from sonnx_ort.oracle.elements import Attributes, Operands, decoded_elements
from sonnx_ort.oracle.meaning import meaning
from sonnx_ort.oracle.results import Undefined
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

NO_ATTRIBUTES: Attributes = MappingProxyType({})
"""The attributes of a node without any."""

ZEROS_OF_EITHER_SIGN = frozenset({"Max", "Min", "Clip", "MatMul", "BatchNormalization"})
"""Operators that may return a zero of either sign for zeros of both signs.

Compare their results by value. The oracle considers 0 larger than -0, as IEEE 754-2019 does (9.6).
"""

OPERATORS = elementwise.OPERATORS | single_operands.OPERATORS
"""The operators that have an `outcome`."""

_NEWEST = 1 << 10
"""A version in which all operators have their newest meaning."""


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
    `ZEROS_OF_EITHER_SIGN`. For operators without a finite exact computation, `meaning` admits
    other results too.

    Args:
        operator: Its name.
        operands: All operands, of any shapes, None for omitted ones; conditions of a Where have
            dtype bool, and indices of a Slice are integers.
        element_type: The type of all other operands.
        edition: It determines the violated rule of Div and Sub, and the result for a zero divisor.
        attributes: The attributes of the node. The default direction of a BitShift is left.
        unneeded: Rules of `AGAINST_KERNELS` that do not count, because no kernel is wrong there.

    Raises:
        ValueError: The operator does not support the type, or the operands do not fit each other.
    """
    broken = violation(operator, operands, element_type, edition, attributes, unneeded=unneeded)
    if broken is not None:
        return broken
    found = meaning(operator, _NEWEST, attributes, operands, edition)
    if not isinstance(found, Undefined):
        return found[0].nearest
    raise ValueError(f"{operator} has no result: {found.reason}")


def violation(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    unneeded: Container[str] = frozenset(),
) -> Violation | None:
    """The first rule that operands violate; the arguments are those of `outcome`.

    Raises:
        ValueError: The operator does not support the type.
    """
    if operator in single_operands.OPERATORS:
        return single_operands.single_operand_violation(operator, operands, attributes)
    elementwise.computation(operator, element_type, edition, attributes)
    present = [operand for operand in operands if operand is not None]
    if len({operand.shape for operand in present}) > 1:
        return Violation(_shape_rule(operator, element_type, edition))
    result_type = elementwise.result_type(operator, element_type, attributes)
    bounds = domain(operator, element_type, result_type, len(present), unneeded)
    if not bounds.rules:
        return None
    decoded = [decoded_elements(operand, element_type) for operand in present]
    return violation_of_elements(bounds, present, decoded, edition)


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    if operator in ("Div", "Sub") and edition is Edition.PRELIMINARY:
        return f"{operator}.R1"
    return f"{operator}.{element_type.family}.R1"
