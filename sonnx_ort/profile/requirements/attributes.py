"""Requirements on attributes, mandatory inputs and storage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import (
    AttributeValue,
    DecidedBeforeRuns,
    DependsOnAttributes,
    Illustration,
    Judgement,
    Requirement,
    Subject,
    at_run_time,
    proved,
    violated,
)


class Dense(DecidedBeforeRuns):
    """Every operand is a dense tensor."""

    subject = Subject.STORAGE
    example = Illustration(
        "B an initializer",
        "B a sparse_initializer",
        "store the tensor densely",
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the declarations of the operands."""
        return _sparse(operands) or proved("all operands are dense")

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Check the declarations of the results."""
        del operands
        return _sparse(results)


def _sparse(tensors: Sequence[Operand]) -> Judgement | None:
    sparse = [f"{t.name} '{t.value}'" for t in tensors if t.sparse]
    if not sparse:
        return None
    return violated(f"{' and '.join(sparse)} {'is' if len(sparse) == 1 else 'are'} sparse")


@dataclass(frozen=True, slots=True)
class RequiredInput(DecidedBeforeRuns):
    """The node has the input, which is the only operand of the rule."""

    name: str
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check whether the input is present."""
        return proved(f"{self.name} is given") if operands else violated(f"{self.name} is left out")


@dataclass(frozen=True, slots=True)
class DecidedByAttributes(DecidedBeforeRuns):
    """A rule decided by the attributes of a node."""

    judgement: Judgement
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Return the decision."""
        del operands
        return self.judgement


@dataclass(frozen=True, slots=True)
class AdmittedAttribute(DependsOnAttributes, DecidedBeforeRuns):
    """The value of the attribute, or its default in ONNX, is allowed."""

    attributes: tuple[str, ...]
    assumed: int | float
    admits: Callable[[int | float], bool]
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Decide for the attribute of a node."""
        (name,) = self.attributes
        said = attributes.get(name)
        value = self.assumed if said is None else said
        kept = isinstance(value, int | float) and self.admits(value)
        judgement = proved if kept else violated
        return DecidedByAttributes(judgement(f"the attribute {name} is {value}"), self.example)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Undecided, because the node is unknown."""
        del operands
        return at_run_time(f"what the attribute {self.attributes[0]} says is not known")
