"""Rules: their requirements, and how they are evaluated."""

import enum
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.terms.operand import Operand

if TYPE_CHECKING:
    from sonnx_ort.profile.source import Basis, Source
    from sonnx_ort.profile.wording import Illustration, RuleText


class Status(enum.StrEnum):
    """The status of an obligation."""

    PROVED = "proved"
    """The rule holds in every run."""

    RUNTIME = "runtime"
    """The rule could not be decided before a run; each run checks it."""

    VIOLATED = "violated"
    """The rule fails in every run that reaches the node."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A status with its evidence, a clause that explains it.

    Attributes:
        entry: Of a violation by operands that are vectors, the index of the first element that
            violates the rule.
    """

    status: Status
    evidence: str
    entry: int | None = field(default=None, compare=False)


def proved(evidence: str) -> Judgement:
    """The rule holds in every run, for the given reason."""
    return Judgement(Status.PROVED, evidence)


def at_run_time(evidence: str) -> Judgement:
    """Each run checks the rule; the evidence says what is unknown."""
    return Judgement(Status.RUNTIME, evidence)


def violated(evidence: str, entry: int | None = None) -> Judgement:
    """The rule fails in every run that reaches the node, for a reason, by an entry of vectors."""
    return Judgement(Status.VIOLATED, evidence, entry)


def judged(holds: bool | None, evidence: str) -> Judgement:
    """The rule holds in every run, in none, or, with None, each run checks it."""
    if holds is None:
        return at_run_time(evidence)
    return proved(evidence) if holds else violated(evidence)


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule in one run.

    Attributes:
        reason: A clause that describes it.
        index: The index of the first invalid element; None for invalid shapes.
        values: The elements of the operands at that index, as Python numbers.
    """

    reason: str
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None


T = TypeVar("T")

SMALLEST_CODE, LARGEST_CODE = 2, 9998
"""The range of rule codes: -1 is an inferred size, and 9999 a kernel that failed."""


class Subject(enum.StrEnum):
    """The subject of a requirement."""

    TYPES = "types"
    """Element types; they are the same in every run of a session."""

    ATTRIBUTES = "attributes"
    """The attributes of the node."""

    STORAGE = "storage"
    """How tensors are stored: dense or sparse."""

    EQUAL_SHAPES = "equal shapes"
    """Equal shapes, which a Broadcast in front of the node can create."""

    COMMON_SHAPE = "common shape"
    """The existence of a shape to which all tensors can be broadcast."""

    OWN_SHAPE = "own shape"
    """The shape of a single tensor, independent of others."""

    ELEMENTS = "elements"
    """The elements of tensors."""

    HELD = "held by ONNX Runtime"
    """Operands and attributes that ONNX Runtime refuses itself, with an error, if they break it."""

    GRAPH = "graph"
    """The graph and what it declares."""

    @property
    def in_run(self) -> bool:
        """Whether a run checks it if it is not proved."""
        return self in _DECIDED_IN_RUNS

    @property
    def demanded_of_all(self) -> bool:
        """Whether the general restrictions demand it of every operator."""
        return self in _DEMANDED_OF_ALL


_DECIDED_IN_RUNS = frozenset(
    {Subject.EQUAL_SHAPES, Subject.COMMON_SHAPE, Subject.OWN_SHAPE, Subject.ELEMENTS}
)
_DEMANDED_OF_ALL = frozenset({Subject.TYPES, Subject.STORAGE})


AttributeValue = int | float | str | tuple[int | float | str, ...] | None
"""The value of a node's attribute: a number, a text or a list of them; None for other types."""


Attributes = Mapping[str, AttributeValue]
"""The attributes of a node, by name."""


VERSION = "version"
"""The name under which a requirement that depends on attributes gets the imported version."""


class DependsOnAttributes(ABC):
    """A requirement that depends on these attributes of the node."""

    __slots__ = ()

    attributes: tuple[str, ...]

    @abstractmethod
    def of_node(self, attributes: Mapping[str, AttributeValue]) -> "Requirement":
        """Return the requirement for a node, given these attributes by name."""


