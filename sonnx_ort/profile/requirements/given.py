"""An input is not left to its default value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, proved, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Illustration, Subject


@dataclass(frozen=True, slots=True)
class Given:
    """The node has the input.

    Attributes:
        name: The input, the only operand that the rule speaks of.
        example: What keeps the rule, and what breaks it.
    """

    name: str
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look whether it is there."""
        return proved(f"{self.name} is given") if operands else violated(f"{self.name} is left out")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """No run breaks the rule."""
        del arrays

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what to give."""
        del operands
        return self.example.mended
