"""What holds of a node whatever its operands are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, proved
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Illustration, Subject


@dataclass(frozen=True, slots=True)
class Settled:
    """A rule that the attributes of a node let no run break.

    Attributes:
        evidence: Why, as a clause.
        example: What keeps the rule, and what breaks it.
    """

    evidence: str
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """The rule is kept in every run."""
        del operands
        return proved(self.evidence)

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Nothing breaks the rule."""
        del arrays

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say how other nodes keep the rule."""
        del operands
        return self.example.mended
