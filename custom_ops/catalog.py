"""All operators and kernels of the domain `sonnx`."""

from collections.abc import Mapping
from types import MappingProxyType

from sonnx_ort.custom_ops.arithmetic import ARITHMETIC, SELECTING
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.custom_ops.inspection import (
    ALIGNED_SHAPE,
    BROADCAST_SHAPE,
    CHECKED_ELEMENTS,
    CHECKED_SIZES,
    Inspection,
)
from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import CARRIERS
from sonnx_ort.profile.operator import Operator

_PASSED_OPERANDS = {"Mod": 1}
"""The operand that a custom operator passes on, if it is not the first.

If the divisors of a Mod are constant and one is zero, ONNX Runtime creates no session, with an
error that names no node, or the process ends.
"""


def _custom_operator(operator: Operator) -> CustomOperator | Inspection | None:
    """The custom operator; None if no run can violate a rule and ONNX Runtime computes it."""
    arithmetic = ARITHMETIC.get(operator.name)
    if arithmetic is None and not operator.checked_in_runs:
        return None
    if not operator.elementwise:
        return Inspection(operator)
    # A result computed in a wider type is rounded a second time; an element of an operand is not.
    exact = arithmetic is None or operator.rounds_once or operator.name in SELECTING
    carriers = CARRIERS if exact else {}
    position = _PASSED_OPERANDS.get(operator.name, 0)
    return CustomOperator(operator, arithmetic, carriers, position)


CUSTOM_OPERATORS: Mapping[str, CustomOperator | Inspection] = MappingProxyType(
    {
        name: custom
        for name, operator in OPERATORS.items()
        if name in STANDARD_OPERATORS and (custom := _custom_operator(operator)) is not None
    }
)
"""The custom operators, by the standard operators of the profile that need one."""

KERNEL_DEFINITIONS: tuple[KernelDefinition, ...] = (
    *(kernel for custom in CUSTOM_OPERATORS.values() for kernel in custom.definitions()),
    BROADCAST_SHAPE,
    ALIGNED_SHAPE,
    *CHECKED_ELEMENTS,
    CHECKED_SIZES,
)
"""All kernels, one for each combination of types."""
