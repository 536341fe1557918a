"""From facts to obligations: every rule at every node that it binds, none dropped."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.analysis.alignment import aligned_shape, trailing_axes
from sonnx_ort.analysis.broadcast_plan import BroadcastPlan, plan_broadcast
from sonnx_ort.analysis.coverage import count_not_covered
from sonnx_ort.analysis.facts import Facts, gather_facts
from sonnx_ort.analysis.findings import find
from sonnx_ort.analysis.identity import Identity
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.recognition import EnforcedNode, recognize_enforced_nodes
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.targets import Target, targets
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.general import GR1
from sonnx_ort.profile.judgement import Judgement, Status, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.requirements.dense import Dense
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Rule

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


@dataclass(frozen=True, slots=True)
class Examination:
    """All that the profile demands of a model.

    Attributes:
        report: Every obligation.
        nodes: The nodes that operators of the profile constrain, in the order of the graph.
        facts: What is known of the model's values.
    """

    report: Report
    nodes: tuple[ExaminedNode, ...]
    facts: Facts


def examine(
    model: ir.Model, edition: Edition, broadcasting: Broadcasting, identity: Identity
) -> Examination:
    """Find all obligations of a model.

    Args:
        model: A canonical model; not modified.
        edition: The edition that it is held to.
        broadcasting: What becomes of operands of different shapes.
        identity: What the report is about.

    Raises:
        InvalidModel: A node in the domain `sonnx` only looks like an enforced one.
        SonnxError: A node is enforced already, under the other edition.
    """
    enforced = recognize_enforced_nodes(model, edition)
    facts = gather_facts(model)
    nodes = tuple(_examine_node(target, facts, edition, broadcasting) for target in targets(model))
    general = _general_obligations(model, facts, nodes)
    obligations = (
        *general,
        *(o for node in nodes for o in node.obligations),
        *(o for node in enforced for o in _already_enforced(node, facts)),
    )
    report = Report(
        edition,
        broadcasting,
        obligations,
        findings=find(model, facts),
        not_covered=count_not_covered(model),
        identity=identity,
    )
    return Examination(report, nodes, facts)


def _already_enforced(enforced: EnforcedNode, facts: Facts) -> tuple[Obligation, ...]:
    """The rules that a node of a rewritten model decides in each run."""
    values = [value for value in enforced.node.inputs if value is not None]
    letters = enforced.operator.letters(len(values))
    operands = tuple(facts.operand(letter, v) for letter, v in zip(letters, values, strict=True))
    evidence = f"the model enforces it, by sonnx::{enforced.node.op_type}"
    return tuple(
        Obligation(rule, enforced.operator.name, enforced.label, operands, Status.RUNTIME, evidence)
        for rule in enforced.rules
    )


def _examine_node(
    target: Target, facts: Facts, edition: Edition, broadcasting: Broadcasting
) -> ExaminedNode:
    operands = tuple(
        facts.operand(letter, value)
        for letter, value in zip(target.letters, target.inputs, strict=True)
    )
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


def _oblige(rule: Rule, target: Target, operands: Operands) -> Obligation:
    judgement = rule.requirement.judge(operands)
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
    return _obligation(rule, target, operands, rule.requirement.judge(operands))


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


def _general_obligations(
    model: ir.Model, facts: Facts, nodes: Sequence[ExaminedNode]
) -> tuple[Obligation, ...]:
    """Sparse tensors that no operator's own rule speaks of."""
    dense = [n for n in nodes if any(isinstance(o.rule.requirement, Dense) for o in n.obligations)]
    spoken_of = {value for node in dense for value in node.target.inputs}
    sparse = [v for v in model.graph.inputs if facts.sparse(v) and v not in spoken_of]
    obligations = []
    for value in sparse:
        operands = (facts.operand("tensor", value),)
        judgement = GR1.requirement.judge(operands)
        hint = GR1.requirement.hint(operands) if judgement.status is Status.VIOLATED else ""
        obligations.append(
            Obligation(GR1, "", "", operands, judgement.status, judgement.evidence, hint)
        )
    return tuple(obligations)
