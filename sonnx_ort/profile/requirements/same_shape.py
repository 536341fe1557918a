"""Operands of one shape, and operands that must not be broadcast."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy.typing as npt

from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS, Broadcastable
from sonnx_ort.profile.rule import (
    Judgement,
    Status,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import (
    Operand,
    broadcast_shape,
    contradict,
    format_shape,
    format_size,
)

ALIKE = "all are computed element by element of one value, whose rank is unknown"
"""Why operands of unknown rank have one shape in every run."""

_BROADCASTABLE = Broadcastable()


class SameShape:
    """All operands have the same rank and sizes, without broadcasting.

    Equal symbols prove equal sizes only if a single dimension declares the symbol: ONNX Runtime
    does not check that inputs with the same symbol have the same size.
    """

    subject = Subject.EQUAL_SHAPES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' known shapes."""
        known = [operand for operand in operands if operand.shape is not None]
        pairs = (_judge_pair(a, b) for a, b in combinations(known, 2))
        judgements = [judgement for judgement in pairs if judgement is not None]
        for judgement in judgements:
            if judgement.status is Status.VIOLATED:
                return judgement
        unknown = " and ".join(o.name for o in operands if o.shape is None)
        if unknown and len(operands) > 1:
            if operands[0].alike and len({operand.alike for operand in operands}) == 1:
                return proved(ALIKE)
            return at_run_time(f"the rank of {unknown} is unknown")
        if judgements:
            return judgements[0]
        if len(operands) > 1 and operands[0].scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        return proved(_all_equal(operands))

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared shapes of results with the operands' shapes."""
        for result, operand in product(results, operands):
            if contradict(result.shape, operand.shape):
                return violated(
                    f"{result.name} is declared with shape {format_shape(result.shape)}, and "
                    f"{operand.name} has {format_shape(operand.shape)}"
                )
        return None

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the arrays' shapes."""
        first = arrays[0].shape
        if all(array.shape == first for array in arrays):
            return None
        shapes = dict.fromkeys(format_shape(array.shape) for array in arrays)
        return Violation(f"the shapes {' and '.join(shapes)} differ")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Name the operand to expand, or report incompatible shapes."""
        if _BROADCASTABLE.judge(operands).status is Status.VIOLATED:
            return "the shapes cannot be broadcast to each other; correct the model"
        from sonnx_ort.profile.wording import hint_to_expand

        return hint_to_expand(operands, operands)


class NoBroadcasting(SameShape):
    """Different shapes are forbidden even if ONNX could broadcast them."""

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """As `SameShape`, with evidence that names broadcasting as the reason."""
        judgement = super().judge(operands)
        common = broadcast_shape(*(operand.shape for operand in operands))
        return (
            violated(f"{judgement.evidence}; ONNX would broadcast to {format_shape(common)}")
            if (judgement.status == "violated" and common is not None)
            else judgement
        )


def _judge_pair(a: Operand, b: Operand) -> Judgement | None:
    """Compare two known shapes; None if they are equal in every run."""
    one, other = a.shape or (), b.shape or ()
    if len(one) != len(other):
        return violated(f"rank {len(one)} is not rank {len(other)}")
    pairs = list(enumerate(zip(one, other, strict=True)))
    for axis, (x, y) in pairs:
        if isinstance(x, int) and isinstance(y, int) and x != y:
            return violated(f"axis {axis} has size {x} in {a.name} and {y} in {b.name}")
    for axis, (x, y) in pairs:
        if x != y or x is None:
            sizes = f"{format_size(x)} in {a.name} and {format_size(y)} in {b.name}"
            return at_run_time(f"axis {axis} is {sizes}")
        if not a.certain(x):
            return at_run_time(
                f"axis {axis} is {x} in both, but several dimensions of the inputs are declared "
                "so, and ONNX Runtime does not require them to be equal"
            )
    return None


def _all_equal(operands: Sequence[Operand]) -> str:
    match len(operands):
        case 1:
            return "there is one operand"
        case 2:
            return f"both shapes are {format_shape(operands[0].shape)}"
        case _:
            return f"all shapes are {format_shape(operands[0].shape)}"
