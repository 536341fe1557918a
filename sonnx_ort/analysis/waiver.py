"""A waiver: somebody answers, until a day, for one violation at one node."""

import datetime as dt
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Waiver:
    """What one violation is tolerated for.

    It changes what a model enforces in a run only where `rewrite` is given it, and the model says
    so then.

    Attributes:
        rule: The id of the violated rule.
        node: The node's name as reports give it; empty for a rule of the whole graph.
        reason: Why the violation is tolerated.
        who: Who answers for that.
        until: The last day on which it holds.
        path: The nodes whose subgraphs the node lies in, as reports give them; None where the name
            alone is clear.
        model: The SHA-256 of the one model that it is for, as reports give it; None for any.
        origin: Where it is written, for messages.
    """

    rule: str
    node: str
    reason: str
    who: str
    until: dt.date
    path: tuple[str, ...] | None = None
    model: str | None = None
    origin: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Say who answers, until when and why, in one clause."""
        return f"by {self.who} until {self.until.isoformat()}: {self.reason}"

    @property
    def place(self) -> str:
        """What it is for and where it is written, for messages."""
        inside = "".join(f" in {node}" for node in reversed(self.path or ()))
        origin = f"{self.origin}: " if self.origin else ""
        return f"{origin}the waiver of {self.rule} at node '{self.node}'{inside}"

    def is_for(self, rule: str, node: str, path: tuple[str, ...]) -> bool:
        """Whether it names a rule at a node, whatever the model.

        Args:
            rule: The id of the rule.
            node: The node's name.
            path: The nodes whose subgraphs the node lies in.
        """
        return (self.rule, self.node) == (rule, node) and self.path in (None, path)

    def expired(self, today: dt.date) -> bool:
        """Whether its last day is over.

        Args:
            today: The day on which that is asked.
        """
        return today > self.until
