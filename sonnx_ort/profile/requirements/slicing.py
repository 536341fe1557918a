"""Requirements of Slice: it selects elements within the axes, in the direction of its steps.

Source: SONNX Slice, draft of the working group, restrictions R2, R6, R7 and R8 and the value domain
of the ends.
"""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonnx_ort.facts.bounds import LIMITS
from sonnx_ort.facts.sizes import Bounds, Size, Symbolic, bounds_of_size
from sonnx_ort.profile.rule import (
    JudgedInRuns,
    Judgement,
    Subject,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import SIZES, Dimension, OpenSize, Operand, Shape


class SliceDemand(enum.Enum):
    """A requirement for each axis of a Slice."""

    START_WITHIN = "start {start} is no index of an axis of size {size}"
    """The start is the index of an element; negative numbers count from the end."""

    END_WITHIN = "end {end} is beyond an axis of size {size}"
    """The end is an index or one after the last; one before the first for negative steps."""

    IN_ORDER = "start {start} lies after end {end} in steps of {step} on an axis of size {size}"
    """The start is not after the end in the direction of the step."""


_Place = Size | Bounds
"""A size or a place on an axis; of one of which no more is known, what it is within."""


def _bounds_of(place: _Place) -> Bounds:
    known = place if isinstance(place, Bounds) else bounds_of_size(place)
    return known or LIMITS["int64"]


def _sum(one: _Place, other: _Place) -> _Place:
    if not isinstance(one, Bounds) and not isinstance(other, Bounds):
        return one + other
    a, b = _bounds_of(one), _bounds_of(other)
    return Bounds(a.lower + b.lower, a.upper + b.upper)


def _negative(place: _Place) -> _Place:
    return Bounds(-place.upper, -place.lower) if isinstance(place, Bounds) else place * -1


@dataclass(frozen=True, slots=True)
class _Axis:
    """What is known of one axis and of how it is cut.

    Attributes:
        size: Its size.
        start: The first place.
        end: The place after the last.
        step: The step.
        to_the_end: Whether the end is known to be the size.
    """

    size: _Place
    start: _Place
    end: _Place
    step: int
    to_the_end: bool = False

    def keeps(self, demand: SliceDemand) -> bool | None:
        """Whether it meets a requirement; None if that is decided in a run."""
        down = self.step < 0
        match demand:
            case SliceDemand.START_WITHIN:
                return self._is_within(self.start, -1)
            case SliceDemand.END_WITHIN:
                return (self.to_the_end and not down) or self._is_within(self.end, -down, down)
            case SliceDemand.IN_ORDER if self.to_the_end and not down:
                return self._is_within(self.start, 0, LIMITS["int64"].upper)
            case SliceDemand.IN_ORDER:
                return self._in_order()

    def _is_within(self, place: _Place, above: int, below: int = 0) -> bool | None:
        """Whether -size - below <= place <= size + above; None if that is decided in a run.

        Places count from either end. Of an axis of 4 elements:

            elements           a   b   c   d
            from the front     0   1   2   3   4   (4 is an end, and no start)
            from the back     -4  -3  -2  -1
        """
        after = _bounds_of(_sum(place, _negative(self.size)))
        before = _bounds_of(_sum(place, self.size))
        if after.upper <= above and -below <= before.lower:
            return True
        return False if before.upper < -below or after.lower > above else None

    def _in_order(self) -> bool | None:
        start: _Place | None = self.start
        end: _Place | None = self.end
        if _bounds_of(self.start).upper >= 0 or _bounds_of(self.end).upper >= 0:
            start, end = self._from_the_front(self.start), self._from_the_front(self.end)
        if start is None or end is None:
            return None
        first, last = (end, start) if self.step < 0 else (start, end)
        distance = _bounds_of(_sum(last, _negative(first)))
        if distance.lower >= 0:
            return True
        return False if distance.upper < 0 else None

    def _from_the_front(self, place: _Place) -> _Place | None:
        known = _bounds_of(place)
        if known.lower >= 0:
            return place
        return None if known.upper >= 0 else _sum(place, self.size)


@dataclass(frozen=True, slots=True)
class Slicing(JudgedInRuns):
    """All sliced axes meet the requirement.

    It applies to the operands X, starts, ends, axes and steps. It does not cover what ONNX Runtime
    rejects itself, such as a missing axis.
    """

    demand: SliceDemand
    operands: tuple[str, ...] = ("X", "starts", "ends", "axes", "steps")

    subject: ClassVar = Subject.ELEMENTS
    seen_by_shape: ClassVar = (0,)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare what is known of places and sizes."""
        data, *others = operands
        if [operand.name for operand in others][:2] != ["starts", "ends"]:
            return at_run_time("not all inputs that decide it are given")
        if data.shape is None or data.scalar_inputs:
            return at_run_time(f"the rank of {data.name} is unknown")
        given = {operand.name: _entries(operand) for operand in others}
        count = len(given["starts"] or ())
        entries = [given["starts"], given["ends"]]
        entries += [given.get("axes", range(count)), given.get("steps", [1] * count)]
        unknown = " and ".join(
            operand.name
            for operand, known in zip(others, given.values(), strict=True)
            if known is None
            or (operand.name in _NUMBERS and not all(isinstance(each, int) for each in known))
        )
        known = [entry for entry in entries if entry is not None]
        cut = None if unknown else _sliced_axes(data.shape, known, data.certain)
        kept: list[bool | None] = [None]
        if cut is not None:
            kept = [axis.keeps(self.demand) for axis in cut]
        if cut is not None and False in kept:
            entry = kept.index(False)
            return violated(self._reason(cut, entry), entry)
        if None not in kept:
            return proved("starts and ends are within the sizes")
        unknown = unknown or " and ".join(o.name for o in others if o.constant is None)
        what = f"the elements of {unknown}" if unknown else f"the sizes of {data.name}"
        return at_run_time(f"{what} depend on the inputs")

    def _reason(self, cut: Sequence[_Axis], index: int) -> str:
        axis = cut[index]
        text = self.demand.value.format(
            start=_bounds_of(axis.start),
            end=_bounds_of(axis.end),
            step=axis.step,
            size=_bounds_of(axis.size),
        )
        return f"{text} (entry {index})"


_NUMBERS = ("axes", "steps")
"""The operands of which each element has to be known."""


def _entries(operand: Operand) -> Sequence[Dimension] | None:
    """The known elements of a vector; None if their number is not known, or it is none."""
    if operand.constant is None:
        return operand.sizes
    constant = np.asarray(operand.constant, np.int64)
    return constant.tolist() if constant.ndim == 1 else None


def _sliced_axes(
    sizes: Shape, places: Sequence[Sequence[Dimension]], certain: Callable[[Dimension], bool]
) -> list[_Axis] | None:
    """The facts about each sliced axis; None for what ONNX Runtime rejects itself.

    Args:
        sizes: The shape of the first operand.
        places: The starts, ends, axes and steps.
        certain: Whether an open size is the same number wherever its symbol stands.
    """
    if len({len(each) for each in places}) > 1:
        return None
    found = []
    for start, end, axis, step in zip(*places, strict=True):
        if not isinstance(axis, int) or not isinstance(step, int):
            return None
        if not -len(sizes) <= axis < len(sizes):
            return None
        size = sizes[axis]
        to_the_end = size is not None and end == size and certain(size)
        found.append(
            _Axis(_place_of(size, SIZES), _place_of(start), _place_of(end), step, to_the_end)
        )
    return found


def _place_of(given: Dimension, otherwise: Bounds = LIMITS["int64"]) -> _Place:
    """A known size or place itself; of one that is not known, the bounds in which it lies."""
    found = given.size if isinstance(given, OpenSize) else given
    return found if isinstance(found, int | Symbolic) and bounds_of_size(found) else otherwise
