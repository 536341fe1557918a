"""Calls kernels directly, without ONNX Runtime."""

import dataclasses
from typing import Any

import numpy.typing as npt

from sonnx_ort.custom_ops.definition import Kernel
from sonnx_ort.custom_ops.div import CUSTOM_DIV
from sonnx_ort.custom_ops.kernel import Arithmetic, CustomOperator, make_kernel
from sonnx_ort.custom_ops.sub import CUSTOM_SUB
from sonnx_ort.custom_ops.violation_log import CODE_BASE, LOG
from sonnx_ort.profile.element_type import ElementType

CUSTOM_OPERATORS: dict[str, CustomOperator] = {"Div": CUSTOM_DIV, "Sub": CUSTOM_SUB}


def kernel_of(operator: str, element_type: str) -> Kernel:
    """Make the kernel of an operator for an element type, both by ONNX name."""
    return make_kernel(CUSTOM_OPERATORS[operator], ElementType(element_type))


def kernel_with(arithmetic: Arithmetic) -> Kernel:
    """Make the kernel of a float `Div` that computes something else."""
    return make_kernel(dataclasses.replace(CUSTOM_DIV, arithmetic=arithmetic), ElementType.FLOAT)


def failure_of(outputs: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> tuple[int, BaseException]:
    """Take the code and the error of a failed call out of the log.

    Args:
        outputs: What the kernel gave.

    Returns:
        The code in the ticket, and the error that was recorded under it.
    """
    result, shape = outputs
    assert result.shape == (0,), f"the kernel gave a result: {result!r}"
    assert shape.shape == (1,)
    ticket = -int(shape[0])
    error = LOG.take(ticket)
    assert error is not None
    return ticket % CODE_BASE, error
