"""How a kernel fails: an error in the log, and an impossible shape.

A kernel cannot raise: an exception in it ends the process. It leaves its error here under a
ticket, and the ticket is the impossible dimension by which the model fails, so that the session
finds the error of its own run, whichever thread the kernel ran on.
"""

import contextlib
import itertools
import logging
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from sonnx_ort.custom_ops.definition import KernelOutput, kernel_output, shape_output
from sonnx_ort.custom_ops.failure_channel import CODE_BASE, KERNEL_FAILURE
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.profile.operand import format_shape
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.rule import Rule, Violation

CAPACITY = 4096
"""Errors kept; beyond it the oldest go. A plain onnxruntime session never collects its errors."""

Outputs = tuple[KernelOutput, KernelOutput]

_logger = logging.getLogger("sonnx_ort")


class ViolationLog:
    """A bounded, thread-safe store of errors by ticket."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._errors: OrderedDict[int, BaseException] = OrderedDict()
        self._serials = itertools.count(1)
        self._lock = threading.Lock()

    def record(self, code: int, error: BaseException) -> int:
        """Keep an error, write it to the logger `sonnx_ort`, and give its ticket.

        Args:
            code: The code of the violated rule.
            error: The error that the session is to raise.

        Returns:
            A number that is unique in this process; its last four digits are the code.
        """
        ticket = next(self._serials) * CODE_BASE + code
        with self._lock:
            self._errors[ticket] = error
            while len(self._errors) > self._capacity:
                self._errors.popitem(last=False)
        # A handler of the caller's may raise, and this is called where nothing may.
        with contextlib.suppress(Exception):
            _logger.error("%s", error)
        return ticket

    def take(self, ticket: int) -> BaseException | None:
        """Hand out the error of a ticket, once; None if it is gone."""
        with self._lock:
            return self._errors.pop(ticket, None)


LOG = ViolationLog()
"""The log that all kernels of this process write to."""


def contract_violation(  # noqa: PLR0913, PLR0917 - all that the error tells
    operator: Operator,
    rule: Rule,
    node: str,
    names: tuple[str, ...],
    shapes: tuple[tuple[int, ...], ...],
    violation: Violation,
) -> ContractViolation:
    """Make the error for a broken rule.

    Args:
        operator: The operator.
        rule: The rule.
        node: The name of the original node.
        names: What the operands are called.
        shapes: Their shapes.
        violation: What broke the rule.
    """
    shown = ", ".join(
        f"{name} {format_shape(shape)}" for name, shape in zip(names, shapes, strict=True)
    )
    return ContractViolation(
        f"{operator.name} '{node}' breaks {rule.id}: {violation.reason}; shapes {shown}. "
        f"The rule: {rule.sentence}",
        rule=rule.id,
        operator=operator.name,
        node=node,
        shapes=shapes,
        index=violation.index,
        values=violation.values,
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
    return kernel_output(np.empty(0), dtype), shape_output((-ticket,))
