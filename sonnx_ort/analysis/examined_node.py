"""The obligations of one node, with or without a Broadcast in front of it."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.ruled_nodes import RuledNode
from sonnx_ort.analysis.values.declarations import declared_type
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.requirements.broadcasting import aligned_axes
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import Judgement, Rule, Status, Subject, at_run_time, proved, violated
from sonnx_ort.terms.operand import Dimension, Operand, broadcast_shape


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the second operand of a version 1 or 6 node is aligned with the first.

    Attributes:
        rule: The rule that an operand violates if it cannot be aligned.
        judgement: Whether the requirement is met, as far as known.
        trailing: The number of axes of size 1 to append to the operand; None if that depends on the
            run.
    """

    operator: Operator
    rule: Rule
    limits: LimitedBroadcasting
    judgement: Judgement
    trailing: int | None


@dataclass(frozen=True, slots=True)
class BroadcastPlan:
    """How the operands of a node are given equal shapes.

    Attributes:
        operands: The operands, aligned at their last axes.
        expanded: For each operand, whether it may lack the common shape; the others have it, or the
            node violates a rule.
        single: For each operand, whether it has one element and the node reads it unexpanded and
            broadcasts it itself; empty if none does.
        alignment: How the last operand is aligned first; None for numpy's alignment.
        fits: Whether a common shape exists in every run.
    """

    operands: tuple[Operand, ...]
    expanded: tuple[bool, ...]
    single: tuple[bool, ...] = ()
    alignment: Alignment | None = None
    fits: bool = False

    @property
    def nothing_to_do(self) -> bool:
        """Whether all operands already have the common shape."""
        aligned = self.alignment is None or self.alignment.trailing == 0
        return not any(self.expanded) and aligned


def with_single_operands(plan: BroadcastPlan, names: Container[str]) -> BroadcastPlan:
    """Let a node read the named operands unexpanded if they certainly have exactly one element.

    The plan must be proved to give equal shapes.
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
    """Find the operands that may lack the common shape, provided that it exists.

    Args:
        operands: The operands, aligned at their last axes.
        checked: Whether the reader of the operands checks that shapes are equal. If so, sizes
            declared with the same symbol count as equal and inputs declared as scalars count as
            scalars; a run that contradicts this is a violation. If not, they may have any size.
    """
    assumed = [
        replace(o, shared_symbols=frozenset(), scalar_inputs=False) if checked else o
        for o in operands
    ]
    expanded = (not _has_common_shape(index, assumed) for index in range(len(assumed)))
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
    """Whether an operand's size on an axis is the common size."""
    if isinstance(size, int) and size != 1:
        return True
    certain = operand.certain(size)
    return all(other == 1 or (certain and other == size) for other in others)


Operands = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class ExaminedNode:
    """A node of the profile with its obligations; `ruled_nodes.py` has the views of a node.

    Attributes:
        broadcast: The plan for a Broadcast in front of the node; None if it needs none.
        proof_uses_guards: Whether a proof uses guards of earlier nodes.
        element_type: The proved type of the operands, else the declared one; None if both are
            unknown. A wrong declaration changes no result: a session with types that do not match
            does not start.
        foldable: For each operand, whether ONNX Runtime may fold it as a constant.
        may_be_misinferred: For each operand, whether ONNX Runtime may infer a wrong rank or wrong
            sizes.
        waived: The waived violations as found. `obligations` has what is enforced instead; a rule
            still violated there is not enforced.
    """

    ruled: RuledNode
    operands: Operands
    obligations: tuple[Obligation, ...]
    broadcast: BroadcastPlan | None = None
    proof_uses_guards: bool = False
    element_type: ElementType | None = None
    foldable: tuple[bool, ...] = ()
    may_be_misinferred: tuple[bool, ...] = ()
    waived: tuple[Obligation, ...] = ()

    @property
    def found(self) -> tuple[Obligation, ...]:
        """The obligations, with waived violations as found."""
        waived = {obligation.rule.id: obligation for obligation in self.waived}
        return tuple(waived.get(obligation.rule.id, obligation) for obligation in self.obligations)


