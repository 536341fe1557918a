"""The obligations of one node, with or without a Broadcast in front of it."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.targets import Target
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.operand import Dimension, Operand, broadcast_shape
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.requirements.broadcasting import LimitedBroadcasting, aligned_axes
from sonnx_ort.profile.requirements.shapes import hint_to_expand
from sonnx_ort.profile.rule import (
    Judgement,
    Rule,
    Status,
    Subject,
    at_run_time,
    proved,
    violated,
)


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the second operand of a version 1 or 6 node lines up with the first.

    Attributes:
        operator: The node's operator.
        rule: The operator's rule that an operand breaks which does not line up.
        limits: What is allowed.
        judgement: Whether it is allowed, as far as that is known.
        trailing: How many axes of size 1 the operand gets behind its own; None if that depends on
            the run.
    """

    operator: Operator
    rule: Rule
    limits: LimitedBroadcasting
    judgement: Judgement
    trailing: int | None


@dataclass(frozen=True, slots=True)
class BroadcastPlan:
    """How the shapes of a node's operands become equal.

    Attributes:
        operands: What is known of the operands, lined up at their last axes.
        expanded: For each operand, whether it may lack the common shape; the others have it, or
            the node breaks a rule.
        single: For each operand, whether it has one element, and the node reads that instead of
            the expanded operand, which it would be broadcast to; empty where none does.
        alignment: How the last operand is lined up before anything else; None for numpy's way.
        fits: Whether there is a common shape in every run.
    """

    operands: tuple[Operand, ...]
    expanded: tuple[bool, ...]
    single: tuple[bool, ...] = ()
    alignment: Alignment | None = None
    fits: bool = False

    @property
    def nothing_to_do(self) -> bool:
        """Whether all operands have the common shape already."""
        aligned = self.alignment is None or self.alignment.trailing == 0
        return not any(self.expanded) and aligned


def with_single_operands(plan: BroadcastPlan, names: Container[str]) -> BroadcastPlan:
    """Let a node read operands of one element as they are, where that is certain.

    Args:
        plan: How the shapes of its operands become equal, which is proved of them.
        names: The names of the operands of which it may read one element.
    """
    if plan.alignment is not None:
        return plan
    single = (
        expanded
        and operand.name in names
        and operand.shape is not None
        and not operand.scalar_inputs
        and all(size == 1 for size in operand.shape)
        for operand, expanded in zip(plan.operands, plan.expanded, strict=True)
    )
    return replace(plan, single=tuple(single))


def plan_broadcast(operands: Sequence[Operand], *, checked: bool) -> BroadcastPlan:
    """Find the operands that are not known to have the common shape, given that there is one.

    Args:
        operands: What is known of the operands, lined up at their last axes.
        checked: Whether what reads the operands checks that their shapes are equal. If so, sizes
            that the model declares with one symbol count as equal, inputs that it declares as
            scalars count as such, and a run in which they are not is a violation; if not, they may
            be anything.
    """
    considered = [
        replace(o, shared_symbols=frozenset(), scalar_inputs=False) if checked else o
        for o in operands
    ]
    expanded = (not _has_common_shape(index, considered) for index in range(len(considered)))
    return BroadcastPlan(tuple(operands), tuple(expanded))


def _has_common_shape(index: int, operands: Sequence[Operand]) -> bool:
    operand = operands[index]
    others = [other.shape for other in operands if other is not operand]
    if not others:
        return True
    if operand.scalar_inputs:
        return False
    if all(shape == () for shape in others):
        return True
    known = [shape for shape in (operand.shape, *others) if shape is not None]
    if len(known) < len(operands) or len(known[0]) < max(map(len, known)):
        return False
    return all(_is_common(operand, sizes[0], sizes[1:]) for _, sizes in aligned_axes(known))


def _is_common(operand: Operand, size: Dimension, others: Sequence[Dimension]) -> bool:
    """Whether an operand's size on an axis is the common one."""
    if isinstance(size, int) and size != 1:
        return True
    certain = operand.certain(size)
    return all(other == 1 or (certain and other == size) for other in others)


