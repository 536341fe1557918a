"""What holds of a node whatever its operands are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Illustration, Subject


@dataclass(frozen=True, slots=True)
class Settled:
    """A rule that the attributes of a node decide for all runs.

    Attributes:
        judgement: What they decide.
        example: What keeps the rule, and what breaks it.
    """

    judgement: Judgement
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """The same for all operands."""
        del operands
        return self.judgement

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """No run breaks the rule."""
        del arrays

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say how a node keeps the rule."""
        del operands
        return self.example.mended
