"""Bounds as decimals of few digits that bound what the numbers themselves do.

A number that is rounded to the nearest decimal may exclude what it bounds: what is at most
0.0010049 need not be at most 0.001. So an upper bound is rounded up, and a lower one down. A
decimal stands for the double that is nearest to it, as 0.1 does.
"""

import math
from decimal import Context, Decimal


def at_most(number: float, digits: int) -> str:
    """The smallest decimal of so many digits that is not below a number, as `:g` writes it."""
    return _rounded_text(number, digits, upwards=True)


def at_least(number: float, digits: int) -> str:
    """The largest decimal of so many digits that is not above a number, as `:g` writes it."""
    return _rounded_text(number, digits, upwards=False)


def _rounded_text(number: float, digits: int, *, upwards: bool) -> str:
    nearest = f"{number:.{digits}g}"
    if not math.isfinite(number):
        return nearest
    found = float(nearest)
    if found >= number if upwards else found <= number:
        return nearest
    context = Context(prec=digits)
    near = Decimal(nearest)
    beyond = context.next_plus(near) if upwards else context.next_minus(near)
    return _general(beyond.normalize(), digits)


def _general(decimal: Decimal, digits: int) -> str:
    """A decimal as `:g` writes a float; no float may be that near to it."""
    if -5 < decimal.adjusted() < digits:
        return f"{decimal:f}"
    mantissa, _, exponent = f"{decimal:e}".partition("e")
    return f"{mantissa}e{int(exponent):+03d}"
