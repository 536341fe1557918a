"""Requirements of Reshape and of Slice.

The sizes that a Reshape names, and what it makes of 0 and -1 among them. Source: SONNX Reshape,
draft of the working group, constraints of allowzero, X and S.

A Slice selects elements within the axes, in the direction of its steps. Source: SONNX Slice, draft
of the working group, restrictions R2, R6, R7 and R8 and the value domain of the ends.
"""

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.requirements.axes import certain, rank_unknown
from sonnx_ort.profile.rule import (
    Attributes,
    DependsOnAttributes,
    HintByExample,
    Illustration,
    Judgement,
    Requirement,
    Subject,
    Violation,
    at_run_time,
    judged,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Dimension, Operand, Shape, format_shape

_INFERRED = -1
"""The size that follows from the others."""


def _copies_zeros(attributes: Attributes) -> bool:
    # ONNX Runtime takes every other value for 0.
    return attributes.get("allowzero") != 1


def _numbers(sizes: Operand) -> tuple[int, ...] | None:
    """The sizes that a constant names; None if they are known only in a run, or no integers."""
    constant = sizes.constant
    if constant is None or constant.dtype.kind not in "iu":
        return None
    return tuple(int(size) for size in constant.ravel())


def _unknown(sizes: Operand) -> Judgement:
    return at_run_time(f"the elements of {sizes.name} are known only in a run")


def _at_least(sizes: Operand, least: int) -> bool:
    """Whether no size is below a number, in any run."""
    return sizes.bounds is not None and sizes.bounds.lower >= least


def no_size_is_below_minus_one(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    """Each size is at least -1."""
    del attributes
    (sizes,) = operands
    numbers = _numbers(sizes)
    if numbers is None:
        return proved("no size is below -1") if _at_least(sizes, _INFERRED) else _unknown(sizes)
    below = [number for number in numbers if number < _INFERRED]
    return violated(f"a size is {below[0]}") if below else proved("no size is below -1")


def one_size_is_inferred(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    """At most one size is -1."""
    del attributes
    (sizes,) = operands
    numbers = _numbers(sizes)
    if numbers is not None:
        count = numbers.count(_INFERRED)
        said = "one size is -1" if count == 1 else f"{count or 'no'} sizes are -1"
        return violated(said) if count > 1 else proved(said)
    if _at_least(sizes, 0):
        return proved("no size is negative")
    match sizes.shape:
        case (0 | 1,):
            return certain(sizes, "there is one size at most")
    return _unknown(sizes)


def copied_sizes_exist(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    """Each 0 that copies a size has an axis of the first operand to copy it from."""
    data, sizes = operands
    if not _copies_zeros(attributes):
        return proved("a 0 copies nothing")
    numbers = _numbers(sizes)
    if numbers is None:
        return proved("no size is 0") if _at_least(sizes, 1) else _unknown(sizes)
    if 0 not in numbers:
        return proved("no size is 0")
    if data.shape is None:
        return rank_unknown(data)
    copied = max(index for index, number in enumerate(numbers) if number == 0)
    if copied < len(data.shape):
        return certain(data, "each 0 copies a size")
    return violated(f"entry {copied} is 0, and {data.name} has {len(data.shape)} axes")


def elements_are_as_many(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    """The result has as many elements as the first operand."""
    data, sizes = operands
    numbers = _numbers(sizes)
    if numbers is None:
        return _unknown(sizes)
    if data.shape is None:
        return rank_unknown(data)
    wanted = _wanted(data.shape, numbers, copied=_copies_zeros(attributes))
    own, named = _without_common(data.shape, [size for size in wanted if size != _INFERRED])
    if any(not isinstance(size, int) for size in (*own, *named)):
        return at_run_time(f"the sizes of {data.name} are known only in a run")
    count, divisor = (prod(int(size or 0) for size in part) for part in (own, named))
    fits = count == divisor
    if _INFERRED in numbers:
        fits = count % divisor == 0 if divisor else count == 0
    shape = format_shape(data.shape)
    if not fits:
        return violated(f"{data.name} {shape} does not have the elements of {list(numbers)}")
    return certain(data, f"{data.name} {shape} has the elements of {list(numbers)}")


def _wanted(shape: Shape, numbers: Sequence[int], *, copied: bool) -> list[Dimension]:
    """The sizes of the result, -1 for the one that is inferred."""
    inherits = [
        copied and number == 0 and index < len(shape) for index, number in enumerate(numbers)
    ]
    return [shape[i] if inherits[i] else number for i, number in enumerate(numbers)]


def _without_common(
    one: Sequence[Dimension], other: Sequence[Dimension]
) -> tuple[list[Dimension], list[Dimension]]:
    """Two lists of sizes without the symbols that stand in both."""
    symbols = [Counter(size for size in sizes if isinstance(size, str)) for sizes in (one, other)]
    common = symbols[0] & symbols[1]
    parts: list[list[Dimension]] = []
    for sizes in (one, other):
        left = Counter(common)
        kept: list[Dimension] = []
        for size in sizes:
            if isinstance(size, str) and left[size] > 0:
                left[size] -= 1
            else:
                kept.append(size)
        parts.append(kept)
    return parts[0], parts[1]


def no_step_is_zero(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    """No element of the only operand, if it is given, is 0."""
    del attributes
    if not operands:
        return proved("no steps are given")
    (steps,) = operands
    if steps.bounds is not None and 0 not in steps.bounds:
        return proved(f"{steps.name} is between {steps.bounds}")
    if steps.constant is None:
        return _unknown(steps)
    constant = np.asarray(steps.constant)
    return judged(bool(np.all(constant != 0)), f"{steps.name} is {constant.tolist()}")


@dataclass(frozen=True, slots=True)
class InferableSize(DependsOnAttributes, HintByExample):
    """A size of -1 follows from the others.

    With `allowzero=0` the first operand is not empty then; with `allowzero=1` no size is 0.

    Attributes:
        attributes: The attribute that says what a 0 means.
        copies_zeros: Whether a 0 copies a size of the first operand.
    """

    attributes: tuple[str, ...] = ("allowzero",)
    copies_zeros: bool = True

    subject: ClassVar = Subject.ELEMENTS
    seen_by_shape: ClassVar = (0,)
    example: ClassVar = Illustration(
        "X (4, 3), S [-1, 3]",
        "X (0, 3), S [-1, 3]",
        "name every size, or keep empty tensors out",
    )

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node."""
        return replace(self, copies_zeros=_copies_zeros(attributes))

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at the sizes and at the shape that are known."""
        data, sizes = operands
        numbers = _numbers(sizes)
        if _at_least(sizes, 0) or (numbers is not None and _INFERRED not in numbers):
            return proved("no size is -1")
        if self.copies_zeros and data.shape is not None and _holds_something(data.shape):
            return certain(data, f"{data.name} {format_shape(data.shape)} is not empty")
        if numbers is None:
            return _unknown(sizes)
        return self._judge_inferred(data) if self.copies_zeros else _judge_beside(numbers)

    @staticmethod
    def _judge_inferred(data: Operand) -> Judgement:
        if 0 in (data.shape or ()):
            return violated(f"a size is -1, and {data.name} {format_shape(data.shape)} is empty")
        return at_run_time(f"the sizes of {data.name} are known only in a run")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Look at the sizes and the shape of a run."""
        data, sizes = arrays
        if not np.any(sizes == _INFERRED):
            return None
        if self.copies_zeros:
            shape = format_shape(data.shape)
            return Violation(f"a size is -1, and {shape} is empty") if 0 in data.shape else None
        return Violation("a size is 0, and one is -1") if np.any(sizes == 0) else None


def _holds_something(shape: Shape) -> bool:
    return all(isinstance(size, int) and size > 0 for size in shape)


def _judge_beside(numbers: Sequence[int]) -> Judgement:
    """Judge a size of -1 beside others that are not copied."""
    return violated("a size is 0, and one is -1") if 0 in numbers else proved("no size is 0")


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
