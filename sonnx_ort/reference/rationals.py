"""The operators over the reals, on exact fractions.

Sources: SONNX Div, typed edition, section "real" (a zero divisor is undefined); SONNX Sub,
preliminary edition, "Informal specification".
"""

from fractions import Fraction


def quotient(a: Fraction, b: Fraction) -> Fraction | None:
    """The quotient of two numbers; None where it is undefined, that is, where b is zero.

    Args:
        a: The dividend.
        b: The divisor.
    """
    return None if b == 0 else a / b


def difference(a: Fraction, b: Fraction) -> Fraction:
    """The difference of two numbers.

    Args:
        a: The minuend.
        b: The subtrahend.
    """
    return a - b
