"""Requirements on attributes, on inputs that have to be given, and on storage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import (
    AttributeValue,
    DependsOnAttributes,
    Illustration,
    Judgement,
    Requirement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)


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
        said = attributes.get(name)
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
