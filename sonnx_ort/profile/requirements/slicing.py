"""A Slice selects elements within the axes, in the direction of its steps.

Source: SONNX Slice, draft of the working group, restrictions R2, R6, R7 and R8 and the value domain
of the ends.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.rule import (
    HintByExample,
    Illustration,
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Dimension, Operand

Array = npt.NDArray[Any]


class SliceDemand(enum.Enum):
    """A requirement for each axis of a Slice."""

    START_WITHIN = "start {start} is no place on an axis of size {size}"
    """The start is the index of an element; negative numbers count from the end."""

    END_WITHIN = "end {end} is beyond an axis of size {size}"
    """The end is an index or one after the last; one before the first for negative steps."""

    IN_ORDER = "start {start} lies behind end {end} in steps of {step} on an axis of size {size}"
    """The start is not after the end in the direction of the step."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """The known facts about each sliced axis: int64 vectors of equal length."""

    sizes: Array
    starts: Array
    ends: Array
    steps: Array

    def breaking(self, demand: SliceDemand) -> Array:
        """Which axes violate a requirement."""
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
class Slicing(HintByExample):
    """All sliced axes meet the requirement.

    It applies to the operands X, starts, ends, axes and steps. It does not cover what ONNX Runtime
    rejects itself, such as a missing axis.
    """

    demand: SliceDemand
    example: Illustration

    subject: ClassVar = Subject.ELEMENTS
    seen_by_shape: ClassVar = (0,)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare constants with sizes if all are known."""
        data, *others = operands
        if len(others) < 4:
            return at_run_time("not all inputs that decide it are given")
        if self._is_kept_by_sizes(data, *others):
            return proved("each end is the size of its axis, or as the constants are")
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

    def _is_kept_by_sizes(
        self, data: Operand, starts: Operand, ends: Operand, axes: Operand, steps: Operand
    ) -> bool:
        """Whether each axis keeps it in every run, some of whose sizes only that run knows.

        A Slice forwards from 0 to the size of the axis is in order, and ends next to the last
        element, even if the axis has none.
        """
        constants = starts.constant, axes.constant, steps.constant
        if self.demand is SliceDemand.START_WITHIN or any(c is None for c in constants):
            return False
        if data.shape is None or data.scalar_inputs or ends.sizes is None:
            return False
        first, named, by = (np.asarray(c, np.int64) for c in constants)
        numbers = {first.shape, named.shape, by.shape, (len(ends.sizes),)}
        if len(numbers) > 1 or (np.abs(named + 0.5) > len(data.shape)).any():
            return False
        return all(
            self._is_kept_on_axis(data.shape[axis], data, start, end, step)
            for axis, start, end, step in zip(
                named.tolist(), first.tolist(), ends.sizes, by.tolist(), strict=True
            )
        )

    def _is_kept_on_axis(
        self, size: Dimension, data: Operand, start: int, end: Dimension, step: int
    ) -> bool:
        if isinstance(size, int) and isinstance(end, int):
            cut = _Cut(*(np.asarray([number]) for number in (size, start, end, step)))
            return not cut.breaking(self.demand).any()
        to_the_end = end == size and data.certain(size) and step > 0
        return to_the_end and (self.demand is SliceDemand.END_WITHIN or start == 0)

    def violation(self, arrays: Sequence[Array]) -> Violation | None:
        """Compare elements with sizes."""
        data, *others = arrays
        cut = _cut(data.shape, others)
        reason = None if cut is None else self._reason(cut)
        return None if reason is None else Violation(reason)

    def _reason(self, cut: _Cut) -> str | None:
        broken = cut.breaking(self.demand)
        if not broken.any():
            return None
        at = int(np.argmax(broken))
        text = self.demand.value.format(
            start=cut.starts[at], end=cut.ends[at], step=cut.steps[at], size=cut.sizes[at]
        )
        return f"{text} (entry {at})"


def _cut(sizes: Sequence[int], others: Sequence[Array]) -> _Cut | None:
    """The facts about each sliced axis; None for what ONNX Runtime rejects itself."""
    starts, ends, axes, steps = (np.asarray(other, np.int64) for other in others)
    rank = len(sizes)
    if len({a.shape for a in (starts, ends, axes, steps)}) > 1 or axes.ndim != 1:
        return None
    if ((axes < -rank) | (axes >= rank)).any():
        return None
    own = np.asarray([sizes[int(axis)] for axis in axes], np.int64)
    return _Cut(own, starts, ends, steps)