def examine_node(
    ruled: RuledNode, facts: Facts, edition: Edition, broadcasting: Broadcasting
) -> ExaminedNode:
    """Find the obligations of one node."""
    examined = _examine(
        ruled, facts.operands(ruled.operand_names, ruled.inputs), edition, broadcasting
    )
    return replace(
        examined,
        element_type=_element_type(ruled, examined.operands),
        foldable=tuple(map(facts.foldable, ruled.inputs)),
        may_be_misinferred=tuple(map(facts.may_be_misinferred, ruled.inputs)),
    )


def _element_type(ruled: RuledNode, operands: Operands) -> ElementType | None:
    own = ruled.operator.operand_types
    for operand in operands:
        if operand.element_type is not None and operand.name not in own:
            return ElementType.named(operand.element_type)
    pairs = zip(ruled.operand_names, ruled.inputs, strict=True)
    outputs = [] if ruled.operator.result_type else [ruled.output]
    declared = map(declared_type, [*(v for name, v in pairs if name not in own), *outputs])
    return next(filter(None, map(ElementType.named, declared)), None)


def operands_fit(obligations: Iterable[Obligation]) -> bool:
    """Whether the operands of a Broadcast have a common shape in every run."""
    shape_rules = (o for o in obligations if o.rule.requirement.subject is Subject.COMMON_SHAPE)
    return all(o.status is Status.PROVED for o in shape_rules)


def _examine(
    ruled: RuledNode, operands: Operands, edition: Edition, broadcasting: Broadcasting
) -> ExaminedNode:
    """A node with its obligations, and with how its operands are broadcast."""
    rules = ruled.operator.rules_of_node(edition, operands, ruled.attributes, ruled.version)
    if ruled.operator is BROADCAST:
        obligations = tuple(_evaluate(rule, ruled, operands) for rule in rules)
        plan = replace(plan_broadcast(operands, checked=False), fits=operands_fit(obligations))
        return ExaminedNode(ruled, operands, obligations, plan)
    shape_rule = next(
        (rule for rule in rules if rule.requirement.subject is Subject.EQUAL_SHAPES), None
    )
    if broadcasting is Broadcasting.EXPLICIT and ruled.broadcasts and shape_rule is not None:
        return _examine_expandable(ruled, operands, rules, shape_rule)
    return ExaminedNode(ruled, operands, tuple(_evaluate(rule, ruled, operands) for rule in rules))


def _examine_expandable(
    ruled: RuledNode, operands: Operands, rules: tuple[Rule, ...], shape_rule: Rule
) -> ExaminedNode:
    """Examine a node that may need a Broadcast in front of it."""
    alignment = _alignment(ruled, operands, shape_rule)
    if alignment is not None and alignment.judgement.status is Status.VIOLATED:
        # The operands cannot be aligned, so the shape rules apply unchanged.
        obligations = tuple(_evaluate(rule, ruled, operands) for rule in rules)
        return ExaminedNode(ruled, operands, obligations)
    aligned = _aligned(operands, alignment)
    plan = replace(plan_broadcast(aligned, checked=True), alignment=alignment)
    if alignment is not None:
        # Only the second operand can be expanded; the node rejects shapes that do not fit.
        plan = replace(plan, expanded=(False, plan.expanded[1]))
    fit = E1.requirement.judge(aligned)
    plan = replace(plan, fits=fit.status is Status.PROVED)
    if plan.nothing_to_do and fit.status is not Status.VIOLATED:
        return ExaminedNode(
            ruled, operands, tuple(_evaluate_plain(rule, ruled, operands) for rule in rules)
        )
    made_equal = _made_equal(plan, plan_broadcast(aligned, checked=False))
    if made_equal.status is Status.PROVED:
        plan = with_single_operands(plan, ruled.operator.single)
    expanded = _expanded(aligned)
    obligations = tuple(
        _declaration_violation(rule, ruled, expanded)
        or _obligation(rule, ruled, operands, made_equal)
        if rule.requirement.subject is Subject.EQUAL_SHAPES
        else _evaluate_plain(rule, ruled, operands)
        for rule in rules
    )
    broadcast = _obligation(E1, ruled, aligned, fit, BROADCAST.name)
    return ExaminedNode(ruled, operands, (*obligations, broadcast), plan)


