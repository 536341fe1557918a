"""A rule: its source, its requirement, and how it is judged."""

import enum
import functools
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy.typing as npt

from sonnx_ort.profile.operand import Operand


class Status(enum.StrEnum):
    """When a rule is decided, and how."""

    PROVED = "proved"
    """It holds in every run."""

    RUNTIME = "runtime"
    """It is decided in each run; the enforced model checks it."""

    VIOLATED = "violated"
    """It fails in every run that reaches the node."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A status with its evidence, a clause that a reviewer can follow without running anything."""

    status: Status
    evidence: str


def proved(evidence: str) -> Judgement:
    """The rule holds in every run, because of the evidence."""
    return Judgement(Status.PROVED, evidence)


def at_run_time(evidence: str) -> Judgement:
    """The rule is decided in each run; the evidence says what is open."""
    return Judgement(Status.RUNTIME, evidence)


def violated(evidence: str) -> Judgement:
    """The rule fails in every run that reaches the node, because of the evidence."""
    return Judgement(Status.VIOLATED, evidence)


@dataclass(frozen=True, slots=True)
class Violation:
    """What broke a rule in one run.

    Attributes:
        reason: A clause that says what was found.
        index: Where the first offending element stands; None where the shapes offend.
        values: The elements of the operands there, in their order, as Python numbers.
    """

    reason: str
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None


T = TypeVar("T")

SMALLEST_CODE, LARGEST_CODE = 2, 9998
"""The codes of rules: -1 is a size to be inferred, and 9999 a kernel that could not finish."""


@dataclass(frozen=True, slots=True)
class Illustration:
    """What keeps a rule and what breaks it.

    Attributes:
        kept: A node or a graph that keeps it.
        broken: One that breaks it.
        mended: What its author can do, as a clause.
    """

    kept: str
    broken: str
    mended: str


class Subject(enum.StrEnum):
    """What a requirement speaks of."""

    TYPES = "types"
    """Element types, which hold in every run of a session that starts."""

    ATTRIBUTES = "attributes"
    """What the attributes of a node say."""

    STORAGE = "storage"
    """How tensors are stored: densely or sparsely."""

    EQUAL_SHAPES = "equal shapes"
    """That shapes are equal, which a Broadcast in front of a node can bring about."""

    COMMON_SHAPE = "common shape"
    """That there is a shape which all tensors can be broadcast to."""

    OWN_SHAPE = "own shape"
    """The shapes of single tensors, whatever those of others are."""

    ELEMENTS = "elements"
    """The elements of tensors."""

    @property
    def in_run(self) -> bool:
        """Whether a run decides it where nothing is known before."""
        return self in _DECIDED_IN_RUNS

    @property
    def about_shapes(self) -> bool:
        """Whether it is about shapes."""
        return self in _ABOUT_SHAPES


_ABOUT_SHAPES = frozenset({Subject.EQUAL_SHAPES, Subject.COMMON_SHAPE, Subject.OWN_SHAPE})
_DECIDED_IN_RUNS = _ABOUT_SHAPES | {Subject.ELEMENTS}


@runtime_checkable
class JudgesResults(Protocol):
    """A requirement that speaks of a node's results too, as far as the file declares them."""

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Decide from what the file declares of results; None if it declares nothing against it."""
        ...


@runtime_checkable
class DecidedByOperands(Protocol):
    """A requirement that the elements of some operands alone decide, whatever reads them.

    Attributes:
        deciding: The names of these operands.
    """

    deciding: tuple[str, ...]

    @property
    def decides(self) -> Hashable:
        """What is decided; requirements that decide the same give the same."""
        ...


@runtime_checkable
class SeesShapes(Protocol):
    """A requirement about elements that sees of some operands nothing but the shape.

    Attributes:
        seen_by_shape: The positions of these operands.
    """

    seen_by_shape: tuple[int, ...]


AttributeValue = int | float | str | None
"""What a node's attribute says; None where the node has no such attribute, or another kind."""


class DependsOnAttributes(ABC):
    """A requirement that demands of each node what attributes of that node say.

    Attributes:
        attributes: The names of these attributes.
    """

    attributes: tuple[str, ...]

    @abstractmethod
    def of_node(self, attributes: Mapping[str, AttributeValue]) -> "Requirement":
        """Give what is demanded of a node.

        Args:
            attributes: Its attributes, by name.
        """


