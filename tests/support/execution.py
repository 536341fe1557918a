"""Runs an operator of the product, and gives its outcome as the oracle does."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.custom_ops.native_types import CARRIERS
from sonnx_ort.custom_ops.violation_log import LOG, tickets
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.reference import Breach
from support import ort_values
from support.graphs import binary_model
from support.kernels import kernel_of

Array = npt.NDArray[Any]
Outcome = Array | Breach
Execution = Callable[[str, Array, Array, ElementType, Edition], Outcome]
"""Computes `operator(a, b)` of an element type in an edition."""


def through_kernel(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> Outcome:
    """Call the kernel, as onnxruntime-extensions does: with arrays that then belong to it.

    Args:
        operator: "Div" or "Sub".
        a: The first operand; left as it is.
        b: The second operand; left as it is.
        element_type: The type of both; one that no kernel takes goes through its carrier.
        edition: The edition of the profile.
    """
    native = CARRIERS.get(element_type, element_type)
    kernel = kernel_of(operator, native)
    with np.errstate(invalid="ignore"):
        carried = [np.array(operand).astype(native.dtype) for operand in (a, b)]
    result, shape = kernel(*carried, "the_node", edition.value)
    if shape.size and shape[0] < 0:
        return _breach(int(-shape[0]))
    assert tuple(shape) == result.shape
    with np.errstate(all="ignore"):
        return np.asarray(result).astype(element_type.dtype)


def through_session(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> Outcome:
    """Rewrite a model of one standard node and run it in ONNX Runtime.

    Args:
        operator: "Div" or "Sub".
        a: The first operand.
        b: The second operand.
        element_type: The type of both.
        edition: The edition of the profile.
    """
    session = _session(operator, element_type, edition, a.ndim, b.ndim)
    try:
        (result,) = ort_values.run(session, {"A": a, "B": b})
    except Exception as error:
        raised = tickets(str(error))
        if not raised:
            raise
        return _breach(raised[0])
    return result


@functools.cache
def _session(
    operator: str, element_type: ElementType, edition: Edition, a_rank: int, b_rank: int
) -> ort.InferenceSession:
    shapes = [None] * a_rank, [None] * b_rank
    model = binary_model(operator, element_type, *shapes)
    enforced = sonnx_ort.rewrite(model, edition=edition.value)
    options = sonnx_ort.register()
    options.log_severity_level = 4
    return ort.InferenceSession(enforced.SerializeToString(), options)


def _breach(ticket: int) -> Breach:
    violation = LOG.take(ticket)
    assert isinstance(violation, ContractViolation), violation
    if violation.values is None:
        return Breach(violation.rule, violation.index)
    a, b = violation.values
    return Breach(violation.rule, violation.index, (int(a), int(b)))
