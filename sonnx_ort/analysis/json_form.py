"""The parts of a report in JSON; `docs/report.md` documents them."""

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Rule


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
