"""From an ONNX Runtime error to the violation behind it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sonnx_ort.custom_ops.violation_log import CODE_BASE, LOG, tickets
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.runtime.interrupt import interrupts_deferred

_GUARD = re.compile(r"Name:'(?P<operator>\w+) '(?P<node>.*?)' breaks the SONNX profile;", re.DOTALL)
_RULES_BY_CODE = {rule.code: rule for rule in RULES.values()}


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


def violation_behind(message: str) -> BaseException | None:
    """Find the error that a kernel left under the ticket in a message.

    Args:
        message: The text of an ONNX Runtime error.

    Returns:
        The kernel's error, a `ContractViolation` unless the kernel could not finish; one made
        from the message where the kernel's is gone; None if the message has no ticket.
    """
    for ticket in tickets(message):
        error = LOG.take(ticket)
        if error is not None:
            return error
        rule = _RULES_BY_CODE.get(ticket % CODE_BASE)
        guard = _GUARD.search(message)
        if rule is not None and guard is not None:
            operator, node = guard["operator"], guard["node"]
            return ContractViolation(
                f"{operator} '{node}' breaks {rule.id}. The rule: {rule.sentence}",
                rule=rule.id,
                operator=operator,
                node=node,
            )
    return None
