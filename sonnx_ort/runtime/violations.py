"""From an ONNX Runtime error to the violation behind it."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from sonnx_ort.custom_ops.violation_log import CODE_BASE, LOG, tickets
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.runtime.interrupt import interrupts_deferred

_GUARD = re.compile(r"Name:'(?P<operator>\w+) '(?P<node>.*?)' breaks the SONNX profile;", re.DOTALL)
_RULES_BY_CODE = {rule.code: rule for rule in RULES.values()}


NOT_RENAMED: Mapping[str, str] = MappingProxyType({})
"""The guards bear their own names."""

Explain = Callable[[ContractViolation], ContractViolation]
"""Finds out more about a violation of which only the message is known."""


@contextmanager
def violations_raised(
    renamed: Mapping[str, str] = NOT_RENAMED, explain: Explain | None = None
) -> Iterator[None]:
    """Raise the violation that made a run fail in the place of ONNX Runtime's error.

    Args:
        renamed: The guards' names by those that ONNX Runtime gave to their nodes.
        explain: Finds out what the message does not tell.
    """
    try:
        with interrupts_deferred():
            yield
    except Exception as error:
        found = violation_behind(str(error), renamed)
        if found is None:
            raise
        if explain is not None and isinstance(found, ContractViolation):
            found = explain(found)
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