Operands = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class ExaminedNode:
    """A node with all that it must keep.

    Attributes:
        target: The node.
        operands: What is known of its inputs.
        obligations: One per rule that binds it.
        broadcast: How a Broadcast in front makes the operands' shapes equal; None for none.
        rests_on_guards: Whether a proof rests on nodes that come before, which the run checks.
        foldable: For each operand, whether ONNX Runtime may compute it before all runs.
        mistakable: For each operand, whether ONNX Runtime may take a rank or sizes for known that
            are not certain.
        waived: The violations that somebody answers for, as they were found. In their place
            `obligations` has what is enforced; of a rule that stays violated there, nothing is.
    """

    target: Target
    operands: Operands
    obligations: tuple[Obligation, ...]
    broadcast: BroadcastPlan | None = None
    rests_on_guards: bool = False
    foldable: tuple[bool, ...] = ()
    mistakable: tuple[bool, ...] = ()
    waived: tuple[Obligation, ...] = ()

    @property
    def found(self) -> tuple[Obligation, ...]:
        """The obligations, with the waived violations as they were found."""
        waived = {obligation.rule.id: obligation for obligation in self.waived}
        return tuple(waived.get(obligation.rule.id, obligation) for obligation in self.obligations)


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
    examined = _examine(
        target, facts.operands(target.operand_names, target.inputs), edition, broadcasting
    )
    return replace(
        examined,
        foldable=tuple(map(facts.foldable, target.inputs)),
        mistakable=tuple(map(facts.mistakable, target.inputs)),
    )


def operands_fit(obligations: Iterable[Obligation]) -> bool:
    """Whether the operands of a Broadcast have a common shape in every run.

    Args:
        obligations: The obligations of the node.
    """
    about = (o for o in obligations if o.rule.requirement.subject is Subject.COMMON_SHAPE)
    return all(o.status is Status.PROVED for o in about)


def _examine(
    target: Target, operands: Operands, edition: Edition, broadcasting: Broadcasting
) -> ExaminedNode:
    rules = target.operator.rules_of_node(edition, operands, target.attributes)
    if target.operator is BROADCAST:
        obligations = tuple(_oblige(rule, target, operands) for rule in rules)
        plan = replace(plan_broadcast(operands, checked=False), fits=operands_fit(obligations))
        return ExaminedNode(target, operands, obligations, plan)
    shape_rule = _shape_rule(rules)
    if broadcasting is Broadcasting.EXPLICIT and target.broadcasts and shape_rule is not None:
        return _examine_expandable(target, operands, rules, shape_rule)
    return ExaminedNode(target, operands, tuple(_oblige(rule, target, operands) for rule in rules))


def _examine_expandable(
    target: Target, operands: Operands, rules: tuple[Rule, ...], shape_rule: Rule
) -> ExaminedNode:
    """Examine a node in front of which a Broadcast may be put."""
    alignment = _alignment(target, operands, shape_rule)
    if alignment is not None and alignment.judgement.status is Status.VIOLATED:
        # Nothing lines the operands up, so the rules about shapes stay as they are.
        obligations = tuple(_oblige(rule, target, operands) for rule in rules)
        return ExaminedNode(target, operands, obligations)
    aligned = _aligned(operands, alignment)
    plan = replace(plan_broadcast(aligned, checked=True), alignment=alignment)
    if alignment is not None:
        # Only the second operand is ever expanded; the node itself refuses what does not fit.
        plan = replace(plan, expanded=(False, plan.expanded[1]))
    fit = E1.requirement.judge(aligned)
    plan = replace(plan, fits=fit.status is Status.PROVED)
    if plan.nothing_to_do and fit.status is not Status.VIOLATED:
        return ExaminedNode(
            target, operands, tuple(_oblige_plainly(rule, target, operands) for rule in rules)
        )
    made_equal = _made_equal(plan, plan_broadcast(aligned, checked=False))
    if made_equal.status is Status.PROVED:
        plan = with_single_operands(plan, target.operator.single)
    expanded = _expanded(aligned)
    obligations = tuple(
        _declaration_broken(rule, target, expanded)
        or _obligation(rule, target, operands, made_equal)
        if rule.requirement.subject is Subject.EQUAL_SHAPES
        else _oblige_plainly(rule, target, operands)
        for rule in rules
    )
    broadcast = _obligation(E1, target, aligned, fit, BROADCAST.name)
    return ExaminedNode(target, operands, (*obligations, broadcast), plan)


