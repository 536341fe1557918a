"""Which operands an explicit broadcast has to expand."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from sonnx_ort.profile.judgement import Judgement
from sonnx_ort.profile.operand import Dimension, Operand
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.broadcastable import aligned_axes
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import Rule


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
