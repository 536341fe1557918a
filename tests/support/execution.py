"""Runs an operator of the product, by its kernel or by sessions, and gives its outcome."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from restrictions import Violation

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.custom_ops.arithmetic import Arithmetic
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.definition import Kernel
from sonnx_ort.custom_ops.failure_channel import CODE_BASE, LOG
from sonnx_ort.custom_ops.kernel import make_kernel
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.broadcasting import run
from support.changes import unneeded
from support.elementwise import Single
from support.sessions import quiet

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


Array = npt.NDArray[Any]
Outcome = Array | Violation
Execution = Callable[[str, Sequence[Array], ElementType, Edition], Outcome]
"""Computes an operator on operands of an element type in an edition."""


def through_kernel(
    operator: str, operands: Sequence[Array], element_type: ElementType, edition: Edition
) -> Outcome:
    """Call the kernel, as onnxruntime-extensions does: with arrays that then belong to it.

    Args:
        operator: The name of an operator that `computes_in_kernel`.
        operands: Its operands; left as they are.
        element_type: The type of all; one that no kernel takes goes through its carrier.
        edition: The edition of the profile.
    """
    native = CUSTOM_OPERATORS[operator].carriers.get(element_type, element_type)
    kernel = kernel_of(operator, native)
    with np.errstate(invalid="ignore"):
        carried = [np.array(operand).astype(native.dtype) for operand in operands]
    if OPERATORS[operator].repeated_operand is not None:
        # A kernel has as many inputs as it says: the elements of all operands are one of them.
        sizes = np.array([size for each in carried for size in each.shape], np.int64)
        ranks = np.array([each.ndim for each in carried], np.int64)
        carried = [np.concatenate([each.ravel() for each in carried]), sizes, ranks]
    result, shape = kernel(*carried, "the_node", edition.value)
    if shape.size and shape[0] < 0:
        return _violation(LOG.take(int(-shape[0])))
    assert tuple(shape) == result.shape
    if OPERATORS[operator].result_type is not None:
        return np.asarray(result)
    with np.errstate(all="ignore"):
        return np.asarray(result).astype(element_type.dtype)


def computes_in_kernel(operator: str) -> bool:
    """Whether the kernel of an operator computes it; of others a standard node does."""
    custom = CUSTOM_OPERATORS.get(operator)
    return custom is not None and custom.arithmetic is not None


def through_session(backend: Backend) -> Execution:
    """Give what enforces a model of one standard node with a backend, and runs it."""

    @functools.cache
    def session(
        operator: str, element_type: ElementType, edition: Edition, ranks: tuple[int, ...]
    ) -> sonnx_ort.InferenceSession:
        model = Single(OPERATORS[operator], element_type, len(ranks)).model(ranks)
        return sonnx_ort.InferenceSession(
            model, quiet(), edition=edition, backend=backend, operators="all,-Graph"
        )

    def execution(
        operator: str, operands: Sequence[Array], element_type: ElementType, edition: Edition
    ) -> Outcome:
        names = OPERATORS[operator].operand_names(len(operands))
        ranks = tuple(operand.ndim for operand in operands)
        feeds = dict(zip(names, operands, strict=True))
        found = run(session(operator, element_type, edition, ranks), feeds)
        if isinstance(found, ContractViolation):
            return _violation(found)
        (result,) = found
        return result

    execution.__name__ = f"through_{backend}_backend"
    return execution


def unneeded_by(execution: Execution) -> frozenset[str]:
    """The rules against kernels that an execution does not enforce."""
    return unneeded("python" if execution in EXECUTIONS[:2] else "native")


EXECUTIONS: tuple[Execution, ...] = (through_kernel, *map(through_session, Backend))
"""Everything that has to do what the oracle says."""


def _violation(violation: BaseException | None) -> Violation:
    assert isinstance(violation, ContractViolation), violation
    if violation.values is None:
        return Violation(violation.rule, violation.index)
    return Violation(violation.rule, violation.index, tuple(violation.values))