def _shape_rule(rules: tuple[Rule, ...]) -> Rule | None:
    about = (rule for rule in rules if rule.requirement.subject is Subject.EQUAL_SHAPES)
    return next(about, None)


def _alignment(target: Target, operands: Operands, rule: Rule) -> Alignment | None:
    """How the second operand of a node lines up that asks for limited broadcasting."""
    limits = target.limited_broadcasting
    if limits is None:
        return None
    a, b = operands
    if a.shape is not None and b.shape is not None and not a.scalar_inputs:
        trailing = limits.trailing_axes(len(a.shape), len(b.shape))
    else:
        trailing = 0 if limits.axis is None else None
    return Alignment(target.operator, rule, limits, limits.judge(a, b), trailing)


def _aligned(operands: Operands, alignment: Alignment | None) -> Operands:
    """The operands, the last one with the axes of size 1 that it gets behind its own."""
    if alignment is None:
        return operands
    *others, last = operands
    if last.shape is None or alignment.trailing is None:
        return (*others, replace(last, shape=None))
    return (*others, replace(last, shape=last.shape + (1,) * alignment.trailing))


def _made_equal(plan: BroadcastPlan, needed: BroadcastPlan) -> Judgement:
    """Whether a Broadcast makes the shapes equal in every run that keeps its own rules."""
    if plan.alignment is not None and plan.alignment.judgement.status is not Status.PROVED:
        return plan.alignment.judgement
    expanded = zip(plan.expanded, needed.expanded, strict=True)
    if any(lacking and not done for done, lacking in expanded):
        return at_run_time(
            "the Broadcast in front leaves an operand as it is that may lack the common shape"
        )
    return proved("a Broadcast in front makes the shapes equal")


def _expanded(aligned: Operands) -> Operands:
    """The operands behind the Broadcast, as far as their common shape is known."""
    common = broadcast_shape(*(operand.shape for operand in aligned))
    return tuple(replace(o, name=f"the expanded {o.name}", shape=common) for o in aligned)


def _declaration_broken(rule: Rule, target: Target, operands: Operands) -> Obligation | None:
    """The obligation, if what the file declares of the results alone breaks the rule."""
    judgement = rule.judge_results(target.operand_names, operands, target.declared_results)
    return None if judgement is None else _of_declaration(rule, target, operands, judgement)


def _of_declaration(
    rule: Rule, target: Target, operands: Operands, judgement: Judgement
) -> Obligation:
    hint = "correct what the file declares of the result, or remove the declaration"
    return replace(_obligation(rule, target, operands, judgement), hint=hint)


def _oblige(rule: Rule, target: Target, operands: Operands) -> Obligation:
    if not (target.asks_for_broadcasting and rule.requirement.subject is Subject.EQUAL_SHAPES):
        return _oblige_plainly(rule, target, operands)
    judgement, _ = rule.judge(target.operand_names, operands)
    if judgement.status is not Status.VIOLATED:
        judgement = violated("the attribute broadcast=1 asks for legacy broadcasting")
    hint = _legacy_hint(rule, target, operands)
    return replace(_obligation(rule, target, operands, judgement), hint=hint)


def _legacy_hint(rule: Rule, target: Target, operands: Operands) -> str:
    alignment = _alignment(target, operands, rule)
    if alignment is not None and alignment.judgement.status is not Status.VIOLATED:
        aligned = _aligned(operands, alignment)
        if E1.requirement.judge(aligned).status is not Status.VIOLATED:
            return hint_to_expand(operands, aligned)
    return "the second operand does not line up with the first; correct the model"


def _oblige_plainly(rule: Rule, target: Target, operands: Operands) -> Obligation:
    judgement, declared = rule.judge(target.operand_names, operands, target.declared_results)
    if declared:
        return _of_declaration(rule, target, operands, judgement)
    return _obligation(rule, target, operands, judgement)


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
