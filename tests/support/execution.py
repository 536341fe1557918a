"""Runs an operator of the product, and gives its outcome as the oracle does."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import sonnx_ort
from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.custom_ops.violation_log import LOG
from sonnx_ort.errors import ContractViolation
from sonnx_ort.oracle import Violation
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.rewriting.options import Backend
from support.broadcasting import run
from support.graphs import binary_model
from support.kernels import kernel_of
from support.sessions import quiet

Array = npt.NDArray[Any]
Outcome = Array | Violation
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
        return _violation(LOG.take(int(-shape[0])))
    assert tuple(shape) == result.shape
    with np.errstate(all="ignore"):
        return np.asarray(result).astype(element_type.dtype)


def through_session(backend: Backend) -> Execution:
    """Give what enforces a model of one standard node with a backend, and runs it."""

    @functools.cache
    def session(
        operator: str, element_type: ElementType, edition: Edition, a_rank: int, b_rank: int
    ) -> sonnx_ort.InferenceSession:
        model = binary_model(operator, element_type, [None] * a_rank, [None] * b_rank)
        return sonnx_ort.InferenceSession(model, quiet(), edition=edition, backend=backend)

    def execution(
        operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
    ) -> Outcome:
        found = run(session(operator, element_type, edition, a.ndim, b.ndim), {"A": a, "B": b})
        if isinstance(found, ContractViolation):
            return _violation(found)
        (result,) = found
        return result

    execution.__name__ = f"through_{backend}_backend"
    return execution


EXECUTIONS: tuple[Execution, ...] = (through_kernel, *map(through_session, Backend))
"""Everything that has to do what the oracle says."""


def _violation(violation: BaseException | None) -> Violation:
    assert isinstance(violation, ContractViolation), violation
    if violation.values is None:
        return Violation(violation.rule, violation.index)
    a, b = violation.values
    return Violation(violation.rule, violation.index, (int(a), int(b)))
