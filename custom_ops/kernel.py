"""Makes the total function that ONNX Runtime calls out of an operator's arithmetic.

An exception that leaves a kernel ends the process (onnxruntime-extensions' `Compute` is
`noexcept`). So a kernel returns whatever comes in: on a violation it returns an impossible shape,
at which the `Reshape` behind it fails.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.definition import Kernel, KernelDefinition
from sonnx_ort.custom_ops.failure import could_not_finish, failed, violation
from sonnx_ort.custom_ops.kernel_output import KernelOutput, kernel_output
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import Operator

Array = npt.NDArray[Any]
Arithmetic = Callable[[Array, Array, Edition], Array]
"""Computes the result from operands that keep all rules; it may write into the first of them."""

ATTRIBUTES = ("node", "edition")
"""The attributes of an element-wise operator."""

_SHAPE = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class CustomOperator:
    """An element-wise operator of two operands: what it must keep, and how it computes.

    Attributes:
        operator: The profile's operator.
        arithmetic: The computation.
        element_types: The types that kernels are registered for.
    """

    operator: Operator
    arithmetic: Arithmetic
    element_types: tuple[ElementType, ...]

    def definitions(self) -> tuple[KernelDefinition, ...]:
        """One kernel for each type."""
        operands = len(self.operator.operands)
        return tuple(
            KernelDefinition(
                name=self.operator.name,
                operator=self.operator,
                inputs=(element_type,) * operands,
                output=element_type,
                attributes=ATTRIBUTES,
                kernel=make_kernel(self, element_type),
            )
            for element_type in self.element_types
        )


def make_kernel(custom: CustomOperator, element_type: ElementType) -> Kernel:
    """Make the kernel of an operator for one element type.

    Args:
        custom: The operator.
        element_type: The type of both operands and of the result.

    Returns:
        A function of the two operands and of the node's attributes `node` and `edition`. It gives
        the result and its shape; on a violation an empty result and the shape `[-ticket]`. It
        never raises.
    """
    dtype = element_type.dtype
    rules = {
        edition.value: tuple(
            rule for rule in custom.operator.rules(edition, element_type.family) if rule.in_run
        )
        for edition in Edition
    }
    editions = {edition.value: edition for edition in Edition}
    operator, arithmetic = custom.operator, custom.arithmetic

    def kernel(a: Array, b: Array, node: str, edition: str) -> tuple[KernelOutput, KernelOutput]:
        try:
            operands = (a, b)
            for rule in rules[edition]:
                offence = rule.requirement.offence(operands)
                if offence is not None:
                    shapes = (a.shape, b.shape)
                    error = violation(operator, rule, node, operator.operands, shapes, offence)
                    return failed(dtype, rule.code, error)
            result = arithmetic(a, b, editions[edition])
            return kernel_output(result, dtype), kernel_output(np.array(result.shape), _SHAPE)
        except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
            return could_not_finish(dtype, operator.name, node, error)

    return kernel
