"""An attribute has one of the values that are admitted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.requirements.settled import Settled
from sonnx_ort.profile.rule import (
    AttributeValue,
    DependsOnAttributes,
    Illustration,
    Requirement,
    Subject,
)


@dataclass(frozen=True, slots=True)
class AdmittedAttribute(DependsOnAttributes):
    """What an attribute says, or what ONNX assumes where it is left out, is admitted.

    Attributes:
        attributes: The attribute, alone.
        assumed: What ONNX assumes where it is left out.
        admits: Whether a number is admitted.
        example: What keeps the rule, and what breaks it.
    """

    attributes: tuple[str, ...]
    assumed: int | float
    admits: Callable[[int | float], bool]
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Decide what the node says."""
        (name,) = self.attributes
        said = attributes[name]
        value = self.assumed if said is None else said
        kept = isinstance(value, int | float) and self.admits(value)
        judgement = proved if kept else violated
        return Settled(judgement(f"the attribute {name} is {value}"), self.example)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Nothing is known without the node."""
        del operands
        return at_run_time(f"what the attribute {self.attributes[0]} says is not known")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """No run breaks the rule."""
        del arrays

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what to set."""
        del operands
        return self.example.mended
