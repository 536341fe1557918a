"""The editions of the profile, and how operands of different shapes are handled."""

import enum
from typing import Literal


class Edition(enum.StrEnum):
    """The edition of the profile."""

    TYPED = "typed"
    """One section for each family of types; x/0 and 0/0 of floats give the IEEE 754 results."""

    PRELIMINARY = "preliminary"
    """One section for all types; a zero divisor of floats gives +inf."""


EditionChoice = Edition | Literal["typed", "preliminary"]
"""An edition as a caller gives it."""


class Broadcasting(enum.StrEnum):
    """How operands of different shapes are handled."""

    REJECT = "reject"
    """They violate the profile: in the analysis if their shapes are known, otherwise in the run."""

    EXPLICIT = "explicit"
    """An explicit Broadcast in front of the node makes the shapes equal."""


BroadcastChoice = Broadcasting | Literal["reject", "explicit"]
"""How operands of different shapes are handled, as a caller gives it."""
