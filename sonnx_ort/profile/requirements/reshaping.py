"""Requirements of Reshape and of Slice.

The sizes that a Reshape names, and what it makes of 0 and -1 among them. Source: SONNX Reshape,
draft of the working group, constraints of allowzero, X and S.

A Slice selects elements within the axes, in the direction of its steps. Source: SONNX Slice, draft
of the working group, restrictions R2, R6, R7 and R8 and the value domain of the ends.
"""

import enum
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.kernel.bounds import LIMITS
from sonnx_ort.kernel.sizes import Bounds, Rejected, Size, Symbolic
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
from sonnx_ort.terms.operand import (
    Dimension,
    OpenSize,
    Operand,
    Shape,
    bounds_of_axis,
    bounds_of_element,
    format_shape,
)

_INFERRED = -1
"""The size that follows from the others."""


def _copies_zeros(attributes: Attributes) -> bool:
    # ONNX Runtime takes every other value for 0.
    return attributes.get("allowzero") != 1


def _numbers(sizes: Operand) -> tuple[int, ...] | None:
    """The sizes that are named; None if one is known only in a run, or they are no integers."""
    constant = sizes.constant
    if constant is None or constant.dtype.kind not in "iu":
        known = [size for size in sizes.sizes or (None,) if isinstance(size, int)]
        return tuple(known) if sizes.sizes and len(known) == len(sizes.sizes) else None
    return tuple(int(size) for size in constant.ravel())


def _named(sizes: Operand) -> Shape | None:
    """The sizes that are named, with symbols; None if one is not known."""
    numbers = _numbers(sizes)
    if numbers is not None:
        return numbers
    return None if sizes.sizes is None or None in sizes.sizes else sizes.sizes


def _unknown(sizes: Operand) -> Judgement:
    return at_run_time(f"the elements of {sizes.name} are known only in a run")


def _at_least(sizes: Operand, least: int) -> bool:
    """Whether no size is below a number, in any run."""
    if sizes.bounds is not None and sizes.bounds.lower >= least:
        return True
    known = [bounds_of_element(size) for size in sizes.sizes or (None,)]
    return all(each is not None and each.lower >= least for each in known)


def _may_be(size: Dimension, number: int) -> bool:
    """Whether a size that is named may be a number."""
    known = bounds_of_element(size)
    return known is None or number in known


def no_size_is_below_minus_one(operands: Sequence[Operand], _: Attributes) -> Judgement:
    """Each size is at least -1."""
    (sizes,) = operands
    numbers = _numbers(sizes)
    if numbers is None:
        return proved("no size is below -1") if _at_least(sizes, _INFERRED) else _unknown(sizes)
    below = [number for number in numbers if number < _INFERRED]
    return violated(f"a size is {below[0]}") if below else proved("no size is below -1")


def one_size_is_inferred(operands: Sequence[Operand], _: Attributes) -> Judgement:
    """At most one size is -1."""
    (sizes,) = operands
    numbers = _numbers(sizes)
    if numbers is not None:
        count = numbers.count(_INFERRED)
        count_shown = "one size is -1" if count == 1 else f"{count or 'no'} sizes are -1"
        return violated(count_shown) if count > 1 else proved(count_shown)
    if _at_least(sizes, 0):
        return proved("no size is negative")
    match sizes.shape:
        case (0 | 1,):
            return certain(sizes, "there is one size at most")
    if sizes.sizes is not None and sum(_may_be(size, _INFERRED) for size in sizes.sizes) <= 1:
        return proved("one size at most is -1")
    return _unknown(sizes)


