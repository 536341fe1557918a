"""The channel by which an enforced model fails: the name of a guard, and an impossible dimension.

A guard is a `Reshape`. Where a rule is broken it is asked for a shape with a dimension below -1,
and what ONNX Runtime says then holds the guard's name and that dimension. Its last four digits are
the code of the rule; what stands before them, if anything, is the serial number of an error in the
log of the kernels.

A guard of one rule may also be a `Reshape` or an `Expand` to a shape that what breaks the rule
cannot take. Its name alone tells the code.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
"""What ONNX Runtime says where it knows before all runs that a guard refuses what reaches it."""

GUARDING_OPERATORS = frozenset({"Reshape", "Expand"})
"""The operators that guards are."""

_REFUSAL = re.compile(
    rf".*running (?:{'|'.join(sorted(GUARDING_OPERATORS))}) node\. "
    rf"Name:'{_LABEL.format('?')} the rule: (?P<code>\d+) [^']*' Status Message: "
    r"(?:(?!Status Message: ).)*"
    r"(?:invalid expand shape|cannot be reshaped to the requested shape)"
    r"(?:(?!Status Message: ).)*",
    re.DOTALL,
)
"""What ONNX Runtime says of a guard that refuses what cannot take a shape."""

_DIMENSION = re.compile(r"A dimension cannot be less than -1, got -(\d+)")


@dataclass(frozen=True, slots=True)
class FailedGuard:
    """A guard that refused what reached it.

    Attributes:
        ticket: The impossible dimension, without its sign.
        operator: The operator that the guard speaks of; empty if the message does not tell.
        node: The name of its node; empty if the message does not tell.
    """

    ticket: int
    operator: str = ""
    node: str = ""

    @property
    def code(self) -> int:
        """The code of the violated rule."""
        return self.ticket % CODE_BASE


def guard_name(operator: str, node: str, rules: Sequence[Rule], remark: str = "") -> str:
    """Name the guard of a node.

    Args:
        operator: The operator's name.
        node: The name of the original node.
        rules: The rules that bind the node; those that a run can break are named.
        remark: What the guard looks at, where the rules do not say it.
    """
    decided = sorted((rule for rule in rules if rule.in_run), key=lambda rule: rule.code)
    codes = ", ".join(f"{rule.code} {rule.id}" for rule in decided)
    return (
        f"{operator} '{node}' breaks the SONNX profile; "
        f"the last four digits of the dimension below tell the rule: {codes}"
        + (f"; {remark}" if remark else "")
    )


def refusing_guard_name(operator: str, node: str, rule: Rule) -> str:
    """Name a guard that refuses whatever breaks one rule, and nothing else.

    Args:
        operator: The operator's name.
        node: The name of the original node.
        rule: The rule.
    """
    return f"{operator} '{node}' breaks the SONNX profile; the rule: {rule.code} {rule.id}"


def guarded_node(name: str) -> str | None:
    """What a guard speaks of: "Div 'scale'".

    Args:
        name: The name of a node.

    Returns:
        The operator and the node; None if the name is none of a guard.
    """
    found = _GUARD.match(name)
    return None if found is None else f"{found['operator']} '{found['node']}'"


def failed_guards(message: str) -> list[FailedGuard]:
    """Find the guards that refused something in the text of an ONNX Runtime error.

    Args:
        message: The text. That of a node with a subgraph ends in that of the subgraph; what stands
            before the last status is names, which a model chooses.
    """
    _, _, status = message.rpartition("Status Message:")
    tickets = [int(ticket) for ticket in _DIMENSION.findall(status)]
    if tickets:
        guard = _GUARD_IN_A_MESSAGE.search(message)
        labels = (guard["operator"], guard["node"]) if guard else ("", "")
        return [FailedGuard(ticket, *labels) for ticket in tickets]
    refusal = _REFUSAL.fullmatch(message)
    if refusal is not None:
        return [FailedGuard(int(refusal["code"]), refusal["operator"], refusal["node"])]
    guard = _GUARD_AT_THE_START.fullmatch(message)
    if guard is None:
        return []
    return [FailedGuard(int(guard["ticket"]), guard["operator"], guard["node"])]
