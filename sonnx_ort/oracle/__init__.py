"""The exact oracle: computes operators over the rationals and in every element type.

It is written for clarity and independence, not speed. It decodes every element into an exact
fraction or integer, computes with these, and rounds with its own integer arithmetic. It shares with
the product only the names of types, editions and rules, and uses no arithmetic on floats.
Irrational results are also rounded correctly, from enclosures computed by Arb (the extra `oracle`).

`meaning` is the one place that says what an operator with a document computes, by its name, version
and attributes: of each element what is exact, what is admitted and by which bound, or that nothing
is defined. `meaning_over_the_reals` leaves the types out. The rules of the profile on operands are
apart: `violation` finds the first that is violated, `outcome` gives this or the exact results.
"""

from sonnx_ort.oracle.domains import AGAINST_KERNELS, Violation
from sonnx_ort.oracle.enclosure import UNITS, Enclosure
from sonnx_ort.oracle.meaning import COMPUTED, meaning, meaning_over_the_reals
from sonnx_ort.oracle.operators import OPERATORS, ZEROS_OF_EITHER_SIGN, outcome, violation
from sonnx_ort.oracle.results import Result, Undefined, Verdict
from sonnx_ort.oracle.tensors import broadcast

__all__ = [
    "AGAINST_KERNELS",
    "COMPUTED",
    "OPERATORS",
    "UNITS",
    "ZEROS_OF_EITHER_SIGN",
    "Enclosure",
    "Result",
    "Undefined",
    "Verdict",
    "Violation",
    "broadcast",
    "meaning",
    "meaning_over_the_reals",
    "outcome",
    "violation",
]
