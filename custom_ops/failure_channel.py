"""How a violation is reported: an impossible shape, the name of a guard, and an error in the log.

How a rewritten model fails: by the name of a guard and an impossible dimension. A guard is a
`Reshape`. If a rule is violated it gets a shape with a dimension below -1, and ONNX Runtime's
message has the guard's name, and ends with that dimension. Its last four digits are the code of the
rule; the digits before, if any, are the number of an error in the log of the kernels.

A guard of one rule may also be a `Reshape` or an `Expand` to a shape that fails exactly if the rule
is violated. Then its name alone has the code.

How a kernel fails: with an error in the log, and an impossible shape. An exception in a kernel
would end the process. So the kernel stores its error here under a ticket, and returns the ticket as
the impossible dimension. The session finds the error of its run by the ticket, whichever thread the
kernel ran on.
"""

import contextlib
import itertools
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonnx_ort.custom_ops.definition import KernelOutput, kernel_output, shape_output
from sonnx_ort.errors import ContractViolation, SonnxError, escaped, restored
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.rule import Rule, Violation
from sonnx_ort.terms.operand import format_shape

CODE_BASE = 10_000
"""The last four decimal digits of a ticket are the code of the violated rule."""

KERNEL_FAILURE = CODE_BASE - 1
"""The code of a kernel that could not finish; no rule has it."""

_LABEL = r"(?P<operator>\w+) '(?P<node>.*{})' breaks the SONNX profile;"
_GUARD = re.compile(_LABEL.format(""), re.DOTALL)
_GUARD_IN_A_MESSAGE = re.compile("Name:'" + _LABEL.format("?"), re.DOTALL)
_GUARD_AT_THE_START = re.compile(
    rf".*Node \({_LABEL.format('?')}.*\) Op \(Reshape\) "
    r"\[ShapeInferenceError\] Invalid dimension value: -(?P<ticket>\d+)\s*",
    re.DOTALL,
)
"""ONNX Runtime's message if it finds before any run that a guard fails."""

GUARDING_OPERATORS = frozenset({"Reshape", "Expand"})
"""The operators of guards."""

_REFUSAL = re.compile(
    rf".*running (?:{'|'.join(sorted(GUARDING_OPERATORS))}) node\. "
    rf"Name:'{_LABEL.format('?')} the rule: (?P<code>\d+) [^']*' Status Message: "
    r"(?:(?!Status Message: ).)*"
    r"(?:invalid expand shape|cannot be reshaped to the requested shape)"
    r"(?:(?!Status Message: ).)*",
    re.DOTALL,
)
"""ONNX Runtime's message if a guard fails because of a shape."""

_DIMENSION = re.compile(r"A dimension cannot be less than -1, got -(\d+)")


@dataclass(frozen=True, slots=True)
class FailedGuard:
    """A guard that failed.

    Attributes:
        ticket: The impossible dimension, without its sign.
        operator: The operator of the guard; empty if the message does not have it.
        node: The name of the node; empty if the message does not have it.
    """

    ticket: int
    operator: str = ""
    node: str = ""

    @property
    def code(self) -> int:
        """The code of the violated rule."""
        return self.ticket % CODE_BASE


def guard_name(
    operator: str, node: str, rules: Sequence[Rule], remark: str = "", *, logged: bool = False
) -> str:
    """Make the name of a node's guard.

    Args:
        operator: The operator's name.
        node: The name of the original node; what does not print is escaped, because C strings
            end at NUL and a message is for people.
        rules: The rules of the node; the name lists those that a run can violate.
        remark: What the guard checks, if the rules do not say it.
        logged: Whether the impossible dimension is the ticket of an error, not a code alone.
    """
    decided = sorted((rule for rule in rules if rule.in_run), key=lambda rule: rule.code)
    numbers = (f"{rule.code:04}" if logged else f"-{rule.code}" for rule in decided)
    codes = ", ".join(f"{n} {rule.id}" for n, rule in zip(numbers, decided, strict=True))
    where = "last four digits of this message tell" if logged else "number at the end tells"
    return (
        f"{operator} '{escaped(node)}' breaks the SONNX profile; the {where} the rule: {codes}"
        + (f"; {remark}" if remark else "")
    )


def refusing_guard_name(operator: str, node: str, rule: Rule) -> str:
    """Make the name of a guard that fails exactly if one rule is violated."""
    return f"{operator} '{escaped(node)}' breaks the SONNX profile; the rule: {rule.code} {rule.id}"


def telling_guard_name(operator: str, node: str, rules: Sequence[Rule], remark: str) -> str:
    """Make the name of a compiled guard, which says itself which rule is violated."""
    decided = sorted(rules, key=lambda rule: rule.code)
    codes = ", ".join(f"{rule.code} {rule.id}" for rule in decided)
    named = f"{operator} '{escaped(node)}' breaks the SONNX profile; the rules: {codes}"
    return named + (f"; {remark}" if remark else "")


def guarded_node(name: str) -> str | None:
    """The operator and node of a guard's name, such as "Div 'scale'"; None for other names."""
    found = _GUARD.match(name)
    return None if found is None else f"{found['operator']} '{found['node']}'"


def failed_guards(message: str) -> list[FailedGuard]:
    """Find the guards that failed in the text of an ONNX Runtime error.

    Args:
        message: The text. For a node with a subgraph it ends with the message of the subgraph. The
            text before the last status has names, which a model can choose.
    """
    _, _, status = message.rpartition("Status Message:")
    tickets = _DIMENSION.findall(status)
    if tickets:
        guard = _GUARD_IN_A_MESSAGE.search(message)
        return [_failed(ticket, guard) for ticket in tickets]
    refusal = _REFUSAL.fullmatch(message)
    if refusal is not None:
        return [_failed(refusal["code"], refusal)]
    guard = _GUARD_AT_THE_START.fullmatch(message)
    if guard is None:
        return []
    return [_failed(guard["ticket"], guard)]


def _failed(ticket: str, guard: re.Match[str] | None) -> FailedGuard:
    if guard is None:
        return FailedGuard(int(ticket))
    return FailedGuard(int(ticket), guard["operator"], restored(guard["node"]))


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
