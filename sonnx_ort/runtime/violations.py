"""From an ONNX Runtime error to the violation behind it."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, MappingProxyType

from sonnx_ort.custom_ops.failure_channel import FailedGuard, failed_guards
from sonnx_ort.custom_ops.violation_log import LOG
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.catalog import RULES


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Let SIGINT wait until the block ends.

    Python runs signal handlers in the main thread between any two instructions, so a
    KeyboardInterrupt could be raised where onnxruntime-extensions calls a kernel, outside of
    anything that could catch it; there it ends the process with SIGABRT. Other threads are never
    interrupted, and a handler that is not Python's own is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(number)

    previous = signal.getsignal(signal.SIGINT)
    if not callable(previous):
        yield
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if received:
            signal.raise_signal(signal.SIGINT)


_RULES_BY_CODE = {rule.code: rule for rule in RULES.values()}


NOT_RENAMED: Mapping[str, str] = MappingProxyType({})
"""The guards bear their own names."""


@contextmanager
def violations_raised() -> Iterator[None]:
    """Raise the violation that made a run fail in the place of ONNX Runtime's error."""
    try:
        with interrupts_deferred():
            yield
    except Exception as error:
        found = violation_behind(str(error))
        if found is None:
            raise
        try:
            raise found from error
        finally:
            # An error that its own traceback leads to keeps the run's feeds until a collection.
            del found


def violation_behind(
    message: str, renamed: Mapping[str, str] = NOT_RENAMED
) -> BaseException | None:
    """Find the error that a kernel left under the ticket in a message.

    Args:
        message: The text of an ONNX Runtime error.
        renamed: The guards' names by those that ONNX Runtime gave to their nodes.

    Returns:
        The kernel's error, a `ContractViolation` unless the kernel could not finish; one made
        from the message where the kernel's is gone, or where no kernel failed; None if the message
        has no ticket.
    """
    for name, guard_name in renamed.items():
        message = message.replace(f"Name:'{name}'", f"Name:'{guard_name}'")
    for guard in failed_guards(message):
        error = LOG.take(guard.ticket) or _told(guard)
        if error is not None:
            return error
    return None


def _told(guard: FailedGuard) -> ContractViolation | None:
    """The violation as far as a message tells it."""
    rule = _RULES_BY_CODE.get(guard.code)
    if rule is None or not guard.operator:
        return None
    return ContractViolation(
        f"{guard.operator} '{guard.node}' breaks {rule.id}. The rule: {rule.sentence}",
        rule=rule.id,
        operator=guard.operator,
        node=guard.node,
    )
