"""All operands have one and the same shape."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, Offence, Status, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand, Shape, broadcast_shape, contradict, format_shape
from sonnx_ort.profile.requirements.broadcastable import SCALAR_INPUTS, Broadcastable
from sonnx_ort.profile.rule import Example

_BROADCASTABLE = Broadcastable()


class SameShape:
    """Equal ranks and equal sizes; broadcasting is no equality.

    Equal symbols prove equal sizes only where one dimension alone is declared with the symbol:
    ONNX Runtime does not hold two inputs that are declared with one symbol to one size.
    """

    example = Example(
        "A (2, 3), B (2, 3)",
        "A (2, 3), B (3,)",
        'rewrite with broadcast="explicit", which inserts a Broadcast, or give both one shape',
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' shapes as far as they are known."""
        a, b = operands
        if a.shape is None or b.shape is None:
            unknown = " and ".join(o.letter for o in operands if o.shape is None)
            return at_run_time(f"the rank of {unknown} is unknown")
        if len(a.shape) != len(b.shape):
            return violated(f"rank {len(a.shape)} is not rank {len(b.shape)}")
        judgement = _judge_sizes(a, a.shape, b.shape)
        if judgement.status is Status.PROVED and a.scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        return judgement

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared shapes of results with the operands'."""
        for result, operand in product(results, operands):
            if contradict(result.shape, operand.shape):
                return violated(
                    f"{result.letter} is declared with shape {format_shape(result.shape)}, and "
                    f"{operand.letter} has {format_shape(operand.shape)}"
                )
        return None

    def offence(self, arrays: Sequence[npt.NDArray[Any]]) -> Offence | None:
        """Compare the arrays' shapes."""
        a, b = arrays
        if a.shape == b.shape:
            return None
        return Offence(f"the shapes {format_shape(a.shape)} and {format_shape(b.shape)} differ")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say which operand a Broadcast would expand, or that nothing can make the shapes equal."""
        if _BROADCASTABLE.judge(operands).status is Status.VIOLATED:
            return "the shapes cannot be broadcast to each other; correct the model"
        return self.hint_to_expand(operands, operands)

    @staticmethod
    def hint_to_expand(operands: Sequence[Operand], aligned: Sequence[Operand]) -> str:
        """Say which operand a Broadcast would expand, and to what.

        Args:
            operands: The operands as they are.
            aligned: The operands lined up at their last axes.
        """
        a, b = aligned
        common = broadcast_shape(a.shape, b.shape)
        if common is None:
            return 'rewrite with broadcast="explicit", which inserts a Broadcast'
        if all(operand.shape == common for operand in operands):
            return "remove the attribute broadcast"
        expanded = " and ".join(
            f"{o.letter} from {format_shape(o.shape)} to {format_shape(common)}"
            for o in operands
            if o.shape != common
        )
        return f'rewrite with broadcast="explicit", which inserts a Broadcast of {expanded}'


class NoBroadcasting(SameShape):
    """Shapes that differ are refused even where ONNX could broadcast them to a common one."""

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide as `SameShape`, and say that broadcasting is what is forbidden."""
        judgement = super().judge(operands)
        a, b = operands
        common = broadcast_shape(a.shape, b.shape)
        return (
            violated(f"{judgement.evidence}; ONNX would broadcast to {format_shape(common)}")
            if (judgement.status == "violated" and common is not None)
            else judgement
        )


def _judge_sizes(operand: Operand, a: Shape, b: Shape) -> Judgement:
    """Compare shapes of one rank."""
    pairs = list(enumerate(zip(a, b, strict=True)))
    for axis, (one, other) in pairs:
        if isinstance(one, int) and isinstance(other, int) and one != other:
            return violated(f"axis {axis} has size {one} in A and {other} in B")
    for axis, (one, other) in pairs:
        if one != other or one is None:
            return at_run_time(f"axis {axis} is {_size(one)} in A and {_size(other)} in B")
        if not operand.certain(one):
            return at_run_time(
                f"axis {axis} is {one} in both, but more than one dimension of the inputs is "
                "declared so, and ONNX Runtime does not hold these to one size"
            )
    return proved(f"both shapes are {format_shape(a)}")


def _size(dimension: int | str | None) -> str:
    return "unknown" if dimension is None else str(dimension)
