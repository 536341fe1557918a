"""The exact oracle: what the operators compute, over the rationals and in every element type.

Written for clarity and independence, not for speed: it decodes every element into an exact
fraction, computes there, and rounds by its own integer arithmetic. It shares with the product only
the names of types, editions and rules, and it uses neither numpy's arithmetic nor a float.
"""

from sonnx_ort.oracle.operators import Violation, broadcast, divide, subtract

__all__ = ["Violation", "broadcast", "divide", "subtract"]
