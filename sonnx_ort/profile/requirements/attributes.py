"""Requirements on attributes, mandatory inputs and storage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.rule import (
    AttributeValue,
    DecidedBeforeRuns,
    DependsOnAttributes,
    HintByExample,
    Illustration,
    Judgement,
    NamesOperands,
    Requirement,
    Status,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand


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
class GivenAttributes(DependsOnAttributes, DecidedBeforeRuns):
    """The attributes stand in the file and are not left to their default values."""

    attributes: tuple[str, ...]
    example: Illustration

    subject: ClassVar = Subject.ATTRIBUTES

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Decide for the attributes of a node."""
        omitted = [name for name in self.attributes if name not in attributes]
        judgement = violated(_named(omitted, "left out")) if omitted else self._given()
        return DecidedByAttributes(judgement, self.example)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Undecided, because the node is unknown."""
        del operands
        return at_run_time(f"whether {' and '.join(self.attributes)} are given is not known")

    def _given(self) -> Judgement:
        return proved(_named(self.attributes, "given"))


def _named(names: Sequence[str], state: str) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {state}"


@dataclass(frozen=True, slots=True)
class AdmittedAttribute(DependsOnAttributes, DecidedBeforeRuns):
    """The value of the attribute, or its default in ONNX, is allowed.

    Attributes:
        attributes: The name of the attribute.
        assumed: The default; None if there is none, so that the attribute may be left out.
        admits: Whether a value is allowed; lists of numbers are tuples.
        given: Whether it must stand in the file.
    """

    attributes: tuple[str]
    assumed: AttributeValue
    admits: Callable[[Any], bool]
    example: Illustration
    given: bool = False

    subject: ClassVar = Subject.ATTRIBUTES

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Decide for the attribute of a node."""
        return DecidedByAttributes(self._decided(attributes), self.example)

    def _decided(self, attributes: Mapping[str, AttributeValue]) -> Judgement:
        (name,) = self.attributes
        said = attributes.get(name)
        if said is None and name in attributes:
            return violated(f"the attribute {name} is no number or text")
        if self.given and said is None:
            return violated(f"the attribute {name} is left out")
        value = self.assumed if said is None else said
        if value is None:
            return proved(f"the attribute {name} is left out")
        judgement = proved if self.admits(value) else violated
        shown = list(value) if isinstance(value, tuple) else value
        return judgement(f"the attribute {name} is {shown}")

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Undecided, because the node is unknown."""
        del operands
        return at_run_time(f"what the attribute {self.attributes[0]} says is not known")


def flag(name: str, assumed: int = 0) -> AdmittedAttribute:
    """The attribute is 0 or 1: kernels and inference take other numbers for either.

    Args:
        name: The name of the attribute.
        assumed: Its default.
    """
    example = Illustration(f"{name}=1", f"{name}=2", "write 0 or 1")
    return AdmittedAttribute((name,), assumed, lambda value: value in (0, 1), example)


AXIS_FROM_THE_FRONT = AdmittedAttribute(
    ("axis",),
    None,
    lambda axis: axis >= 0,
    Illustration("axis=1", "axis=-1", "count the axis from the front"),
)
"""The attribute axis, if it is given, is not negative."""


@dataclass(frozen=True, slots=True)
class ConstantOperands(DecidedBeforeRuns):
    """The operands, as far as they are given, are initializers or results of Constant nodes."""

    example: Illustration

    subject: ClassVar = Subject.STORAGE

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the origins of the operands."""
        computed = [f"{o.name} is {_origin(o)}" for o in operands if not _is_stored(o)]
        if computed:
            return violated(" and ".join(computed))
        names = " and ".join(o.name for o in operands)
        return proved(f"{names}: constant" if names else "no such operand is given")


def _is_stored(operand: Operand) -> bool:
    operator = operand.origin.partition(" ")[0]
    return operand.constant is not None or operator in {"initializer", "Constant"}


def _origin(operand: Operand) -> str:
    return "an input" if operand.origin == "input" else f"computed by {operand.origin}"


Relation = Callable[[Sequence[Operand], Mapping[str, AttributeValue]], Judgement]
"""Decides from what is known of operands, and from attributes by name."""


@dataclass(frozen=True, slots=True)
class HeldByRuntime(DependsOnAttributes, NamesOperands, HintByExample):
    """A relation of shapes, elements and attributes that ONNX Runtime checks itself.

    It refuses the model, or each run, that breaks the relation, with an error. So no guard is
    needed. `tests/soundness/test_held_by_runtime.py` shows it for each such rule.

    Attributes:
        attributes: The names of the attributes that the relation depends on.
        relation: Decides from certain facts; what is known only in a run, it leaves to the run.
        given: The attributes of the node, by name.
        operands: None: a rule says which it is about, and the relation gets them by their places.
    """

    attributes: tuple[str, ...]
    relation: Relation
    example: Illustration
    given: tuple[tuple[str, AttributeValue], ...] = ()
    operands: tuple[str, ...] = ()

    subject: ClassVar = Subject.HELD

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded of a node."""
        given = ((name, attributes[name]) for name in self.attributes if name in attributes)
        return replace(self, given=tuple(given))

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide from known facts; ONNX Runtime decides the rest."""
        judgement = self.relation(operands, dict(self.given))
        if judgement.status is not Status.RUNTIME:
            return judgement
        return at_run_time(f"{judgement.evidence}; ONNX Runtime rejects a violation")

    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Decide for the operands of a run, which have these names."""
        operands = [
            Operand(name, "", "run", str(a.dtype), tuple(a.shape), constant=a)
            for name, a in zip(names, arrays, strict=True)
        ]
        judgement = self.relation(operands, dict(self.given))
        return Violation(judgement.evidence) if judgement.status is Status.VIOLATED else None
