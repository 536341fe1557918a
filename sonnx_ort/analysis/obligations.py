"""From facts to obligations: every rule at every node that it binds, none dropped."""

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.analysis.facts import Facts, gather_facts
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.targets import Target, targets
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.general import GR1
from sonnx_ort.profile.judgement import Judgement, Status, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Rule


@dataclass(frozen=True, slots=True)
class ExaminedNode:
    """A node with all that it must keep.

    Attributes:
        target: The node.
        operands: What is known of its inputs.
        obligations: One per rule that binds it.
    """

    target: Target
    operands: tuple[Operand, ...]
    obligations: tuple[Obligation, ...]


@dataclass(frozen=True, slots=True)
class Examination:
    """All that the profile demands of a model.

    Attributes:
        report: Every obligation.
        nodes: The nodes that operators of the profile constrain, in the order of the graph.
    """

    report: Report
    nodes: tuple[ExaminedNode, ...]


def examine(model: ir.Model, edition: Edition) -> Examination:
    """Find all obligations of a model.

    Args:
        model: A canonical model; not modified.
        edition: The edition that it is held to.
    """
    facts = gather_facts(model)
    nodes = tuple(_examine_node(target, facts, edition) for target in targets(model))
    general = _general_obligations(model, facts, nodes)
    obligations = (*general, *(o for node in nodes for o in node.obligations))
    return Examination(Report(edition, obligations), nodes)


def _examine_node(target: Target, facts: Facts, edition: Edition) -> ExaminedNode:
    operands = tuple(
        facts.operand(letter, value)
        for letter, value in zip(target.operator.operands, target.inputs, strict=True)
    )
    rules = _binding_rules(target, operands, edition)
    obligations = tuple(_oblige(rule, target, operands) for rule in rules)
    return ExaminedNode(target, operands, obligations)


def _oblige(rule: Rule, target: Target, operands: tuple[Operand, ...]) -> Obligation:
    judgement = _judge(rule, target, operands)
    return Obligation(
        rule=rule,
        operator=target.operator.name,
        node=target.label,
        operands=operands,
        status=judgement.status,
        evidence=judgement.evidence,
        hint=_hint(rule, judgement, operands),
    )


def _hint(rule: Rule, judgement: Judgement, operands: Sequence[Operand]) -> str:
    return rule.requirement.hint(operands) if judgement.status is Status.VIOLATED else ""


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


def _judge(rule: Rule, target: Target, operands: Sequence[Operand]) -> Judgement:
    judgement = rule.requirement.judge(operands)
    legacy = target.asks_for_broadcasting and isinstance(rule.requirement, SameShape)
    if not legacy or judgement.status is Status.VIOLATED:
        return judgement
    return violated("the attribute broadcast=1 asks for legacy broadcasting")


def _general_obligations(
    model: ir.Model, facts: Facts, nodes: Sequence[ExaminedNode]
) -> tuple[Obligation, ...]:
    """Sparse tensors that no operator's own rule speaks of."""
    spoken_of = {value for node in nodes for value in node.target.inputs}
    sparse = [v for v in model.graph.inputs if facts.sparse(v) and v not in spoken_of]
    obligations = []
    for value in sparse:
        operands = (facts.operand("tensor", value),)
        judgement = GR1.requirement.judge(operands)
        hint = _hint(GR1, judgement, operands)
        obligations.append(
            Obligation(GR1, "", "", operands, judgement.status, judgement.evidence, hint)
        )
    return tuple(obligations)