def _alignment(ruled: RuledNode, operands: Operands, rule: Rule) -> Alignment | None:
    """How the second operand of a node with limited broadcasting is aligned."""
    limits = ruled.limited_broadcasting
    if limits is None:
        return None
    a, b = operands
    if a.shape is not None and b.shape is not None and not a.scalar_inputs:
        trailing = limits.trailing_axes(len(a.shape), len(b.shape))
    else:
        trailing = 0 if limits.axis is None else None
    return Alignment(ruled.operator, rule, limits, limits.judge(a, b), trailing)


def _aligned(operands: Operands, alignment: Alignment | None) -> Operands:
    """The operands, with axes of size 1 appended to the last one as aligned."""
    if alignment is None:
        return operands
    *others, last = operands
    if last.shape is None or alignment.trailing is None:
        return (*others, replace(last, shape=None))
    return (*others, replace(last, shape=last.shape + (1,) * alignment.trailing))


def _made_equal(plan: BroadcastPlan, required: BroadcastPlan) -> Judgement:
    """Whether a Broadcast makes the shapes equal in every run that keeps its own rules."""
    if plan.alignment is not None and plan.alignment.judgement.status is not Status.PROVED:
        return plan.alignment.judgement
    expanded = zip(plan.expanded, required.expanded, strict=True)
    if any(lacks_common_shape and not is_expanded for is_expanded, lacks_common_shape in expanded):
        return at_run_time(
            "the Broadcast in front does not expand an operand that may lack the common shape"
        )
    return proved("a Broadcast in front makes the shapes equal")


def _expanded(aligned: Operands) -> Operands:
    """The operands after the Broadcast, with their common shape if it is known."""
    common = broadcast_shape(*(operand.shape for operand in aligned))
    return tuple(replace(o, name=f"the expanded {o.name}", shape=common) for o in aligned)


def _declaration_violation(rule: Rule, ruled: RuledNode, operands: Operands) -> Obligation | None:
    """The obligation, if what the file declares of the results alone breaks the rule."""
    judgement = rule.judge_results(ruled.operand_names, operands, ruled.declared_results)
    return None if judgement is None else _of_declaration(rule, ruled, operands, judgement)


def _of_declaration(
    rule: Rule, ruled: RuledNode, operands: Operands, judgement: Judgement
) -> Obligation:
    hint = "correct the declaration of the result in the file, or remove it"
    return replace(_obligation(rule, ruled, operands, judgement), hint=hint)


def _evaluate(rule: Rule, ruled: RuledNode, operands: Operands) -> Obligation:
    """The obligation of a rule; the attribute broadcast=1 violates one about equal shapes."""
    if not (rule.requirement.subject is Subject.EQUAL_SHAPES and ruled.asks_for_broadcasting):
        return _evaluate_plain(rule, ruled, operands)
    judgement, _ = rule.judge(ruled.operand_names, operands)
    if judgement.status is not Status.VIOLATED:
        judgement = violated("the attribute broadcast=1 requests legacy broadcasting")
    hint = _legacy_hint(rule, ruled, operands)
    return replace(_obligation(rule, ruled, operands, judgement), hint=hint)


def _legacy_hint(rule: Rule, ruled: RuledNode, operands: Operands) -> str:
    alignment = _alignment(ruled, operands, rule)
    if alignment is not None and alignment.judgement.status is not Status.VIOLATED:
        aligned = _aligned(operands, alignment)
        if E1.requirement.judge(aligned).status is not Status.VIOLATED:
            from sonnx_ort.profile.wording import hint_to_expand  # noqa: PLC0415 - no verdict

            return hint_to_expand(operands, aligned)
    return "the second operand does not line up with the first; correct the model"


def _evaluate_plain(rule: Rule, ruled: RuledNode, operands: Operands) -> Obligation:
    judgement, declared = rule.judge(ruled.operand_names, operands, ruled.declared_results)
    if declared:
        return _of_declaration(rule, ruled, operands, judgement)
    return _obligation(rule, ruled, operands, judgement)


def _obligation(
    rule: Rule, ruled: RuledNode, operands: Operands, judgement: Judgement, operator: str = ""
) -> Obligation:
    is_violated = judgement.status is Status.VIOLATED
    return Obligation(
        rule=rule,
        operator=operator or ruled.operator.name,
        node=ruled.label,
        operands=operands,
        status=judgement.status,
        evidence=judgement.evidence,
        hint=rule.hint(operands) if is_violated else "",
        path=ruled.path,
        written=ruled.written,
    )
