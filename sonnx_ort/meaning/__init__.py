"""The exact oracle: computes operators over the rationals and in every element type.

It is written for clarity and independence, not speed. It decodes every element into an exact
fraction or integer, computes with these, and rounds with its own integer arithmetic. It shares with
the product only the names of types, editions and rules, and uses no arithmetic on floats.
Irrational results are also rounded correctly, from enclosures computed by Arb (the extra `oracle`).

Each operator is computed by one function, of elements that are exact numbers or balls, which
enclose a number. `meaning` says what an operator with a document computes, by its name, version and
attributes: of each element what is exact, what is admitted and by which bound, or that nothing is
defined.
"""

from sonnx_ort.meaning.documented import COMPUTED, meaning
from sonnx_ort.meaning.results import UNITS, Enclosure, Result, Undefined

__all__ = ["COMPUTED", "UNITS", "Enclosure", "Result", "Undefined", "meaning"]