class NamesOperands(ABC):
    """A requirement that says the names of operands if a run violates it.

    `operands` are those of the rule; empty, if it is about each of them.
    """

    __slots__ = ()

    operands: tuple[str, ...]

    def names_of(self, count: int) -> Sequence[str]:
        """The names of the first operands of the rule, by which it knows so many of them."""
        return self.operands[:count] or [f"operand {position}" for position in range(count)]

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> "Violation | None":
        """Check the operands of a run, without those at the end that are omitted."""
        return self.violation_of(self.names_of(len(arrays)), arrays)

    @abstractmethod
    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> "Violation | None":
        """Check the operands of a run, which have these names; None if the rule is kept."""


class Requirement(Protocol):
    """What a rule requires of a node's operands, checked statically or in a run.

    A requirement may have `judge_results(operands, results)`: a violation by the declared results
    of a node, or None. It may have `hint(operands)`: how to fix a violation of these operands, if
    that is not what the texts of the rule say. One on elements may have `seen_by_shape`: the
    indices of the operands of which it uses only the shape.
    """

    @property
    def subject(self) -> Subject:
        """The subject of the requirement."""
        ...

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide before any run, from certain facts only."""
        ...

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Check the operands of a run; None if the rule is kept."""
        ...


@cache
def _name_of(dtype: np.dtype[Any]) -> str:
    """The name of a type, which numpy makes anew each time, in as long as a rule takes."""
    return str(dtype)


class JudgedInRuns(NamesOperands):
    """A requirement that a run checks as it is judged before, of operands that are all known."""

    __slots__ = ()

    @abstractmethod
    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide from certain facts only."""

    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Decide for the operands of a run, which have these names."""
        operands = [
            Operand(name, "", "run", _name_of(a.dtype), tuple(a.shape), constant=a)
            for name, a in zip(names, arrays, strict=True)
        ]
        judgement = self.judge(operands)
        if judgement.status is not Status.VIOLATED:
            return None
        by_shape: Container[int] = getattr(self, "seen_by_shape", range(len(arrays)))
        vectors = [array for index, array in enumerate(arrays) if index not in by_shape]
        if judgement.entry is None or not vectors:
            return Violation(judgement.evidence)
        values = tuple(int(vector[judgement.entry]) for vector in vectors)
        return Violation(judgement.evidence, (judgement.entry,), values)


