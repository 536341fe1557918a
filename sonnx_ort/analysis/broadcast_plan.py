"""Which operands an explicit broadcast has to expand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sonnx_ort.profile.operand import Dimension, Operand
from sonnx_ort.profile.requirements.broadcastable import aligned_axes


@dataclass(frozen=True, slots=True)
class BroadcastPlan:
    """How the shapes of a node's operands become equal.

    Attributes:
        operands: What is known of the operands, lined up at their last axes.
        expanded: For each operand, whether it may lack the common shape; the others have it, or
            the node breaks a rule.
        trailing: How many axes of size 1 the last operand gets behind its own, before anything
            else; only legacy broadcasting asks for any.
    """

    operands: tuple[Operand, ...]
    expanded: tuple[bool, ...]
    trailing: int = 0

    @property
    def nothing_to_do(self) -> bool:
        """Whether all operands have the common shape already."""
        return not any(self.expanded) and self.trailing == 0


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
