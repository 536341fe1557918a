"""All obligations of a model."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.judgement import Status


@dataclass(frozen=True)
class Report:
    """What is known, before any run, of a model and the profile.

    Attributes:
        edition: The edition that the model is held to.
        broadcasting: What becomes of operands of different shapes.
        obligations: One per rule and node, in the order of the graph.
    """

    edition: Edition
    broadcasting: Broadcasting
    obligations: tuple[Obligation, ...]

    @cached_property
    def violations(self) -> tuple[Obligation, ...]:
        """The obligations that fail in every run that reaches their node."""
        return tuple(o for o in self.obligations if o.status is Status.VIOLATED)

    @property
    def ok(self) -> bool:
        """Whether nothing is violated; what is decided at run time may still fail there."""
        return not self.violations

    def summary(self) -> str:
        """Count the obligations by status, in one line."""
        counts = Counter(obligation.status for obligation in self.obligations)
        shown = ", ".join(f"{counts[status]} {status}" for status in Status)
        return f"edition {self.edition}: {len(self.obligations)} obligations: {shown}"

    def describe_violations(self) -> str:
        """List every violation, numbered, under a line that counts them and their nodes."""
        nodes = len({(o.operator, o.node) for o in self.violations})
        head = (
            f"the model breaks the SONNX profile (edition {self.edition}): "
            f"{_counted(len(self.violations), 'violation')} at {_counted(nodes, 'node')}"
        )
        lines = [f"{number}. {o}" for number, o in enumerate(self.violations, start=1)]
        return "\n".join([head, *lines])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
