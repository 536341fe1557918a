"""What a model can be held to: an edition of the profile, and a way to treat broadcasting."""

import enum


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
