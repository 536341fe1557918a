"""What can be said of one rule at one node."""

import enum
from dataclasses import dataclass


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
