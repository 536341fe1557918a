"""The operators on integers of a width.

No document states them yet (SONNX Div, typed edition, section "INT8, INT16, INT32" is to be
completed); these are the project's decisions, which agree with ONNX: truncation towards zero, and
differences modulo 2^n.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import trunc

from sonnx_ort.reference.rationals import difference, quotient


@dataclass(frozen=True, slots=True)
class IntegerFormat:
    """A two's-complement or unsigned integer type.

    Attributes:
        bits: Its width.
        signed: Whether it has negative values.
    """

    bits: int
    signed: bool

    @property
    def smallest(self) -> int:
        """Its smallest value."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def largest(self) -> int:
        """Its largest value."""
        return self.smallest + (1 << self.bits) - 1


def divide(a: int, b: int) -> int | None:
    """The quotient truncated towards zero, of any size; None where b is zero.

    Args:
        a: The dividend.
        b: The divisor.
    """
    exact = quotient(Fraction(a), Fraction(b))
    return None if exact is None else trunc(exact)


def subtract(a: int, b: int, integer_format: IntegerFormat) -> int:
    """The value of the type that equals the difference modulo 2^n.

    Args:
        a: The minuend.
        b: The subtrahend.
        integer_format: The type, of n bits.
    """
    smallest = integer_format.smallest
    exact = int(difference(Fraction(a), Fraction(b)))
    return smallest + (exact - smallest) % (1 << integer_format.bits)
