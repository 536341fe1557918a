"""No operand is a sparse tensor."""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, Violation, proved, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Illustration, Subject


class Dense:
    """Every operand is a dense tensor."""

    subject = Subject.STORAGE
    example = Illustration(
        "B an initializer",
        "B a sparse_initializer",
        "store the tensor densely",
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at how the operands are declared."""
        return _sparse(operands) or proved("all operands are dense")

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Look at how the results are declared."""
        del operands
        return _sparse(results)

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Arrays are dense."""
        del arrays
        return None

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what to store instead."""
        del operands
        return self.example.mended


def _sparse(tensors: Sequence[Operand]) -> Judgement | None:
    sparse = [f"{t.name} '{t.value}'" for t in tensors if t.sparse]
    if not sparse:
        return None
    return violated(f"{' and '.join(sparse)} {'is' if len(sparse) == 1 else 'are'} sparse")
