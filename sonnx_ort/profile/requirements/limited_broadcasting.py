"""Shapes that broadcast by attributes, as early versions of operators do.

Source: ONNX operator Div, versions 1 and 6, "limited broadcast support": with `broadcast=1` the
second operand "can either be of element size 1 (including a scalar tensor and any tensor with rank
equal to or smaller than the first tensor), or having its shape as a contiguous subset of the first
tensor's shape"; that starts at `axis`, or ends at the last axis if `axis` is not set.
"""

from dataclasses import dataclass

from sonnx_ort.profile.rule import (
    Judgement,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand, Shape, contradict, format_shape


@dataclass(frozen=True, slots=True)
class LimitedBroadcasting:
    """The second operand has one element, or its shape is a contiguous part of the first shape.

    Attributes:
        axis: The axis of the first operand at which the part starts, negative from the end; None if
            the part ends at the last axis.
    """

    axis: int | None = None

    def judge(self, a: Operand, b: Operand) -> Judgement:
        """Compare the known shapes of both operands."""
        if a.shape is None or b.shape is None or a.scalar_inputs:
            return at_run_time(
                "whether B lines up with A depends on a rank that depends on the inputs"
            )
        if len(b.shape) > len(a.shape):
            return violated(_misaligned(a.shape, b.shape))
        if all(size == 1 for size in b.shape):
            return proved("B has one element")
        start = self._start(len(a.shape), len(b.shape))
        part = None if start is None else a.shape[start : start + len(b.shape)]
        if part is not None and part == b.shape and all(map(a.certain, part)):
            return proved(f"the shape of B is that of A from axis {start} on")
        more_elements = any(isinstance(size, int) and size != 1 for size in b.shape)
        if more_elements and (part is None or contradict(part, b.shape)):
            return violated(_misaligned(a.shape, b.shape))
        return at_run_time("whether B lines up with A depends on the inputs")

    def violation(self, a: tuple[int, ...], b: tuple[int, ...]) -> Violation | None:
        """Compare the shapes of both operands in a run."""
        start = self._start(len(a), len(b))
        one_element = len(b) <= len(a) and all(size == 1 for size in b)
        if one_element or (start is not None and a[start : start + len(b)] == b):
            return None
        return Violation(_misaligned(a, b))

    def trailing_axes(self, a_rank: int, b_rank: int) -> int | None:
        """The number of axes of size 1 to append to the second operand, from both ranks.

        None if only an operand of one element, which needs none, can be aligned.
        """
        start = self._start(a_rank, b_rank)
        return None if start is None else a_rank - start - b_rank

    def _start(self, a_rank: int, b_rank: int) -> int | None:
        """The axis at which the part starts; None if it would exceed the first shape."""
        match self.axis:
            case None:
                start = a_rank - b_rank
            case axis:
                start = axis + a_rank if axis < 0 else axis
        return start if 0 <= start <= a_rank - b_rank else None


def _misaligned(a: Shape, b: Shape) -> str:
    return (
        f"B {format_shape(b)} has neither one element nor the shape of the part of A's "
        f"{format_shape(a)} that it must match"
    )
