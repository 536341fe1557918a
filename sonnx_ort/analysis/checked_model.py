"""Models that were checked together, each under the name by which its user knows it."""

import enum
from dataclasses import dataclass

from sonnx_ort.analysis.graph_outline import GraphOutline
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.profile.judgement import Status


class FailOn(enum.StrEnum):
    """What makes a check fail."""

    VIOLATED = "violated"
    """A rule that fails in every run."""

    RUNTIME = "runtime"
    """Also one that is left to the run."""


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model, and what was found.

    Attributes:
        name: What its user calls it: the path of its file, "-" for standard input.
        report: What was found; None if the model cannot be used.
        error: Why it cannot be used; empty otherwise.
        graph: The graph that the report speaks of; None unless it is to be drawn.
    """

    name: str
    report: Report | None
    error: str = ""
    graph: GraphOutline | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Everything that was checked at once.

    Attributes:
        models: The models, in the order in which they were given.
        fail_on: What makes it fail.
        alone: Whether exactly one model was asked for, so that nothing but it is told of.
    """

    models: tuple[CheckedModel, ...]
    fail_on: FailOn = FailOn.VIOLATED
    alone: bool = True

    @property
    def unusable(self) -> bool:
        """Whether a model cannot be used."""
        return any(model.report is None for model in self.models)

    @property
    def failed(self) -> bool:
        """Whether an obligation of a model fails the check."""
        reports = [model.report for model in self.models if model.report is not None]
        return any(self.fails(o) for report in reports for o in report.enforced)

    def fails(self, obligation: Obligation) -> bool:
        """Whether an obligation fails the check.

        Args:
            obligation: One of an operator that is to be enforced.
        """
        match obligation.status:
            case Status.VIOLATED:
                return not obligation.waived
            case Status.RUNTIME:
                return self.fail_on is FailOn.RUNTIME
            case Status.PROVED:
                return False