def copied_sizes_exist(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    """Each 0 that copies a size has an axis of the first operand to copy it from."""
    data, sizes = operands
    if not _copies_zeros(attributes):
        return proved("a 0 copies nothing")
    numbers = _numbers(sizes)
    entries = numbers if numbers is not None else sizes.sizes
    possible = [index for index, number in enumerate(entries or ()) if _may_be(number, 0)]
    if _at_least(sizes, 1) or (entries is not None and not possible):
        return proved("no size is 0")
    if entries is None:
        return _unknown(sizes)
    if data.shape is None:
        return rank_unknown(data)
    last, rank = possible[-1], len(data.shape)
    if last < rank:
        return certain(data, "each 0 copies a size")
    broken = violated(f"entry {last} is 0, and {data.name} has {rank} axes")
    return _unknown(sizes) if numbers is None else broken


def elements_are_as_many(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    """The result has as many elements as the first operand."""
    data, sizes = operands
    numbers = _named(sizes)
    if numbers is None:
        return _unknown(sizes)
    if data.shape is None:
        return rank_unknown(data)
    wanted = _wanted(data.shape, numbers, copied=_copies_zeros(attributes))
    own, named = _without_common(data.shape, [size for size in wanted if size != _INFERRED])
    fits = _are_as_many(own, named, inferred=_INFERRED in numbers)
    if fits is None or not all(map(data.certain, numbers)):
        return at_run_time(f"the sizes of {data.name} are known only in a run")
    shape, asked = format_shape(data.shape), f"[{', '.join(map(str, numbers))}]"
    if not fits:
        return violated(f"{data.name} {shape} does not have the elements of {asked}")
    return certain(data, f"{data.name} {shape} has the elements of {asked}")


def _are_as_many(
    own: Sequence[Dimension], named: Sequence[Dimension], *, inferred: bool
) -> bool | None:
    """Whether the sizes of two shapes, of which one may have one more, fit; None if unknown."""
    try:
        count, divisor = (prod(map(_polynomial, part)) for part in (own, named))
    except Rejected:
        return None
    if isinstance(count, int) and isinstance(divisor, int):
        return (count % divisor == 0 if divisor else count == 0) if inferred else count == divisor
    if not inferred:
        return True if count == divisor else None
    if isinstance(count, int) or not isinstance(divisor, int) or divisor <= 0:
        return None
    return True if count.bounds is not None and count.is_multiple_of(divisor) else None


def _polynomial(size: Dimension) -> Size:
    """A size with symbols.

    Raises:
        Rejected: It is not known.
    """
    if isinstance(size, int):
        return size
    if size is None:
        raise Rejected("a size is not known")
    return size.size if isinstance(size, OpenSize) else Symbolic.named(size)


def _wanted(shape: Shape, numbers: Shape, *, copied: bool) -> list[Dimension]:
    """The sizes of the result, -1 for the one that is inferred; None for one that may be."""
    return [
        _wanted_size(shape[index] if index < len(shape) else None, number, copied=copied)
        for index, number in enumerate(numbers)
    ]


def _wanted_size(own: Dimension, number: Dimension, *, copied: bool) -> Dimension:
    if isinstance(number, int):
        return own if number == 0 and copied and own is not None else number
    known = bounds_of_element(number)
    least = -1 if known is None else known.lower
    return number if number == own or least >= (1 if copied else 0) else None


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


def no_step_is_zero(operands: Sequence[Operand], _: Attributes) -> Judgement:
    """No element of the only operand, if it is given, is 0."""
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
        if not self.copies_zeros and not any(_may_be(size, 0) for size in _named(sizes) or (0,)):
            return proved("no size is 0")
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
    return all(bounds_of_axis(size).lower > 0 for size in shape)


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
class _Axis:
    """What is known of one axis and of how it is cut.

    Attributes:
        size: Its size.
        start: The first place.
        end: The place behind the last.
        step: The step.
        to_the_end: Whether the end is known to be the size.
    """

    size: Bounds
    start: Bounds
    end: Bounds
    step: int
    to_the_end: bool = False

    def keeps(self, demand: SliceDemand) -> bool | None:
        """Whether it meets a requirement; None if that is decided in a run."""
        down = self.step < 0
        match demand:
            case SliceDemand.START_WITHIN:
                return self._within(self.start, -1)
            case SliceDemand.END_WITHIN:
                return (self.to_the_end and not down) or self._within(self.end, -down, down)
            case SliceDemand.IN_ORDER if self.to_the_end and not down:
                return self._within(self.start, 0, LIMITS["int64"].upper)
            case SliceDemand.IN_ORDER:
                return self._in_order()

    def _within(self, place: Bounds, above: int, below: int = 0) -> bool | None:
        """Whether a place is at most the size and `above`, and not before the first and `below`."""
        least, most = self.size.lower, self.size.upper
        if -least - below <= place.lower and place.upper <= least + above:
            return True
        return False if place.upper < -most - below or place.lower > most + above else None

    def _in_order(self) -> bool | None:
        start: Bounds | None = self.start
        end: Bounds | None = self.end
        if self.start.upper >= 0 or self.end.upper >= 0:
            start, end = self._from_the_front(self.start), self._from_the_front(self.end)
        if start is None or end is None:
            return None
        first, last = (end, start) if self.step < 0 else (start, end)
        if first.upper <= last.lower:
            return True
        return False if first.lower > last.upper else None

    def _from_the_front(self, place: Bounds) -> Bounds | None:
        if place.lower >= 0:
            return place
        if place.upper >= 0:
            return None
        return Bounds(place.lower + self.size.lower, place.upper + self.size.upper)


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
            if known is None or (operand.name in _NUMBERS and not all(map(_is_number, known)))
        )
        known = [entry for entry in entries if entry is not None]
        cut = None if unknown else _cut(data.shape, known, data.certain)
        kept: list[bool | None] = [None]
        if cut is not None:
            kept = [axis.keeps(self.demand) for axis in cut]
        if cut is not None and False in kept:
            return violated(self._reason(cut, kept.index(False)))
        if None not in kept:
            return proved("the places are within the sizes")
        unknown = unknown or " and ".join(o.name for o in others if o.constant is None)
        what = f"the elements of {unknown}" if unknown else f"the sizes of {data.name}"
        return at_run_time(f"{what} are known only in a run")

    def violation(self, arrays: Sequence[Array]) -> Violation | None:
        """Compare elements with sizes."""
        data, *others = arrays
        if any(each.ndim != 1 for each in others):
            return None
        cut = _cut(data.shape, [each.tolist() for each in others], lambda _: True)
        for index, axis in enumerate(cut or ()):
            if axis.keeps(self.demand) is False:
                return Violation(self._reason(cut or (), index))
        return None

    def _reason(self, cut: Sequence[_Axis], index: int) -> str:
        axis = cut[index]
        text = self.demand.value.format(
            start=axis.start, end=axis.end, step=axis.step, size=axis.size
        )
        return f"{text} (entry {index})"


_NUMBERS = ("axes", "steps")
"""The operands of which each element has to be known."""


def _is_number(element: Dimension) -> bool:
    return isinstance(element, int)


def _entries(operand: Operand) -> Sequence[Dimension] | None:
    """The known elements of a vector; None if their number is not known, or it is none."""
    if operand.constant is None:
        return operand.sizes
    constant = np.asarray(operand.constant, np.int64)
    return constant.tolist() if constant.ndim == 1 else None


def _cut(
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
        found.append(_Axis(bounds_of_axis(size), _place(start), _place(end), step, to_the_end))
    return found


def _place(element: Dimension) -> Bounds:
    """What a start or an end can be."""
    return bounds_of_element(element) or LIMITS["int64"]
