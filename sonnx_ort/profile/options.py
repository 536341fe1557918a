"""The configuration: edition, broadcasting and operators."""

import enum
from dataclasses import dataclass
from typing import Literal

from sonnx_ort.profile.contract import NO_CONTRACT, Contract


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


@dataclass(frozen=True, slots=True)
class Demands:
    """The configuration of an analysis or a rewrite.

    Attributes:
        edition: The edition of the profile.
        broadcasting: How operands of different shapes are handled.
        operators: The operators that are enforced.
        contract: What inputs and other values may be.
    """

    edition: Edition
    broadcasting: Broadcasting
    operators: frozenset[str]
    contract: Contract = NO_CONTRACT
