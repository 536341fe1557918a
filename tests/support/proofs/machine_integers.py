"""What functions of numpy make of integers of a width, over mathematical integers within it.

Quotients and remainders are told by what defines them; of exclusive or what is told is what holds
where one side is a sign, which is proved of the bits themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import z3

from support.proofs.terms import NotInterpreted

DType = np.dtype[Any]


@dataclass
class Steps:
    """What is known of the results of steps.

    Attributes:
        definitions: What is true of the terms that stand for results.
        requirements: What has to be true for that to be so.
        quotients: Each quotient with its divisor.
    """

    definitions: list[z3.BoolRef] = field(default_factory=list)
    requirements: list[z3.BoolRef] = field(default_factory=list)
    quotients: list[tuple[z3.ArithRef, z3.ArithRef]] = field(default_factory=list)

    def facts(self) -> list[z3.BoolRef]:
        """The definitions, and what is true of each two multiples of one divisor.

        Z3 proves the latter of any numbers at once, but does not come upon it among others.
        """
        pairs = combinations(self.quotients, 2)
        apart = [multiples_lie_apart(x, y, b) for (x, b), (y, other) in pairs if z3.eq(b, other)]
        return [*self.definitions, *apart]


Meaning = Callable[..., z3.ArithRef]
"""Gives the result: of the steps that it adds to, of a type, and of the operands."""


def within(number: z3.ArithRef, dtype: DType) -> z3.BoolRef:
    """Whether a number is one of a type."""
    limits = np.iinfo(dtype)
    return z3.And(number >= int(limits.min), number <= int(limits.max))


def wrapped(number: z3.ArithRef, dtype: DType) -> z3.ArithRef:
    """The integer of a type that stands for a number beyond it by less than the type is wide."""
    limits = np.iinfo(dtype)
    width = 1 << limits.bits
    below = z3.If(number < int(limits.min), number + width, number)
    return z3.If(number > int(limits.max), number - width, below)


def magnitude(number: z3.ArithRef) -> z3.ArithRef:
    """A number without its sign."""
    return z3.If(number < 0, -number, number)


def truncates(quotient: z3.ArithRef, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """Whether a quotient is that of two integers without its fraction.

    What it leaves is smaller than the divisor, and has the sign of the dividend.
    """
    rest = a - quotient * b
    signed_as_a = z3.Or(rest == 0, (rest < 0) == (a < 0))
    return z3.And(magnitude(rest) < magnitude(b), signed_as_a)


def multiples_lie_apart(x: z3.ArithRef, y: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """That two multiples of a number that are less than it apart are one."""
    return z3.Implies(magnitude(x * b - y * b) < magnitude(b), x == y)


def facts_of_xor(x: Any, y: Any, found: Any) -> list[z3.BoolRef]:
    """What is true of the exclusive or of two signed integers, of bit-vectors or of numbers."""
    facts = [(found < 0) == ((x < 0) != (y < 0))]
    for one, other in ((x, y), (y, x)):
        facts += [
            z3.Implies(one == 0, found == other),
            z3.Implies(one == -1, found == -1 - other),
        ]
    return facts


def _xor(steps: Steps, dtype: DType, x: z3.ArithRef, y: z3.ArithRef) -> z3.ArithRef:
    if dtype.kind != "i":
        raise NotInterpreted(f"an exclusive or of {dtype}")
    found = z3.FreshInt("xor")
    steps.definitions += [*facts_of_xor(x, y, found), within(found, dtype)]
    return found


def _shifted(_: Steps, dtype: DType, x: z3.ArithRef, places: z3.ArithRef) -> z3.ArithRef:
    number = z3.simplify(places)
    if not z3.is_int_value(number) or not 0 <= number.as_long() < np.iinfo(dtype).bits:
        raise NotInterpreted(f"a shift by {number}")
    # Z3 rounds the quotient by a positive number down, as the shift of a signed integer does.
    return x / z3.IntVal(1 << number.as_long())


def _divided(
    steps: Steps, a: z3.ArithRef, b: z3.ArithRef, like: z3.ArithRef
) -> tuple[z3.ArithRef, z3.ArithRef]:
    """Quotient and remainder, which has the sign of one of the two."""
    quotient, rest = z3.FreshInt("quotient"), z3.FreshInt("rest")
    steps.requirements.append(b != 0)
    steps.quotients.append((quotient, b))
    steps.definitions += [
        quotient * b + rest == a,
        magnitude(rest) < magnitude(b),
        z3.Or(rest == 0, (rest < 0) == (like < 0)),
    ]
    return quotient, rest


def _floor_quotient(steps: Steps, dtype: DType, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    quotient, _ = _divided(steps, a, b, b)
    if dtype.kind == "i":
        beyond = z3.And(a == int(np.iinfo(dtype).min), b == -1)
        steps.requirements.append(z3.Not(beyond))
    return quotient


_MEANINGS: Mapping[np.ufunc, Meaning] = MappingProxyType(
    {
        np.absolute: lambda _, dtype, x: wrapped(magnitude(x), dtype),
        np.bitwise_xor: _xor,
        np.floor_divide: _floor_quotient,
        np.fmod: lambda steps, _, a, b: _divided(steps, a, b, a)[1],
        np.remainder: lambda steps, _, a, b: _divided(steps, a, b, b)[1],
        np.right_shift: _shifted,
        np.subtract: lambda _, dtype, x, y: wrapped(x - y, dtype),
    }
)


def computed(steps: Steps, function: np.ufunc, dtype: DType, *terms: z3.ArithRef) -> z3.ArithRef:
    """The result of a function of numpy.

    Args:
        steps: Takes what is known of it.
        function: The function.
        dtype: The type of its operands and of its result.
        terms: Its operands.

    Raises:
        NotInterpreted: Nobody said what it does.
    """
    meaning = _MEANINGS.get(function)
    if meaning is None:
        raise NotInterpreted(f"{function.__name__} of integers")
    return meaning(steps, dtype, *terms)


def seen_as(term: z3.ArithRef, own: DType, dtype: DType) -> z3.ArithRef:
    """The integer of a type that has the bits of one of another.

    Args:
        term: The integer.
        own: Its type.
        dtype: The other type.
    """
    if own.kind not in "iu" or dtype.kind not in "iu" or own.itemsize != dtype.itemsize:
        raise NotInterpreted(f"a view of {own} as {dtype}")
    return wrapped(term, dtype)
