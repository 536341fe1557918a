"""What a Slice cuts out lies within the axes, and runs in the direction of the steps.

Source: SONNX Slice, draft of the working group, restrictions R2, R6, R7 and R8 and the value domain
of the ends.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import (
    Illustration,
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)

Array = npt.NDArray[Any]


class SliceDemand(enum.Enum):
    """What is demanded of each axis that a Slice cuts."""

    START_WITHIN = "start {start} is no place on an axis of size {size}"
    """The start is the place of an element, counted from the end if it is negative."""

    END_WITHIN = "end {end} is beyond an axis of size {size}"
    """The end is a place or the one behind the last; before the first where steps are negative."""

    IN_ORDER = "start {start} lies behind end {end} in steps of {step} on an axis of size {size}"
    """The start does not lie behind the end in the direction of the steps."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """What is known of each axis that is cut: int64 vectors of one length."""

    sizes: Array
    starts: Array
    ends: Array
    steps: Array

    def breaking(self, demand: SliceDemand) -> Array:
        """Which axes do not meet a demand."""
        downwards = np.where(self.steps < 0, 1, 0)
        match demand:
            case SliceDemand.START_WITHIN:
                broken = (self.starts < -self.sizes) | (self.starts >= self.sizes)
            case SliceDemand.END_WITHIN:
                lowest, highest = -self.sizes - downwards, self.sizes - downwards
                broken = (self.ends < lowest) | (self.ends > highest)
            case SliceDemand.IN_ORDER:
                start = np.where(self.starts < 0, self.starts + self.sizes, self.starts)
                end = np.where(self.ends < 0, self.ends + self.sizes, self.ends)
                broken = np.where(self.steps < 0, start < end, start > end)
        return broken


@dataclass(frozen=True, slots=True)
class Slicing:
    """No axis that a Slice cuts breaks a demand.

    It speaks of the operands X, starts, ends, axes and steps. What ONNX Runtime refuses, such as an
    axis that is not there, is no matter of this rule.

    Attributes:
        demand: The demand.
        example: What keeps the rule, and what breaks it.
    """

    demand: SliceDemand
    example: Illustration

    subject: ClassVar = Subject.ELEMENTS
    seen_by_shape: ClassVar = (0,)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare constants with sizes, where all are known."""
        data, *others = operands
        if len(others) < 4:
            return at_run_time("not all that decides it is given")
        constants = [o.constant for o in others if o.constant is not None]
        unknown = " and ".join(o.name for o in others if o.constant is None)
        if unknown:
            return at_run_time(f"the elements of {unknown} are known only in a run")
        if data.shape is None or data.scalar_inputs:
            return at_run_time(f"the rank of {data.name} is unknown")
        sizes = [size if isinstance(size, int) else -1 for size in data.shape]
        cut = _cut(sizes, constants)
        if cut is None or (cut.sizes < 0).any():
            return at_run_time(f"the sizes of {data.name} are known only in a run")
        reason = self._reason(cut)
        return proved("the constants are within the sizes") if reason is None else violated(reason)

    def violation(self, arrays: Sequence[Array]) -> Violation | None:
        """Compare elements with sizes."""
        data, *others = arrays
        cut = _cut(data.shape, others)
        reason = None if cut is None else self._reason(cut)
        return None if reason is None else Violation(reason)

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what to give."""
        del operands
        return self.example.mended

    def _reason(self, cut: _Cut) -> str | None:
        broken = cut.breaking(self.demand)
        if not broken.any():
            return None
        at = int(np.argmax(broken))
        told = self.demand.value.format(
            start=cut.starts[at], end=cut.ends[at], step=cut.steps[at], size=cut.sizes[at]
        )
        return f"{told} (entry {at})"


class EveryAxis:
    """The axes that a Slice names are as many as its operand has."""

    subject = Subject.OWN_SHAPE
    example = Illustration(
        "X (2, 3), axes [0, 1]",
        "X (2, 3), axes [1]",
        "name every axis; one that is not cut starts at 0 and ends at its size",
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the number of axes with the rank."""
        data, *axes = operands
        shapes = [o.shape for o in operands]
        if not axes or None in shapes or data.scalar_inputs:
            return at_run_time("the rank or the number of axes is known only in a run")
        match shapes:
            case [tuple(own), (int(named),)]:
                told = f"{named} of {len(own)} axes are named"
                return proved(told) if named == len(own) else violated(told)
        return at_run_time("the number of axes is known only in a run")

    def violation(self, arrays: Sequence[Array]) -> Violation | None:
        """Compare the number of axes with the rank."""
        data, axes = arrays
        if axes.size == data.ndim:
            return None
        return Violation(f"{axes.size} of {data.ndim} axes are named")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what to name."""
        del operands
        return self.example.mended


def _cut(sizes: Sequence[int], others: Sequence[Array]) -> _Cut | None:
    """What is known of each axis; None for what ONNX Runtime itself refuses."""
    starts, ends, axes, steps = (np.asarray(other, np.int64) for other in others)
    rank = len(sizes)
    if len({a.shape for a in (starts, ends, axes, steps)}) > 1 or axes.ndim != 1:
        return None
    if ((axes < -rank) | (axes >= rank)).any():
        return None
    own = np.asarray([sizes[int(axis)] for axis in axes], np.int64)
    return _Cut(own, starts, ends, steps)
