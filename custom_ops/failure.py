"""How a kernel fails: an error in the log, and an impossible shape."""

from typing import Any

import numpy as np

from sonnx_ort.custom_ops.kernel_output import KernelOutput, kernel_output
from sonnx_ort.custom_ops.violation_log import KERNEL_FAILURE, LOG
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.profile.judgement import Offence
from sonnx_ort.profile.operand import format_shape
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.rule import Rule

Outputs = tuple[KernelOutput, KernelOutput]

_SHAPE = np.dtype(np.int64)


def violation(  # noqa: PLR0913, PLR0917 - all that the error tells
    operator: Operator,
    rule: Rule,
    node: str,
    letters: tuple[str, ...],
    shapes: tuple[tuple[int, ...], ...],
    offence: Offence,
) -> ContractViolation:
    """Make the error for a broken rule.

    Args:
        operator: The operator.
        rule: The rule.
        node: The name of the original node.
        letters: What the operands are called.
        shapes: Their shapes.
        offence: What broke the rule.
    """
    shown = ", ".join(
        f"{letter} {format_shape(shape)}" for letter, shape in zip(letters, shapes, strict=True)
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


def failed(dtype: np.dtype[Any], code: int, error: BaseException) -> Outputs:
    """Record an error, and give what a kernel returns for it.

    Args:
        dtype: The dtype of the kernel's result.
        code: The code of the violated rule.
        error: The error.
    """
    return _impossible(dtype, LOG.record(code, error))


def could_not_finish(
    dtype: np.dtype[Any], operator: str, node: str, error: BaseException
) -> Outputs:
    """Record that a kernel could not compute its result; never raises.

    Args:
        dtype: The dtype of the kernel's result.
        operator: The operator's name.
        node: The name of the original node.
        error: What kept the kernel from it.
    """
    try:
        failure = SonnxError(
            f"sonnx::{operator}, node '{node}': the kernel could not finish: "
            f"{type(error).__name__}: {_text(error)}"
        )
        failure.__cause__ = error
        return failed(dtype, KERNEL_FAILURE, failure)
    except BaseException:  # noqa: BLE001 - not even an error that cannot be told may leave
        return _impossible(dtype, KERNEL_FAILURE)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever a foreign error does when it is printed
        return "(an error that cannot be printed)"


def _impossible(dtype: np.dtype[Any], ticket: int) -> Outputs:
    # No tensor with elements can be made of an empty one, should a Reshape be fused away.
    return kernel_output(np.empty(0), dtype), kernel_output(np.array([-ticket]), _SHAPE)
