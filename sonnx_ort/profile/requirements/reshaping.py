"""Requirements of Reshape: the sizes that it names, and what it makes of 0 and -1 among them.

Source: SONNX Reshape, draft of the working group, constraints of allowzero, X and S.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np

from sonnx_ort.facts.sizes import Rejected, Size, Symbolic
from sonnx_ort.profile.requirements.axes import certain, rank_unknown
from sonnx_ort.profile.rule import (
    Attributes,
    DependsOnAttributes,
    JudgedInRuns,
    Judgement,
    Requirement,
    Subject,
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
    return at_run_time(f"the elements of {sizes.name} depend on the inputs")


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
        return at_run_time(f"the sizes of {data.name} depend on the inputs")
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
class InferableSize(DependsOnAttributes, JudgedInRuns):
    """A size of -1 follows from the others.

    With `allowzero=0` the first operand is not empty then; with `allowzero=1` no size is 0.

    Attributes:
        attributes: The attribute that says what a 0 means.
        copies_zeros: Whether a 0 copies a size of the first operand.
        operands: The names of both operands.
    """

    attributes: tuple[str, ...] = ("allowzero",)
    copies_zeros: bool = True
    operands: tuple[str, ...] = ("X", "S")

    subject: ClassVar = Subject.ELEMENTS
    seen_by_shape: ClassVar = (0,)

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
        entry = numbers.index(_INFERRED)
        return _judge_inferred(data, entry) if self.copies_zeros else _judge_beside(numbers, entry)


def _judge_inferred(data: Operand, entry: int) -> Judgement:
    """Judge a size of -1 of a tensor that may be empty."""
    if 0 in (data.shape or ()):
        shown = format_shape(data.shape)
        return violated(f"a size is -1, and {data.name} {shown} is empty", entry)
    return at_run_time(f"the sizes of {data.name} depend on the inputs")


def _holds_something(shape: Shape) -> bool:
    return all(bounds_of_axis(size).lower > 0 for size in shape)


def _judge_beside(numbers: Sequence[int], entry: int) -> Judgement:
    """Judge a size of -1 beside others that are not copied."""
    if 0 in numbers:
        return violated("a size is 0, and one is -1", entry)
    return proved("no size is 0")
