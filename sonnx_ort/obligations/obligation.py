"""One rule at one node, whether it holds, and its form in JSON."""

from collections.abc import Iterable
from dataclasses import dataclass

from sonnx_ort.obligations.waivers import Waiver
from sonnx_ort.profile.general import Restriction
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Rule, Status


@dataclass(frozen=True, slots=True)
class Obligation:
    """What a rule demands of a node, and what is known of it.

    Attributes:
        rule: The rule.
        operator: The operator's name; empty for a rule of the whole graph.
        node: The node's name, with the path of calls if it came out of a function; empty for a
            rule of the whole graph.
        operands: What is known of the node's inputs, or of the values that the rule is about.
        status: When the rule is decided, and how.
        evidence: Why, as a clause.
        hint: What to do about a violation, as a clause; empty otherwise.
        path: The nodes whose subgraphs the node lies in, outermost first.
        enforced: Whether its operator is among those that are to be enforced.
        waiver: Who tolerates a violation, and why; None if nobody does.
        waiver_expired: Whether the waiver's last day is over, so that it tolerates nothing.
    """

    rule: Rule
    operator: str
    node: str
    operands: tuple[Operand, ...]
    status: Status
    evidence: str
    hint: str = ""
    path: tuple[str, ...] = ()
    enforced: bool = True
    waiver: Waiver | None = None
    waiver_expired: bool = False

    @property
    def waived(self) -> bool:
        """Whether it is a violation that a waiver tolerates."""
        return self.waiver is not None and not self.waiver_expired

    @property
    def place(self) -> str:
        """The node in words, with the subgraphs it lies in."""
        if not self.operator:
            return "the graph"
        inside = "".join(f" in {node}" for node in reversed(self.path))
        return f"{self.operator} '{self.node}'{inside}"

    @property
    def waiver_standing(self) -> str:
        """What its waiver does, in words that go before the waiver."""
        return "waiver EXPIRED, was waived" if self.waiver_expired else "waived"

    def __str__(self) -> str:
        """Give the obligation in lines: the finding, the operands, the rule, and what to do."""
        lines = [
            f"{self.place}: {self.rule.id} {self.status}: {self.evidence}",
            *map(str, self.operands),
            f"the rule: {self.rule.sentence} ({self.rule.source})",
        ]
        if self.hint:
            lines.append(f"to mend it: {self.hint}")
        if self.waiver is not None:
            lines.append(f"{self.waiver_standing} {self.waiver}")
        return "\n    ".join(lines)


def waiver_of(obligation: Obligation, waivers: Iterable[Waiver]) -> Waiver | None:
    """Give the first waiver that names an obligation, whatever its model and status; None for none.

    Args:
        obligation: The obligation.
        waivers: The waivers.
    """
    rule, node, path = obligation.rule.id, obligation.node, obligation.path
    return next((waiver for waiver in waivers if waiver.is_for(rule, node, path)), None)


@dataclass(frozen=True, slots=True)
class Finding:
    """A restriction that the graph as written does not meet.

    It changes no result, so it rejects no model.

    Attributes:
        restriction: The restriction.
        place: The node or the value that it is about.
        detail: What was found there, as a clause.
    """

    restriction: Restriction
    place: str
    detail: str

    def __str__(self) -> str:
        """Give the finding on one line."""
        return f"{self.place}: {self.restriction.id}: {self.detail}"


def rule_document(rule: Rule) -> dict[str, object]:
    """Say where a rule is written, and whose words it is in.

    Args:
        rule: The rule.
    """
    source = rule.source
    return {
        "sentence": rule.sentence,
        "document": source.document,
        "section": source.section,
        "tag": source.tag,
        "standing": source.standing.value,
        "words": source.words.value,
        "remark": source.remark,
        "later_tag": source.later_tag,
    }


def obligation_document(obligation: Obligation) -> dict[str, object]:
    """Give an obligation with what is known of the operands.

    Args:
        obligation: The obligation.
    """
    return {
        "rule": obligation.rule.id,
        "operator": obligation.operator,
        "node": obligation.node,
        "path": list(obligation.path),
        "status": obligation.status.value,
        "enforced": obligation.enforced,
        "evidence": obligation.evidence,
        "hint": obligation.hint,
        "operands": [_operand(operand) for operand in obligation.operands],
        "waiver": _waiver(obligation),
    }


def _waiver(obligation: Obligation) -> dict[str, object] | None:
    if (waiver := obligation.waiver) is None:
        return None
    return {
        "reason": waiver.reason,
        "who": waiver.who,
        "until": waiver.until.isoformat(),
        "expired": obligation.waiver_expired,
    }


def _operand(operand: Operand) -> dict[str, object]:
    return {
        "letter": operand.name,
        "value": operand.value,
        "origin": operand.origin,
        "element_type": operand.element_type,
        "shape": None if operand.shape is None else list(operand.shape),
        "constant": operand.constant is not None,
    }
