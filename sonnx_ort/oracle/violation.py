"""A broken rule, as the oracle names it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """The first broken rule, in the order of the operator's contract.

    Attributes:
        rule: Its id.
        index: Where the first offending element stands, in row-major order; None where the shapes
            offend.
        values: The elements there that offend together; None where the shapes offend.
    """

    rule: str
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None
