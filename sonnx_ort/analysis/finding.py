"""What a report says of a graph beside the obligations."""

from dataclasses import dataclass

from sonnx_ort.profile.general import Restriction


@dataclass(frozen=True, slots=True)
class Finding:
    """A restriction that the graph as written does not meet.

    It changes no result, so it rejects no model.

    Attributes:
        restriction: The restriction.
        place: The node or the value that it is about.
        detail: What was found there, as a clause.
    """

    restriction: Restriction
    place: str
    detail: str

    def __str__(self) -> str:
        """Give the finding on one line."""
        return f"{self.place}: {self.restriction.id}: {self.detail}"