class Requirement(Protocol):
    """What a rule demands of a node's operands, decided statically or in a run."""

    @property
    def subject(self) -> Subject:
        """What it speaks of."""
        ...

    @property
    def example(self) -> Illustration:
        """Operands that keep it, operands that break it, and how to mend that."""
        ...

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide from what is known before any run; never claims more than follows from it."""
        ...

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Decide in a run, on the operands' arrays; None means that the rule is kept."""
        ...

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what the author of a model can do about a violation, as a clause."""
        ...


class Standing(enum.StrEnum):
    """Whose a rule is."""

    STATED = "stated"
    BY_ANALOGY = "by analogy"
    OWN = "own"


class Words(enum.StrEnum):
    """Whose the words of a rule's sentence are."""

    AS_WRITTEN = "as written"
    CHANGED = "changed"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule is written.

    Attributes:
        document: Title and edition of the document.
        section: The section that states the rule.
        tag: The document's own tag; None if it has none, or for a rule that this project adds.
        standing: Whether the document states the rule, states it of something else, or not at all.
        words: Whether the rule's sentence is the document's.
        remark: What the document says otherwise, or leaves open, and what is followed; a sentence
            or more, empty if there is nothing to say.
        later_tag: The permanent tag of the same demand in the working group's later drafts.
    """

    document: str
    section: str
    tag: str | None
    standing: Standing = Standing.STATED
    words: Words = Words.AS_WRITTEN
    remark: str = ""
    later_tag: str | None = None

    def __str__(self) -> str:
        """Give the source on one line."""
        if self.tag is None:
            whose = "" if self.standing is Standing.STATED else " (added by sonnx_ort)"
            return f"{self.document}, {self.section}{whose}"
        return f"{self.document}, {self.section} [{self.tag}]"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a stable id, one sentence, its source, and the requirement that decides it.

    Attributes:
        id: `<operator>.<family>.<tag>`, for example "Div.int.C1".
        code: The number from `SMALLEST_CODE` to `LARGEST_CODE`, unique among all rules, that stands
            for the rule in the dimension by which the enforced model fails.
        sentence: What the rule demands.
        source: Where it is written.
        requirement: The decision procedure.
        operands: The names of the operands that it speaks of; None for all of them.
        survived: Whether ONNX Runtime was measured to go on, or to fail with an error, in a run
            that breaks it, so that nothing but results depends on its enforcement.
    """

    id: str
    code: int
    sentence: str
    source: Source
    requirement: Requirement
    operands: tuple[str, ...] | None = None
    survived: bool = False

    def __post_init__(self) -> None:
        """Refuse a rule that could not be enforced.

        Raises:
            TypeError: The requirement has no way to judge, or to decide a run.
            ValueError: The code is none from 2 to 9998, for which alone the failure channel has
                room.
        """
        for method in ("judge", "violation", "hint"):
            if not callable(getattr(self.requirement, method, None)):
                kind = type(self.requirement).__name__
                raise TypeError(f"the rule {self.id} cannot be enforced: {kind} has no {method}")
        if not SMALLEST_CODE <= self.code <= LARGEST_CODE:
            raise ValueError(
                f"the rule {self.id} has the code {self.code}; codes are numbers from "
                f"{SMALLEST_CODE} to {LARGEST_CODE}"
            )

    @property
    def waivable(self) -> bool:
        """Whether a model may be enforced without it, where somebody answers for a violation.

        Equal shapes may, for a Broadcast that is written out can take their place.
        """
        return self.survived or self.requirement.subject is Subject.EQUAL_SHAPES

    @property
    def in_run(self) -> bool:
        """Whether a run can break the rule; the others are settled before."""
        return self.requirement.subject.in_run

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes that say what it demands of a node."""
        requirement = self.requirement
        return requirement.attributes if isinstance(requirement, DependsOnAttributes) else ()

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> "Rule":
        """Give the rule as it binds one node.

        Args:
            attributes: The attributes of the node, by name.
        """
        requirement = self.requirement
        if not isinstance(requirement, DependsOnAttributes):
            return self
        return replace(self, requirement=requirement.of_node(attributes))

    def judge(
        self, names: Sequence[str], operands: Sequence[Operand], results: Sequence[Operand] = ()
    ) -> tuple[Judgement, bool]:
        """Decide the rule before any run, for one node.

        Args:
            names: The names of all operands.
            operands: What is known of them, in that order.
            results: What the file declares of the outputs.

        Returns:
            The judgement, and whether the declarations alone violate the rule.
        """
        judgement = self.requirement.judge(self.spoken_of(names, operands))
        if judgement.status is Status.VIOLATED:
            return judgement, False
        declared = self.judge_results(names, operands, results)
        return (judgement, False) if declared is None else (declared, True)

    def judge_results(
        self, names: Sequence[str], operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Say whether what the file declares of the outputs violates the rule.

        Args:
            names: The names of all operands.
            operands: What is known of them, in that order.
            results: What the file declares of the outputs.

        Returns:
            A violation; None if there is none.
        """
        requirement = self.requirement
        if not results or not _judges_results(requirement):
            return None
        return requirement.judge_results(self.spoken_of(names, operands), results)

    def spoken_of(self, names: Sequence[str], operands: Sequence[T]) -> Sequence[T]:
        """Choose the operands that the rule speaks of, or whatever stands for each of them.

        Args:
            names: The names of all operands.
            operands: All operands, in that order.
        """
        if self.operands is None:
            return operands
        return [o for name, o in zip(names, operands, strict=True) if name in self.operands]


def _judges_results(requirement: Requirement) -> TypeGuard[JudgesResults]:
    return _is_judge_of_results(type(requirement))


# Asking a protocol takes longer than most rules, and there are few kinds of requirements.
@functools.cache
def _is_judge_of_results(kind: type) -> bool:
    return issubclass(kind, JudgesResults)
