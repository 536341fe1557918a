"""The sizes that a Reshape names, and what it makes of 0 and -1 among them.

Source: SONNX Reshape, draft of the working group, constraints of allowzero, X and S.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.requirements.named_axes import certain, rank_unknown
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
