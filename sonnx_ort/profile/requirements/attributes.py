"""Requirements on types, attributes, mandatory inputs and storage, which no run decides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
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
    needed. `tests/soundness/test_waivable_rules.py` shows it for each such rule.

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


_USUAL = (
    ElementType.FLOAT,
    ElementType.DOUBLE,
    ElementType.INT32,
    ElementType.INT64,
    ElementType.UINT8,
    ElementType.INT8,
    ElementType.BOOL,
)
"""The types of examples, the likeliest first."""


@dataclass(frozen=True, slots=True)
class SameNumericType:
    """All operands have the same type, which is one of the allowed kinds.

    Attributes:
        result_type: The ONNX type of all results if it differs from the operands' type;
            `OF_THE_NODE` if it depends on the node or is not restricted.
        kinds: The allowed types; None for every type that ONNX has.
        family: The family of the operands for which it is demanded; None for all.
        shown: The names of two tensors in the example.
    """

    result_type: str | None = None
    kinds: tuple[ElementType, ...] | None = NUMERIC_TYPES
    family: Family | None = None
    shown: tuple[str, str] = ("A", "B")

    subject: ClassVar = Subject.TYPES

    @property
    def example(self) -> Illustration:
        """Two tensors of one allowed type, and of two, of the same family if it has more."""
        allowed = [k for k in self.kinds or ElementType if self.family in (None, k.family)]
        kept = next(kind for kind in _USUAL if kind in allowed)
        others = [kind for kind in _USUAL if kind is not kept]
        broken = next((kind for kind in others if kind.family is kept.family), others[0])
        one, other = self.shown
        return Illustration(
            f"{one} {kept}, {other} {kept}",
            f"{one} {kept}, {other} {broken}",
            "convert one operand with an explicit Cast",
        )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' known types."""
        for operand in operands:
            name, kinds = operand.element_type, self.kinds
            if name is not None and kinds is not None and ElementType.named(name) not in kinds:
                wanted = "numeric" if kinds == NUMERIC_TYPES else " or ".join(kinds)
                return violated(f"{operand.name} is of type {name}, which is not {wanted}")
        known = {o.element_type for o in operands if o.element_type is not None}
        if len(known) > 1:
            types = " and ".join(f"{o.name} is {o.element_type}" for o in operands)
            return violated(types)
        unknown = " and ".join(o.name for o in operands if o.element_type is None)
        if unknown:
            return at_run_time(
                f"the type of {unknown} is unknown; ONNX Runtime starts no session with other types"
            )
        return proved(f"all are {known.pop()}" if known else "no such operand is given")

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared types of results with the operands' types."""
        if self.result_type == OF_THE_NODE:
            return None
        for result, operand in product(results, operands):
            if self.result_type is None:
                clash = differing_types(operand, result)
            else:
                clash = _another_type(result, self.result_type)
            if clash:
                return violated(clash)
        return None

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the arrays' dtypes."""
        first = arrays[0].dtype
        if all(array.dtype == first for array in arrays):
            return None
        return Violation("the types " + " and ".join(str(a.dtype) for a in arrays) + " differ")

    def hint(self, operands: Sequence[Operand]) -> str:
        """List the allowed types."""
        del operands
        kinds = "one type" if self.kinds is None else f"one of {', '.join(self.kinds)}"
        return f"convert with an explicit Cast to {kinds}"


@dataclass(frozen=True, slots=True)
class NotBoth(DecidedBeforeRuns):
    """The first operand is not of one type while the second is of another.

    Attributes:
        types: The two types.
    """

    types: tuple[ElementType, ElementType]
    example: Illustration

    subject: ClassVar = Subject.TYPES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at both types; where one is unknown that might not be admitted, it is refused."""
        told = " and ".join(f"{o.name} is {o.element_type or 'of unknown type'}" for o in operands)
        known = [operand.element_type for operand in operands]
        may_be = all(found in (None, kind) for found, kind in zip(known, self.types, strict=True))
        return violated(told) if may_be else proved(told)


def differing_types(operand: Operand, result: Operand) -> str:
    """Describe a result declared with another type than the operand's; empty if they agree."""
    types = operand.element_type, result.element_type
    if None in types or types[0] == types[1]:
        return ""
    return f"{result.name} is declared as {types[1]}, and {operand.name} is {types[0]}"


def _another_type(result: Operand, expected: str) -> str:
    """Describe a result declared with another type than expected; empty if they agree."""
    if result.element_type in (None, expected):
        return ""
    return f"{result.name} is declared as {result.element_type}, and results are {expected}"
