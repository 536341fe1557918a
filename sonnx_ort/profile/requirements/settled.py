"""What holds of a node whatever its operands are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, Status, Violation, proved, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Illustration, Subject


@dataclass(frozen=True, slots=True)
class Settled:
    """What the attributes of a node have decided, for all runs.

    Attributes:
        judgement: That it is kept, or broken.
        example: What keeps the rule, and what breaks it.
    """

    judgement: Judgement
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    @classmethod
    def kept(cls, evidence: str, example: Illustration) -> "Settled":
        """The rule is kept, because of the evidence."""
        return cls(proved(evidence), example)

    @classmethod
    def broken(cls, evidence: str, example: Illustration) -> "Settled":
        """The rule is broken, because of the evidence."""
        return cls(violated(evidence), example)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Give what is decided."""
        del operands
        return self.judgement

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Give what is decided."""
        del arrays
        broken = self.judgement.status is Status.VIOLATED
        return Violation(self.judgement.evidence) if broken else None

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what to do about it."""
        del operands
        return self.example.mended
