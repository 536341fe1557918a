"""The obligations of one node, with or without a Broadcast in front of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sonnx_ort.analysis.alignment import aligned_shape, trailing_axes
from sonnx_ort.analysis.broadcast_plan import BroadcastPlan, plan_broadcast
from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.targets import Target
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.judgement import Judgement, Status, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import JudgesResults, Rule

Operands = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class ExaminedNode:
    """A node with all that it must keep.

    Attributes:
        target: The node.
        operands: What is known of its inputs.
        obligations: One per rule that binds it.
        broadcast: How a Broadcast in front makes the operands' shapes equal; None for none.
    """

    target: Target
    operands: Operands
    obligations: tuple[Obligation, ...]
    broadcast: BroadcastPlan | None = None


def examine_node(
    target: Target, facts: Facts, edition: Edition, broadcasting: Broadcasting
) -> ExaminedNode:
    """Find the obligations of one node.

    Args:
        target: The node.
        facts: What is known of the model's values.
        edition: The edition that it is held to.
        broadcasting: What becomes of operands of different shapes.
    """
    operands = facts.operands(target.letters, target.inputs)
    rules = _binding_rules(target, operands, edition)
    if target.operator is BROADCAST:
        obligations = tuple(_oblige(rule, target, operands) for rule in rules)
        return ExaminedNode(target, operands, obligations, plan_broadcast(operands, checked=False))
    if broadcasting is Broadcasting.EXPLICIT and target.broadcasts:
        return _examine_expandable(target, operands, rules)
    return ExaminedNode(target, operands, tuple(_oblige(rule, target, operands) for rule in rules))


def _examine_expandable(
    target: Target, operands: Operands, rules: tuple[Rule, ...]
) -> ExaminedNode:
    """Examine a node in front of which a Broadcast may be put."""
    trailing = trailing_axes(target, operands)
    if trailing is None:
        # Nothing lines the operands up, so the rules about shapes stay as they are.
        obligations = tuple(_oblige(rule, target, operands) for rule in rules)
        return ExaminedNode(target, operands, obligations)
    aligned = _aligned(operands, trailing)
    plan = replace(plan_broadcast(aligned, checked=True), trailing=trailing)
    if target.asks_for_broadcasting:
        # Only the second operand is ever expanded; the node itself refuses what does not fit.
        plan = replace(plan, expanded=(False, plan.expanded[1]))
    fit = E1.requirement.judge(aligned)
    if plan.nothing_to_do and fit.status is not Status.VIOLATED:
        return ExaminedNode(
            target, operands, tuple(_oblige_plainly(rule, target, operands) for rule in rules)
        )
    made_equal = _made_equal(plan, plan_broadcast(aligned, checked=False))
    obligations = tuple(
        _obligation(rule, target, operands, made_equal)
        if isinstance(rule.requirement, SameShape)
        else _oblige_plainly(rule, target, operands)
        for rule in rules
    )
    broadcast = _obligation(E1, target, aligned, fit, BROADCAST.name)
    return ExaminedNode(target, operands, (*obligations, broadcast), plan)


def _made_equal(plan: BroadcastPlan, needed: BroadcastPlan) -> Judgement:
    """Whether a Broadcast makes the shapes equal in every run that keeps its own rules."""
    expanded = zip(plan.expanded, needed.expanded, strict=True)
    if any(lacking and not done for done, lacking in expanded):
        return at_run_time(
            "the Broadcast in front leaves an operand as it is that may lack the common shape"
        )
    return proved("a Broadcast in front makes the shapes equal")


def _aligned(operands: Operands, trailing: int) -> Operands:
    *others, last = operands
    return (*others, replace(last, shape=aligned_shape(last.shape, trailing)))


def _judged(rule: Rule, target: Target, operands: Operands) -> Judgement:
    """What is known before any run, of operands and of what the file declares of results."""
    judgement = rule.requirement.judge(operands)
    if judgement.status is Status.VIOLATED or not isinstance(rule.requirement, JudgesResults):
        return judgement
    return rule.requirement.judge_results(operands, target.declared_results) or judgement


def _oblige(rule: Rule, target: Target, operands: Operands) -> Obligation:
    judgement = _judged(rule, target, operands)
    if not (target.asks_for_broadcasting and isinstance(rule.requirement, SameShape)):
        return _obligation(rule, target, operands, judgement)
    if judgement.status is not Status.VIOLATED:
        judgement = violated("the attribute broadcast=1 asks for legacy broadcasting")
    hint = _legacy_hint(target, operands)
    return replace(_obligation(rule, target, operands, judgement), hint=hint)


def _legacy_hint(target: Target, operands: Operands) -> str:
    trailing = trailing_axes(target, operands)
    if trailing is not None:
        aligned = _aligned(operands, trailing)
        if E1.requirement.judge(aligned).status is not Status.VIOLATED:
            return SameShape.hint_to_expand(operands, aligned)
    return "the second operand does not line up with the first; correct the model"


def _oblige_plainly(rule: Rule, target: Target, operands: Operands) -> Obligation:
    return _obligation(rule, target, operands, _judged(rule, target, operands))


def _obligation(
    rule: Rule, target: Target, operands: Operands, judgement: Judgement, operator: str = ""
) -> Obligation:
    broken = judgement.status is Status.VIOLATED
    return Obligation(
        rule=rule,
        operator=operator or target.operator.name,
        node=target.label,
        operands=operands,
        status=judgement.status,
        evidence=judgement.evidence,
        hint=rule.requirement.hint(operands) if broken else "",
        path=target.path,
    )


def _binding_rules(
    target: Target, operands: Sequence[Operand], edition: Edition
) -> tuple[Rule, ...]:
    """The rules for the family of the operands' types; those of all families if it is unknown."""
    for operand in operands:
        element_type = ElementType.named(operand.element_type)
        if element_type is not None:
            return target.operator.rules(edition, element_type.family)
    if any(operand.element_type is not None for operand in operands):
        return target.operator.rules(edition, Family.FLOAT)
    rules = (rule for family in Family for rule in target.operator.rules(edition, family))
    return tuple(dict.fromkeys(rules))
