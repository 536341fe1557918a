"""What a floating-point datum stands for, whatever its format."""

import enum
from dataclasses import dataclass
from fractions import Fraction
from typing import Final


class Kind(enum.Enum):
    """The three kinds of floating-point data (IEEE 754-2019, 3.3)."""

    FINITE = enum.auto()
    INFINITE = enum.auto()
    NAN = enum.auto()


@dataclass(frozen=True, slots=True)
class Number:
    """A floating-point datum: a sign, and a magnitude where it is finite.

    Attributes:
        kind: Whether it is finite, an infinity or NaN.
        negative: Its sign; zeros have one, and that of a NaN means nothing.
        magnitude: Its absolute value; zero where it is not finite.
    """

    kind: Kind
    negative: bool
    magnitude: Fraction

    @property
    def is_zero(self) -> bool:
        """Whether it is a zero of either sign."""
        return self.kind is Kind.FINITE and self.magnitude == 0

    @property
    def value(self) -> Fraction:
        """The signed value of a finite datum; both zeros have the value zero."""
        return -self.magnitude if self.negative else self.magnitude


NAN: Final = Number(Kind.NAN, negative=False, magnitude=Fraction(0))
POSITIVE_INFINITY: Final = Number(Kind.INFINITE, negative=False, magnitude=Fraction(0))


def finite(magnitude: Fraction, *, negative: bool) -> Number:
    """A finite datum.

    Args:
        magnitude: Its absolute value.
        negative: Its sign.
    """
    return Number(Kind.FINITE, negative, magnitude)


def infinity(*, negative: bool) -> Number:
    """An infinity.

    Args:
        negative: Its sign.
    """
    return Number(Kind.INFINITE, negative, Fraction(0))
