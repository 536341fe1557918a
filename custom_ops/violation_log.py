"""How a kernel fails: with an error in the log, and an impossible shape.

An exception in a kernel would end the process. So the kernel stores its error here under a ticket,
and returns the ticket as the impossible dimension. The session finds the error of its run by the
ticket, whichever thread the kernel ran on.
"""

import contextlib
import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from sonnx_ort.custom_ops.definition import KernelOutput, kernel_output, shape_output
from sonnx_ort.custom_ops.failure_channel import CODE_BASE, KERNEL_FAILURE
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.rule import Rule, Violation
from sonnx_ort.terms.operand import format_shape

CAPACITY = 4096
"""The maximum number of errors; the oldest are dropped. Plain sessions never take their errors."""

Outputs = tuple[KernelOutput, KernelOutput]

_logger = logging.getLogger("sonnx_ort")


class ViolationLog:
    """A bounded, thread-safe store of errors by ticket."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._errors: OrderedDict[int, BaseException] = OrderedDict()
        self._serials = itertools.count(1)
        self._raising: set[int] = set()
        self._unlogged: dict[int, BaseException] = {}
        self._lock = threading.Lock()

    def record(self, code: int, error: BaseException) -> int:
        """Store an error, log it with the logger `sonnx_ort`, and return its ticket.

        It is not logged while a run may take it.

        Returns:
            A number that is unique in this process; its last four digits are the code.
        """
        with self._lock:
            ticket = next(self._serials) * CODE_BASE + code
            self._errors[ticket] = self._unlogged[ticket] = error
            while len(self._errors) > self._capacity:
                self._errors.popitem(last=False)
        self._log_untaken()
        return ticket

    def take(self, ticket: int) -> BaseException | None:
        """Remove and return the error of a ticket; None if it is gone."""
        with self._lock:
            self._unlogged.pop(ticket, None)
            return self._errors.pop(ticket, None)

    @contextlib.contextmanager
    def errors_raised(self) -> Iterator[None]:
        """In this block a run takes its errors, and raises them instead of logging.

        Errors do not tell of which run they are: what is recorded meanwhile, and not taken, is
        logged after the block.
        """
        with self._lock:
            started = next(self._serials) * CODE_BASE
            self._raising.add(started)
        try:
            yield
        finally:
            with self._lock:
                self._raising.remove(started)
            self._log_untaken()

    def _log_untaken(self) -> None:
        """Log the errors that no run can take: all that are in progress began later."""
        with self._lock:
            oldest = min(self._raising, default=None)
            untaken = [
                self._unlogged.pop(ticket)
                for ticket in list(self._unlogged)
                if oldest is None or ticket < oldest or ticket not in self._errors
            ]
        for error in untaken:
            # A logging handler of the caller may raise, but no exception may leave a kernel.
            with contextlib.suppress(Exception):
                _logger.error("%s", error)


LOG = ViolationLog()
"""The log of all kernels of this process."""


def contract_violation(  # noqa: PLR0913, PLR0917 - all that the error tells
    operator: Operator,
    rule: Rule,
    node: str,
    names: tuple[str, ...],
    shapes: tuple[tuple[int, ...], ...],
    violation: Violation,
) -> ContractViolation:
    """Make the error for a violated rule."""
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
    """Record an error, and return what a kernel returns for it, with results of a dtype."""
    return _impossible(dtype, LOG.record(code, error))


def kernel_failed(dtype: np.dtype[Any], operator: str, node: str, error: BaseException) -> Outputs:
    """Record that a kernel could not compute its result; never raises."""
    try:
        failure = SonnxError(
            f"sonnx::{operator}, node '{node}': the kernel could not finish: "
            f"{type(error).__name__}: {_text(error)}"
        )
        failure.__cause__ = error
        return failed(dtype, KERNEL_FAILURE, failure)
    except BaseException:  # noqa: BLE001 - no exception may leave a kernel, not even from a repr
        return _impossible(dtype, KERNEL_FAILURE)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever a foreign error does when it is printed
        return "(an error that cannot be printed)"


def _impossible(dtype: np.dtype[Any], ticket: int) -> Outputs:
    # An empty result cannot be reshaped to a tensor with elements, should a Reshape be fused away.
    return kernel_output(np.empty(0), dtype), shape_output((-ticket,))
