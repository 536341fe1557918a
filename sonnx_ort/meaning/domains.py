"""The domains of operators, and the violations outside of them.

Sources: for Div this project's C1 and C2, and R5 of the preliminary edition, which no integer
meets; for other operators the sources of the rules in the operator's file in `profile/`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import trunc
from typing import Any

from sonnx_ort.meaning.numbers import INTEGER_FORMATS, IntegerFormat, Kind, Number
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

Elements = tuple[Any, ...]
"""One exact element of each operand at the same index: `Number` for floats, else int."""

Violates = Callable[[Elements, IntegerFormat], bool]
"""Whether elements violate a rule; the format is that of the integers, or of the result."""


@dataclass(frozen=True, slots=True)
class ElementRule:
    """A rule on the elements at one index.

    Attributes:
        id: Its id in the typed edition.
        violates: Whether elements violate it.
    """

    id: str
    violates: Violates

    def named(self, edition: Edition) -> str:
        """Its id in an edition."""
        return _PRELIMINARY.get(self.id, self.id) if edition is Edition.PRELIMINARY else self.id


_WIDE = 64
_EXACT_IN_DOUBLE = 1 << 53


def _zero_divisor(elements: Elements, _: IntegerFormat) -> bool:
    return bool(elements[1] == 0)


def smallest_by_minus_one(elements: Elements, limits: IntegerFormat) -> bool:
    """Whether they are the smallest integer of a type and -1."""
    return limits.signed and elements == (limits.smallest, -1)


def _beyond_the_width(elements: Elements, limits: IntegerFormat) -> bool:
    return not 0 <= elements[1] < limits.bits


def _is_smallest(elements: Elements, limits: IntegerFormat) -> bool:
    return limits.signed and elements[0] == limits.smallest


def _inexact_power(elements: Elements, limits: IntegerFormat) -> bool:
    """Whether a power is none of its type, or of 64 bits may be rounded on its way by double."""
    x, y = elements
    if limits.bits == _WIDE and y >= _EXACT_IN_DOUBLE:
        return True
    if y < 0 or abs(x) <= 1:
        return bool(x == 0 and y < 0)
    if y > _WIDE:
        return True
    power = x**y
    if limits.bits == _WIDE:
        return bool(abs(power) >= _EXACT_IN_DOUBLE)
    return not limits.smallest <= power <= limits.largest


def _outside_unit_interval(elements: Elements, _: IntegerFormat) -> bool:
    x: Number = elements[0]
    return x.kind is Kind.INFINITE or x.magnitude > 1


def _not_held(elements: Elements, limits: IntegerFormat) -> bool:
    x: Number = elements[0]
    return x.kind is not Kind.FINITE or not limits.smallest <= trunc(x.value) <= limits.largest


_RULES: Mapping[tuple[str, Family], Sequence[ElementRule]] = {
    ("Div", Family.INTEGER): [
        ElementRule("Div.int.C1", _zero_divisor),
        ElementRule("Div.int.C2", smallest_by_minus_one),
    ],
    ("Mod", Family.INTEGER): [ElementRule("Mod.int.C1", _zero_divisor)],
    ("BitShift", Family.INTEGER): [ElementRule("BitShift.int.C1", _beyond_the_width)],
    ("Abs", Family.INTEGER): [ElementRule("Abs.int.C1", _is_smallest)],
    ("Pow", Family.INTEGER): [
        ElementRule("Pow.int.C1", lambda elements, _: bool(elements[1] < 0)),
        ElementRule("Pow.int.C2", _inexact_power),
    ],
    ("Acos", Family.FLOAT): [ElementRule("Acos.float.C1", _outside_unit_interval)],
    ("Cast", Family.FLOAT): [ElementRule("Cast.float.C1", _not_held)],
}
"""The rules on elements of a family, in order."""

_PRELIMINARY = {"Div.int.C1": "Div.R5"}


@dataclass(frozen=True, slots=True)
class Domain:
    """Where an operator has results: the rules on elements, and the format that they read."""

    rules: Sequence[ElementRule]
    limits: IntegerFormat

    def broken(self, elements: Elements) -> ElementRule | None:
        """The first rule that the elements at one index violate."""
        return next((rule for rule in self.rules if rule.violates(elements, self.limits)), None)


def domain(operator: str, element_type: ElementType, result_type: ElementType) -> Domain:
    """The domain of an operator on operands of a type; integers that a Cast gives have to exist."""
    rules = _RULES.get((operator, element_type.family), ())
    if operator == "Cast" and result_type not in INTEGER_FORMATS:
        rules = ()
    return Domain(rules, INTEGER_FORMATS.get(result_type, IntegerFormat(_WIDE, signed=True)))
