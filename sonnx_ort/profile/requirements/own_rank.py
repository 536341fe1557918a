"""Tensors have a certain number of axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, Violation, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand, Shape, format_shape
from sonnx_ort.profile.requirements.broadcastable import SCALAR_INPUTS
from sonnx_ort.profile.rule import Illustration, Subject


@dataclass(frozen=True, slots=True)
class OwnRank:
    """Each operand that is given has one and the same rank, which the rule names.

    Attributes:
        rank: The rank.
        example: What keeps the rule, and what breaks it.
    """

    rank: int
    example: Illustration

    subject: ClassVar = Subject.OWN_SHAPE

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Count the axes as far as they are known."""
        for operand in operands:
            if operand.shape is not None and len(operand.shape) != self.rank:
                return violated(f"{operand.name} has {self._told(operand.shape)}")
        unknown = " and ".join(o.name for o in operands if o.shape is None)
        if unknown:
            return at_run_time(f"the rank of {unknown} is unknown")
        if operands and operands[0].scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        names = " and ".join(o.name for o in operands)
        return proved(f"{names} of rank {self.rank}" if names else "no such operand is given")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Count the axes of the arrays."""
        other = next((array.shape for array in arrays if array.ndim != self.rank), None)
        return None if other is None else Violation(f"an operand has {self._told(other)}")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say how to come to that rank."""
        del operands
        return self.example.mended

    def _told(self, shape: Shape) -> str:
        return f"shape {format_shape(shape)}, which is not of rank {self.rank}"
