"""How a rewritten model fails: by the name of a guard and an impossible dimension.

A guard is a `Reshape`. If a rule is violated it gets a shape with a dimension below -1, and ONNX
Runtime's message has the guard's name and that dimension. Its last four digits are the code of the
rule; the digits before, if any, are the number of an error in the log of the kernels.

A guard of one rule may also be a `Reshape` or an `Expand` to a shape that fails exactly if the rule
is violated. Then its name alone has the code.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sonnx_ort.printable import escaped, restored
from sonnx_ort.profile.rule import Rule

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


def guard_name(operator: str, node: str, rules: Sequence[Rule], remark: str = "") -> str:
    """Make the name of a node's guard.

    Args:
        operator: The operator's name.
        node: The name of the original node; what does not print is escaped, because C strings
            end at NUL and a message is for people.
        rules: The rules of the node; the name lists those that a run can violate.
        remark: What the guard checks, if the rules do not say it.
    """
    decided = sorted((rule for rule in rules if rule.in_run), key=lambda rule: rule.code)
    codes = ", ".join(f"{rule.code} {rule.id}" for rule in decided)
    return (
        f"{operator} '{escaped(node)}' breaks the SONNX profile; "
        f"the last four digits of the dimension below tell the rule: {codes}"
        + (f"; {remark}" if remark else "")
    )


def refusing_guard_name(operator: str, node: str, rule: Rule) -> str:
    """Make the name of a guard that fails exactly if one rule is violated."""
    return f"{operator} '{escaped(node)}' breaks the SONNX profile; the rule: {rule.code} {rule.id}"


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
