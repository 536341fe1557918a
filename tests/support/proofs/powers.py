"""Powers of integers that are computed in double, by their limits alone."""

import functools

import z3

from sonnx_ort.profile.element_type import ElementType
from support.proofs.terms import NotInterpreted, literal, sort_of

_DOUBLE = ElementType.DOUBLE
_EXACT_IN_DOUBLE = 1 << 53
_WIDTHS = (32, 64)
_LARGEST_EXPONENT = 64
"""Of larger ones, bases beside -1, 0 and 1 have powers that no type holds."""


def limits(bits: int) -> tuple[int, int]:
    """The powers that are exact, of signed integers of a width."""
    if bits == 64:
        return 1 - _EXACT_IN_DOUBLE, _EXACT_IN_DOUBLE - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def is_exact(base: z3.BitVecRef, exponent: z3.BitVecRef) -> z3.BoolRef:
    """Whether a power is exact, as a function of which a proof knows nothing else.

    What a proof says of every such function is so of the one that `exactness_defined` puts in.
    """
    return _exact(base.size())(base, exponent)


def exactness_defined(formula: z3.BoolRef) -> z3.BoolRef:
    """A formula with the definition in place of each `is_exact`."""
    return z3.substitute_funs(formula, *((_exact(bits), _definition(bits)) for bits in _WIDTHS))


@functools.cache
def _definition(bits: int) -> z3.BoolRef:
    """What `is_exact` is of two variables."""
    return _is_exact(*(z3.Var(place, z3.BitVecSort(bits)) for place in range(2)))


def _exact(bits: int) -> z3.FuncDeclRef:
    integer = z3.BitVecSort(bits)
    return z3.Function(f"is_exact.{bits}", integer, integer, z3.BoolSort())


def _is_exact(base: z3.BitVecRef, exponent: z3.BitVecRef) -> z3.BoolRef:
    """What `is_exact` is, exponent by exponent: which bases have such a power."""
    lower, upper = limits(base.size())
    found = z3.And(base >= -1, base <= 1)
    for number in range(_LARGEST_EXPONENT, 0, -1):
        least, most = _root(-lower if number % 2 else upper, number), _root(upper, number)
        found = z3.If(exponent == number, z3.And(base >= -least, base <= most), found)
    of_none = z3.If(exponent == 0, True, base != 0)
    return z3.If(exponent <= 0, of_none, found)


def _root(power: int, exponent: int) -> int:
    """The largest number whose power is not above another."""
    low, high = 0, power
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**exponent <= power else (low, middle - 1)
    return low


def exponent_is_exact(exponent: z3.BitVecRef) -> z3.BoolRef:
    """Whether the conversion to double changes no exponent."""
    return z3.BoolVal(True) if exponent.size() < 64 else exponent < _EXACT_IN_DOUBLE


def converted_from(element: z3.ExprRef) -> z3.BitVecRef:
    """The integer that was converted to a float.

    Raises:
        NotInterpreted: It is none.
    """
    for child in element.children():
        if z3.is_bv(child) and element.num_args() <= 2:
            return child
    raise NotInterpreted("a power of numbers that were no integers")


def power(base: z3.BitVecRef, exponent: z3.BitVecRef) -> z3.FPRef:
    """A power in double that is on the right side of the limits, and otherwise any; never NaN."""
    return z3.Function(f"power.{base.size()}", base.sort(), exponent.sort(), sort_of(_DOUBLE))(
        base, exponent
    )


def facts_of_powers(bits: int) -> z3.BoolRef:
    """What is true of all powers."""
    base, exponent = (z3.FreshConst(z3.BitVecSort(bits), name) for name in ("base", "exponent"))
    found = power(base, exponent)
    fact = fact_of_power(base, exponent, found)
    return z3.ForAll([base, exponent], fact, patterns=[found])


def fact_of_power(base: z3.BitVecRef, exponent: z3.BitVecRef, found: z3.FPRef) -> z3.BoolRef:
    """What is true of one power in double: it is within the limits exactly if it is exact."""
    lower, upper = limits(base.size())
    within = z3.And(z3.fpGEQ(found, _double(lower)), z3.fpLEQ(found, _double(upper)))
    beyond = z3.Or(z3.fpLEQ(found, _double(lower - 1)), z3.fpGEQ(found, _double(upper + 1)))
    return z3.If(is_exact(base, exponent), within, beyond)


def some_power(base: z3.BitVecRef, exponent: z3.BitVecRef, itself: z3.FPRef) -> z3.FPRef:
    """A power in double as far as it matters for what refutes a claim.

    Those of the exponents 0 and 1, and of 2 and -2 at the limits, are as they are; of the others
    only those within the limits are told from those beyond.
    """
    found = z3.If(_is_exact(base, exponent), _double(0), literal(float("inf"), _DOUBLE))
    for number in (31, 53):
        for two in (2, -2):
            at_limit = z3.And(base == two, exponent == number)
            found = z3.If(at_limit, _double(two**number), found)
    return z3.If(exponent == 0, _double(1), z3.If(exponent == 1, itself, found))


def _double(number: int) -> z3.FPRef:
    return literal(float(number), _DOUBLE)
