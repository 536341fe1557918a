"""Enclosures of irrational numbers by rationals, from Arb, whose balls hold what is computed.

Needs python-flint, the extra `oracle`; nothing else in the package does.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from sonnx_ort.oracle.numbers import power_of_two

if TYPE_CHECKING:
    from flint import arb

Ends = tuple[Fraction, Fraction]
"""Two rationals, with a number between them."""


def logarithm(x: Fraction, bits: int) -> Ends:
    """Enclose the natural logarithm.

    Args:
        x: A positive number.
        bits: The precision of what is computed on the way.
    """
    return _ends(lambda ball: ball.log(), bits, x)


def angle(x: Fraction, bits: int) -> Ends:
    """Enclose the angle between 0 and pi whose cosine a number is.

    Args:
        x: A number between -1 and 1.
        bits: The precision of what is computed on the way.
    """
    return _ends(lambda ball: ball.acos(), bits, x)


def power(x: Fraction, y: Fraction, bits: int) -> Ends:
    """Enclose a power.

    Args:
        x: A positive number.
        y: The exponent; the power has to be one whose binary logarithm is no large number.
        bits: The precision of what is computed on the way.
    """
    return _ends(lambda base, exponent: base**exponent, bits, x, y)


def _ends(compute: "Callable[..., arb]", bits: int, *numbers: Fraction) -> Ends:
    """The ends of the ball that is computed of the smallest balls around some numbers."""
    import flint  # noqa: PLC0415 - the package does without it

    with flint.ctx.workprec(bits):
        quotients = [flint.fmpq(number.numerator, number.denominator) for number in numbers]
        ball = compute(*map(flint.arb, quotients))
        return _exact(ball.lower()), _exact(ball.upper())


def _exact(end: "arb") -> Fraction:
    significand, exponent = end.man_exp()
    return Fraction(int(significand)) * power_of_two(int(exponent))
