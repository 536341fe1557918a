"""Requirements on attributes, mandatory inputs and storage, which no run decides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import (
    Attributes,
    AttributeValue,
    DecidedBeforeRuns,
    DependsOnAttributes,
    JudgedInRuns,
    Judgement,
    Requirement,
    Status,
    Subject,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand


class Dense(DecidedBeforeRuns):
    """Every operand is a dense tensor."""

    subject = Subject.STORAGE

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the declarations of the operands."""
        return _sparse_violation(operands) or proved("all operands are dense")

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Check the declarations of the results."""
        del operands
        return _sparse_violation(results)


def _sparse_violation(tensors: Sequence[Operand]) -> Judgement | None:
    sparse = [f"{t.name} '{t.value}'" for t in tensors if t.sparse]
    if not sparse:
        return None
    return violated(f"{' and '.join(sparse)} {'is' if len(sparse) == 1 else 'are'} sparse")


@dataclass(frozen=True, slots=True)
class RequiredInput(DecidedBeforeRuns):
    """The node has the input, which is the only operand of the rule."""

    name: str

    subject: ClassVar = Subject.ATTRIBUTES

    @property
    def operands(self) -> tuple[str]:
        """The operand of the rule."""
        return (self.name,)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check whether the input is present."""
        return proved(f"{self.name} is given") if operands else violated(f"{self.name} is left out")


def required(name: str) -> RequiredInput:
    """The demand that an input is given."""
    return RequiredInput(name)


@dataclass(frozen=True, slots=True)
class DecidedByAttributes(DecidedBeforeRuns):
    """A rule decided by the attributes of a node.

    Attributes:
        judgement: The decision.
        absent: Whether the node has none of them.
    """

    judgement: Judgement
    absent: bool = False

    subject: ClassVar = Subject.ATTRIBUTES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Return the decision."""
        del operands
        return self.judgement


@dataclass(frozen=True, slots=True)
class OnAttributes(DependsOnAttributes, DecidedBeforeRuns):
    """The attributes of a node are as a function demands.

    Attributes:
        attributes: Their names.
        decide: Decides from the attributes of a node, by name; lists of numbers are tuples.
        unknown: What only the node tells, as a clause.
    """

    attributes: tuple[str, ...]
    decide: Callable[[Attributes], Judgement]
    unknown: str

    subject: ClassVar = Subject.ATTRIBUTES

    def of_node(self, attributes: Attributes) -> Requirement:
        """Decide for the attributes of a node."""
        absent = not any(name in attributes for name in self.attributes)
        return DecidedByAttributes(self.decide(attributes), absent)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Undecided, because the node is unknown."""
        del operands
        return at_run_time(f"{self.unknown} is not known")


def given_attributes(names: tuple[str, ...]) -> OnAttributes:
    """The demand that attributes are in the file, and not left to their default values."""

    def decide(attributes: Attributes) -> Judgement:
        omitted = [name for name in names if name not in attributes]
        return violated(_named(omitted, "left out")) if omitted else proved(_named(names, "given"))

    unknown = f"whether {' and '.join(names)} are given"
    return OnAttributes(names, decide, unknown)


def _named(names: Sequence[str], state: str) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {state}"


def admitted(
    name: str,
    assumed: AttributeValue,
    admits: Callable[[Any], bool],
    *,
    given: bool = False,
) -> OnAttributes:
    """The demand that the value of an attribute, or its default, is allowed.

    Args:
        name: The name of the attribute.
        assumed: The default; None if there is none, so that the attribute may be omitted.
        admits: Whether a value is allowed.
        given: Whether it must be in the file.
    """

    def decide(attributes: Attributes) -> Judgement:
        found = attributes.get(name)
        if found is None and name in attributes:
            return violated(f"the attribute {name} is no number or text")
        if given and found is None:
            return violated(f"the attribute {name} is left out")
        value = assumed if found is None else found
        if value is None:
            return proved(f"the attribute {name} is left out")
        shown = list(value) if isinstance(value, tuple) else value
        return (proved if admits(value) else violated)(f"the attribute {name} is {shown}")

    unknown = f"what the attribute {name} says"
    return OnAttributes((name,), decide, unknown)


def attribute_is(name: str, value: int, *, given: bool = False) -> OnAttributes:
    """The attribute is this number, which is its default."""
    return admitted(name, value, lambda found: found == value, given=given)


def flag(name: str, assumed: int = 0) -> OnAttributes:
    """The attribute, with this default, is 0 or 1: kernels take other numbers for either."""
    return admitted(name, assumed, lambda value: value in (0, 1))


def axis_from_the_front(assumed: int | None = None) -> OnAttributes:
    """The attribute axis, or its default, is not negative."""
    return admitted("axis", assumed, lambda axis: axis >= 0)


@dataclass(frozen=True, slots=True)
class ConstantOperands(DecidedBeforeRuns):
    """The operands, as far as they are given, are initializers or results of Constant nodes."""

    subject: ClassVar = Subject.STORAGE

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the origins of the operands."""
        computed = [
            f"{o.name} is {'an input' if o.origin == 'input' else f'computed by {o.origin}'}"
            for o in operands
            if o.constant is None and o.origin.partition(" ")[0] not in {"initializer", "Constant"}
        ]
        if computed:
            return violated(" and ".join(computed))
        names = " and ".join(o.name for o in operands)
        return proved(f"{names}: constant" if names else "no such operand is given")


Relation = Callable[[Sequence[Operand], Attributes], Judgement]
"""Decides from what is known of operands, and from attributes by name."""


@dataclass(frozen=True, slots=True)
class HeldByRuntime(DependsOnAttributes, JudgedInRuns):
    """A relation of shapes, elements and attributes that ONNX Runtime checks itself.

    It refuses the model, or each run, that breaks the relation, with an error. So no guard is
    needed. `tests/soundness/test_waivable_rules.py` shows it for each such rule.

    Attributes:
        attributes: The names of the attributes that the relation depends on.
        relation: Decides from certain facts; what is known only in a run, it leaves to the run.
        given: The attributes of the node, by name.
        operands: None: a rule says which it is about, and the relation gets them by their places.
    """

    attributes: tuple[str, ...]
    relation: Relation
    given: tuple[tuple[str, AttributeValue], ...] = ()
    operands: tuple[str, ...] = ()

    subject: ClassVar = Subject.HELD

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node."""
        given = ((name, attributes[name]) for name in self.attributes if name in attributes)
        return replace(self, given=tuple(given))

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide from known facts; ONNX Runtime decides the rest."""
        judgement = self.relation(operands, dict(self.given))
        if judgement.status is not Status.RUNTIME:
            return judgement
        return at_run_time(f"{judgement.evidence}; ONNX Runtime rejects a violation")


def held(relation: Relation, attributes: tuple[str, ...] = ()) -> HeldByRuntime:
    """The demand of a relation that ONNX Runtime checks itself."""
    return HeldByRuntime(attributes, relation)


@dataclass(frozen=True, slots=True)
class NotBoth(DecidedBeforeRuns):
    """The first operand is not of one type while the second is of another.

    Attributes:
        types: The two types.
    """

    types: tuple[ElementType, ElementType]

    subject: ClassVar = Subject.TYPES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at both types; where one is unknown that might not be admitted, it is refused."""
        types = " and ".join(f"{o.name} is {o.element_type or 'of unknown type'}" for o in operands)
        known = [operand.element_type for operand in operands]
        may_be = all(found in (None, kind) for found, kind in zip(known, self.types, strict=True))
        return violated(types) if may_be else proved(types)
