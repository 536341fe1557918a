"""What a model can be held to: an edition, a way to treat broadcasting, and operators."""

import enum
from dataclasses import dataclass


class Edition(enum.StrEnum):
    """Which draft of the operator documents a model is held to."""

    TYPED = "typed"
    """One section per group of types; x/0 and 0/0 on floats are the IEEE 754 results."""

    PRELIMINARY = "preliminary"
    """One section for all types; a zero divisor gives +inf on floats."""


class Broadcasting(enum.StrEnum):
    """What becomes of operands of different shapes."""

    REJECT = "reject"
    """They are refused, statically where that is known and in the run otherwise."""

    EXPLICIT = "explicit"
    """A Broadcast in front makes their shapes equal, in the open."""


@dataclass(frozen=True, slots=True)
class Demands:
    """What a model is held to.

    Attributes:
        edition: The edition of the documents.
        broadcasting: What becomes of operands of different shapes.
        operators: The names of the operators whose rules are enforced.
    """

    edition: Edition
    broadcasting: Broadcasting
    operators: frozenset[str]
