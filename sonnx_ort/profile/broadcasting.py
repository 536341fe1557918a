"""The choices for operands of different shapes."""

import enum


class Broadcasting(enum.StrEnum):
    """What becomes of operands of different shapes."""

    REJECT = "reject"
    """They are refused, statically where that is known and in the run otherwise."""

    EXPLICIT = "explicit"
    """A Broadcast in front makes their shapes equal, in the open."""
