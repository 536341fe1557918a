"""Which operands an explicit broadcast has to expand."""

from collections.abc import Sequence
from dataclasses import dataclass

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


def plan_broadcast(operands: Sequence[Operand]) -> BroadcastPlan:
    """Find the operands that are not known to have the common shape.

    Equal symbols count as equal sizes: whatever reads the operands holds them to it in the run.

    Args:
        operands: What is known of the operands, lined up at their last axes.
    """
    shapes = [operand.shape for operand in operands]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return BroadcastPlan(tuple(operands), (True,) * len(shapes))
    rank = max(map(len, known), default=0)
    axes = [sizes for _, sizes in aligned_axes(known)]
    expanded = (
        len(shape) < rank or not all(_is_common(index, sizes) for sizes in axes)
        for index, shape in enumerate(known)
    )
    return BroadcastPlan(tuple(operands), tuple(expanded))


def _is_common(index: int, sizes: Sequence[Dimension]) -> bool:
    """Whether one of the sizes of an axis is the common one, given that they fit."""
    size = sizes[index]
    if isinstance(size, int) and size != 1:
        return True
    return size is not None and all(other in (size, 1) for other in sizes)
