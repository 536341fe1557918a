"""Calls kernels directly, without ONNX Runtime."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy

from sonnx_ort.custom_ops.arithmetic import Arithmetic
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.definition import Kernel
from sonnx_ort.custom_ops.failure_channel import CODE_BASE, LOG
from sonnx_ort.custom_ops.kernel import make_kernel
from sonnx_ort.profile.element_type import ElementType

INTEGERS = hypothesis_numpy.arrays(
    np.int64,
    hypothesis_numpy.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
    elements=st.integers(-2, 9) | st.sampled_from([-(2**63), 2**63 - 1]),
)
"""What a model may feed a kernel as sizes and ranks."""


def kernel_of(operator: str, element_type: str) -> Kernel:
    """Make the kernel of an operator for an element type, both by ONNX name."""
    return _called_plainly(make_kernel(CUSTOM_OPERATORS[operator], ElementType(element_type)))


def kernel_with(arithmetic: Arithmetic) -> Kernel:
    """Make the kernel of a float `Div` that computes something else."""
    custom = dataclasses.replace(CUSTOM_OPERATORS["Div"], arithmetic=arithmetic)
    return _called_plainly(make_kernel(custom, ElementType.FLOAT))


def _called_plainly(kernel: Kernel) -> Kernel:
    """The kernel, with the attributes `node` and `edition` behind its operands."""

    def called(*arguments: Any) -> Any:
        *operands, node, edition = arguments
        return kernel(*operands, node=node, edition=edition)

    return called


def failure_of(outputs: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> tuple[int, BaseException]:
    """Take the code and the error of a failed call out of the log.

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
