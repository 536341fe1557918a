"""Shapes that broadcast, as required by Broadcast."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy.typing as npt

from sonnx_ort.profile.requirements.same_type import differing_types
from sonnx_ort.profile.rule import (
    DecidedBeforeRuns,
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Dimension, Operand, Shape, format_shape, format_size

SCALAR_INPUTS = (
    "the declared shapes fit, but an input of the model is declared as a scalar, and ONNX Runtime "
    "accepts tensors of any rank for it"
)
"""Evidence for models with a scalar input, where no shape is certain."""


class Broadcastable:
    """On each axis, every size is the largest one or 1.

    Shapes are aligned at their last axes; missing leading axes have size 1. A size of 0 with a size
    of 1 violates the rule: it is neither the largest nor 1.
    """

    subject = Subject.COMMON_SHAPE

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the known sizes of each axis."""
        unknown = " and ".join(o.name for o in operands if o.shape is None)
        if unknown:
            return at_run_time(f"the rank of {unknown} is unknown")
        open_axis: str | None = None
        shapes = [o.shape or () for o in operands]
        for axis, sizes in aligned_axes(shapes):
            misfit = _misfit(sizes)
            if misfit is not None:
                return violated(_clash(axis, misfit, [o.name for o in operands], shapes))
            if not fit_in_every_run(operands, sizes):
                open_axis = open_axis or f"axis {axis} is " + " against ".join(
                    map(format_size, sizes)
                )
        if open_axis is not None:
            return at_run_time(open_axis)
        if operands[0].scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        return proved("on each axis every size is the largest or 1")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the shapes of arrays."""
        common = self.common_shape([array.shape for array in arrays])
        return common if isinstance(common, Violation) else None

    def common_shape(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | Violation:
        """Find the common shape of at least one shape, or the first axis that does not fit."""
        rank = max(map(len, shapes))
        common: list[int] = []
        for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
            largest = max(sizes)
            if not {1, largest}.issuperset(sizes) and (misfit := _misfit(sizes)) is not None:
                names = [f"X{index}" for index in range(len(shapes))]
                return Violation(_clash(len(common), misfit, names, shapes))
            common.append(largest)
        return tuple(common)

    def hint(self, operands: Sequence[Operand]) -> str:
        """Explain that the shapes cannot be made equal."""
        shapes = " and ".join(format_shape(o.shape) for o in operands)
        return f"the shapes {shapes} have no common shape; correct the model"


class OwnType(DecidedBeforeRuns):
    """Each output has the type of its own input."""

    subject = Subject.TYPES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Always proved: each output contains only elements of its input."""
        del operands
        return proved("each output repeats the elements of its own input")

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared type of each result with its operand's type."""
        for operand, result in zip(operands, results, strict=False):
            clash = differing_types(operand, result)
            if clash:
                return violated(clash)
        return None


def aligned_axes(shapes: Sequence[Shape]) -> Iterator[tuple[int, tuple[Dimension, ...]]]:
    """Each axis of the common shape with the sizes of all shapes; 1 for a missing axis."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    yield from enumerate(zip(*padded, strict=True))


def _misfit(sizes: Sequence[Dimension]) -> tuple[int, int] | None:
    """The first two positions with incompatible known sizes."""
    known = [(index, size) for index, size in enumerate(sizes) if isinstance(size, int)]
    for position, (index, size) in enumerate(known):
        for other_index, other in known[:position]:
            if size != other and (1 not in (size, other) or 0 in (size, other)):
                return other_index, index
    return None


def fit_in_every_run(operands: Sequence[Operand], sizes: Sequence[Dimension]) -> bool:
    """Whether the sizes of one axis fit in every run, if no known sizes are incompatible.

    `sizes` are the operands' sizes on the axis, from `aligned_axes`.
    """
    if all(isinstance(size, int) for size in sizes):
        return True
    return len(set(sizes)) == 1 and operands[0].certain(sizes[0])


def _clash(
    axis: int, misfit: tuple[int, int], names: Sequence[str], shapes: Sequence[Shape]
) -> str:
    """The sizes of two operands on an axis of the common shape, which one of them may not have."""
    rank = max(map(len, shapes))
    sizes_shown = [
        f"{shapes[index][own]} in {names[index]}"
        if (own := axis - rank + len(shapes[index])) >= 0
        else f"1 in {names[index]} (which has no such axis)"
        for index in misfit
    ]
    return f"axis {axis} has size {' and '.join(sizes_shown)}"
