"""How a model is, or was, enforced."""

from dataclasses import dataclass

from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition


@dataclass(frozen=True, slots=True)
class Enforcement:
    """How a model is enforced.

    Attributes:
        edition: The edition.
        broadcasting: What becomes of operands of different shapes.
        opset: The version of the standard operators that the model imports without it.
    """

    edition: Edition
    broadcasting: Broadcasting
    opset: int
