"""Makes the total function that ONNX Runtime calls out of an operator's arithmetic.

An exception that leaves a kernel ends the process (onnxruntime-extensions' `Compute` is
`noexcept`). So a kernel returns whatever comes in: on a violation it returns an impossible shape,
at which the `Reshape` behind it fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.kernel_output import KernelOutput, kernel_output
from sonnx_ort.custom_ops.violation_log import KERNEL_FAILURE, LOG
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.judgement import Offence
from sonnx_ort.profile.operand import format_shape
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.rule import Rule

Array = npt.NDArray[Any]
Arithmetic = Callable[[Array, Array, Edition], Array]
"""Computes the result from operands that keep all rules; it may write into the first of them."""

Kernel = Callable[..., tuple[KernelOutput, KernelOutput]]

_SHAPE = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class CustomOperator:
    """An operator of the domain `sonnx`: what it must keep, and how it computes.

    Attributes:
        operator: The profile's operator.
        arithmetic: The computation.
        element_types: The types that kernels are registered for.
    """

    operator: Operator
    arithmetic: Arithmetic
    element_types: tuple[ElementType, ...]


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
    arithmetic = custom.arithmetic

    def kernel(a: Array, b: Array, node: str, edition: str) -> tuple[KernelOutput, KernelOutput]:
        try:
            operands = (a, b)
            for rule in rules[edition]:
                offence = rule.requirement.offence(operands)
                if offence is not None:
                    error = _violation(custom.operator, rule, node, operands, offence)
                    return _failed(dtype, rule.code, error)
            result = arithmetic(a, b, editions[edition])
            return kernel_output(result, dtype), kernel_output(np.array(result.shape), _SHAPE)
        except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
            return _could_not_finish(dtype, custom.operator, node, error)

    return kernel


def _violation(
    operator: Operator, rule: Rule, node: str, operands: Sequence[Array], offence: Offence
) -> ContractViolation:
    shapes = tuple(operand.shape for operand in operands)
    shown = ", ".join(
        f"{letter} {format_shape(shape)}"
        for letter, shape in zip(operator.operands, shapes, strict=True)
    )
    return ContractViolation(
        f"{operator.name} '{node}' breaks {rule.id}: {offence.reason}; shapes {shown}. "
        f"The rule: {rule.sentence}",
        rule=rule.id,
        operator=operator.name,
        node=node,
        shapes=shapes,
        index=offence.index,
        values=offence.values,
    )


def _could_not_finish(
    dtype: np.dtype[Any], operator: Operator, node: str, error: BaseException
) -> tuple[KernelOutput, KernelOutput]:
    try:
        failure = SonnxError(
            f"sonnx::{operator.name}, node '{node}': the kernel could not finish: "
            f"{type(error).__name__}: {_text(error)}"
        )
        failure.__cause__ = error
        return _failed(dtype, KERNEL_FAILURE, failure)
    except BaseException:  # noqa: BLE001 - not even an error that cannot be told may leave
        return _impossible(dtype, KERNEL_FAILURE)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever a foreign error does when it is printed
        return "(an error that cannot be printed)"


def _failed(
    dtype: np.dtype[Any], code: int, error: BaseException
) -> tuple[KernelOutput, KernelOutput]:
    return _impossible(dtype, LOG.record(code, error))


def _impossible(dtype: np.dtype[Any], ticket: int) -> tuple[KernelOutput, KernelOutput]:
    # No tensor with elements can be made of an empty one, should a Reshape be fused away.
    return kernel_output(np.empty(0), dtype), kernel_output(np.array([-ticket]), _SHAPE)
