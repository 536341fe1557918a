"""What is asked for: edition, broadcasting, operators and a contract."""

from dataclasses import dataclass

from sonnx_ort.profile.contract import NO_CONTRACT, Contract
from sonnx_ort.profile.options import Broadcasting, Edition


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
