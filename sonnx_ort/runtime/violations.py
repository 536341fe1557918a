"""From an ONNX Runtime error to the violation behind it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from sonnx_ort.custom_ops.violation_log import CODE_BASE, LOG, tickets
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.runtime.interrupt import interrupts_deferred

_GUARD = re.compile(r"Name:'(?P<operator>\w+) '(?P<node>.*?)' breaks the SONNX profile;", re.DOTALL)
_GUARD_AT_THE_START = re.compile(
    r".*Node \((?P<operator>\w+) '(?P<node>.*?)' breaks the SONNX profile;.*\) Op \(Reshape\) "
    r"\[ShapeInferenceError\] Invalid dimension value: -(?P<ticket>\d+)\s*",
    re.DOTALL,
)
"""What ONNX Runtime says where it knows before all runs that a guard refuses what reaches it."""

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
        raise found from error


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
    for ticket in tickets(message):
        error = LOG.take(ticket)
        if error is not None:
            return error
        told = _told(_GUARD.search(message), ticket)
        if told is not None:
            return told
    found = _GUARD_AT_THE_START.fullmatch(message)
    return None if found is None else _told(found, int(found["ticket"]))


def _told(guard: re.Match[str] | None, ticket: int) -> ContractViolation | None:
    """The violation as far as a message tells it."""
    rule = _RULES_BY_CODE.get(ticket % CODE_BASE)
    if rule is None or guard is None:
        return None
    operator, node = guard["operator"], guard["node"]
    return ContractViolation(
        f"{operator} '{node}' breaks {rule.id}. The rule: {rule.sentence}",
        rule=rule.id,
        operator=operator,
        node=node,
    )