class DecidedBeforeRuns:
    """A requirement that no run can violate."""

    __slots__ = ()

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """No run violates the rule."""
        del arrays
        return None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a permanent id and its requirement; its texts are found by the id.

    Attributes:
        id: `<operator>.<family>.<tag>`, for example "Div.int.C1".
        code: A unique number from `SMALLEST_CODE` to `LARGEST_CODE`. A violation is reported as a
            dimension of this size.
        operands: The operands to which it applies; None for all.
        survived: Whether ONNX Runtime was measured to continue, or to fail with an error, if a run
            violates it, so that only results depend on its enforcement.
        since: The first version of the standard operators to which it applies.
        until: The last one; None if it applies to all that follow.
        needed_before: For a rule that exists only because kernels of ONNX Runtime are wrong, the
            first version of onnxruntime measured to be right; None for a rule of the profile.
        given: The attributes of the node for which `of_node` made it; empty for the rule of all.
        in_run: Whether a run can violate the rule; other rules are decided before.
    """

    id: str
    code: int
    requirement: Requirement
    operands: tuple[str, ...] | None = None
    survived: bool = False
    since: int = 1
    until: int | None = None
    needed_before: str | None = None
    given: tuple[tuple[str, AttributeValue], ...] = field(default=(), compare=False, repr=False)
    in_run: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Reject a rule that cannot be enforced.

        Raises:
            TypeError: The requirement lacks a static or a run-time check.
            ValueError: The code is not from 2 to 9998, the range of the failure channel, or
                `needed_before` is no release.
        """
        for method in ("judge", "violation"):
            if not callable(getattr(self.requirement, method, None)):
                kind = type(self.requirement).__name__
                raise TypeError(f"the rule {self.id} cannot be enforced: {kind} has no {method}")
        if not SMALLEST_CODE <= self.code <= LARGEST_CODE:
            raise ValueError(
                f"the rule {self.id} has the code {self.code}; codes are numbers from "
                f"{SMALLEST_CODE} to {LARGEST_CODE}"
            )
        if self.needed_before is not None and release_numbers(self.needed_before) is None:
            raise ValueError(
                f"the rule {self.id} is needed before '{self.needed_before}', which is no release "
                "of onnxruntime; write numbers with dots"
            )
        object.__setattr__(self, "in_run", self.requirement.subject.in_run)

    def needed_with(self, runtime: str | None) -> bool:
        """Whether a version of onnxruntime needs the rule; None is any version.

        What is no release, such as "1.32.0.dev1", counts as older than all.
        """
        if self.needed_before is None or runtime is None:
            return True
        first, given = release_numbers(self.needed_before), release_numbers(runtime)
        return first is None or given is None or given < first

    def binds_version(self, version: int) -> bool:
        """Whether the rule applies to a version of the standard operators."""
        return self.since <= version and (self.until is None or version <= self.until)

    @property
    def waivable(self) -> bool:
        """Whether a waiver may cover a violation of the rule.

        This includes equal shapes, because an explicit Broadcast can replace them, and the rules on
        the graph, which no run depends on.
        """
        waivable = (Subject.EQUAL_SHAPES, Subject.GRAPH)
        return self.survived or self.requirement.subject in waivable

    @property
    def basis(self) -> "Basis":
        """What it rests on."""
        from sonnx_ort.profile.wording import basis_of

        subject = self.requirement.subject
        held = subject is Subject.HELD
        return basis_of(self.source, demanded_of_all=subject.demanded_of_all, held=held)

    @property
    def sentence(self) -> str:
        """What it demands, in a sentence."""
        return self.text.sentence

    @property
    def source(self) -> "Source":
        """Who states it, and where."""
        return self.text.source

    @property
    def unenforced(self) -> str:
        """What ONNX Runtime does where nothing enforces it; empty if the operator says it."""
        return self.text.unenforced

    @property
    def example(self) -> "Illustration":
        """What keeps it, what breaks it, and how to fix that."""
        return self.text.example

    def hint(self, operands: Sequence[Operand] = ()) -> str:
        """How the author of a model can fix a violation by these operands, as a clause."""
        hint = getattr(self.requirement, "hint", None)
        if hint is not None:
            found: str = hint(operands)
            return found
        absent = getattr(self.requirement, "absent", False)
        return (self.text.if_absent if absent else "") or self.example.remedy

    @property
    def text(self) -> "RuleText":
        """What is said of it, which no verdict reads.

        Raises:
            KeyError: There are no texts of its id.
        """
        from sonnx_ort.profile.wording import text_of

        return text_of(self.id)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes on which the rule depends."""
        requirement = self.requirement
        return requirement.attributes if isinstance(requirement, DependsOnAttributes) else ()

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> "Rule":
        """Return the rule for a node, given its attributes by name."""
        requirement = self.requirement
        if not isinstance(requirement, DependsOnAttributes):
            return self
        given = tuple(attributes.items())
        return replace(self, requirement=requirement.of_node(attributes), given=given)

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
        judgement = self.requirement.judge(self.select_operands(names, operands))
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
        judge = getattr(self.requirement, "judge_results", None)
        if not results or judge is None:
            return None
        found: Judgement | None = judge(self.select_operands(names, operands), results)
        return found

    def violation(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Check the operands of a run; None if the rule is kept.

        Args:
            names: The names of all operands.
            arrays: The operands, in that order.
        """
        selected = self.select_operands(names, arrays)
        if isinstance(self.requirement, NamesOperands):
            return self.requirement.violation_of(self.select_operands(names, names), selected)
        return self.requirement.violation(selected)

    def select_operands(self, names: Sequence[str], operands: Sequence[T]) -> Sequence[T]:
        """Select the operands to which the rule applies, or what represents each of them.

        `names` are the names of all operands, in the same order.
        """
        if self.operands is None or self.operands == names:
            return operands
        return [o for name, o in zip(names, operands, strict=True) if name in self.operands]


def first_violation(
    rules: Iterable[Rule], names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
) -> tuple[Rule, Violation] | None:
    """The first of some rules that the operands of a run violate, and how; None if all are kept.

    Args:
        rules: Rules that are decided in a run.
        names: The names of all operands.
        arrays: The operands, in that order.
    """
    for rule in rules:
        violation = rule.violation(names, arrays)
        if violation is not None:
            return rule, violation
    return None


def release_numbers(version: str) -> tuple[int, ...] | None:
    """The numbers of a released version; None for a preview. A local label after + is ignored."""
    released = re.fullmatch(r"(\d+(?:\.\d+)*)(?:\+.*)?", version)
    return tuple(map(int, released[1].split("."))) if released else None
