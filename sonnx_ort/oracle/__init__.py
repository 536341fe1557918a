"""The exact oracle: what the operators compute, over the rationals and in every element type.

Written for clarity and independence, not for speed: it decodes every element into an exact
fraction, computes there, and rounds by its own integer arithmetic. It shares with the product only
the names of types, editions and rules, and it uses neither numpy's arithmetic nor a float. What is
irrational it rounds correctly too, from enclosures that Arb computes (the extra `oracle`); and of
results that no two implementations give alike `enclosure` says which are admitted.
"""

from sonnx_ort.oracle.domains import Violation
from sonnx_ort.oracle.enclosure import UNITS, Enclosure, enclosure
from sonnx_ort.oracle.operators import OPERATORS, ZEROS_OF_EITHER_SIGN, outcome
from sonnx_ort.oracle.tensors import broadcast

__all__ = [
    "OPERATORS",
    "UNITS",
    "ZEROS_OF_EITHER_SIGN",
    "Enclosure",
    "Violation",
    "broadcast",
    "enclosure",
    "outcome",
]
