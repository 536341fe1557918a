"""The domains of operators, and the violations outside of them.

Sources: for Div this project's C1 and C2, and R5 of the preliminary edition, which no integer
meets; for other operators the sources of the rules in the operator's file in `profile/`.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from math import trunc
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import INTEGER_FORMATS, IntegerFormat
from sonnx_ort.oracle.numbers import Kind, Number
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition


@dataclass(frozen=True, slots=True)
class Violation:
    """The first violated rule, in the order of the operator's contract.

    `index` is that of the first invalid elements in row-major order, and `values` are these
    elements; both are None for shapes.
    """

    rule: str
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None


Array = npt.NDArray[Any]
Elements = tuple[Any, ...]
"""One exact element of each operand at the same index: `Number` for floats, else int."""

Offends = Callable[[Elements, IntegerFormat], bool]
"""Whether elements violate a rule; the format is that of the integers, or of the result."""

_BOTH = (0, 1)
_WIDE = 64
_EXACT_IN_DOUBLE = 1 << 53

AGAINST_KERNELS = frozenset({"Max.int.C1", "Min.int.C1", "Mod.int.C2"})
"""The rules on elements that have a result, which kernels of ONNX Runtime compute wrongly."""


def _zero_divisor(elements: Elements, _: IntegerFormat) -> bool:
    return bool(elements[1] == 0)


def _smallest_by_minus_one(elements: Elements, limits: IntegerFormat) -> bool:
    return limits.signed and elements == (limits.smallest, -1)


def _beyond_the_width(elements: Elements, limits: IntegerFormat) -> bool:
    return not 0 <= elements[1] < limits.bits


def _smallest(elements: Elements, limits: IntegerFormat) -> bool:
    return limits.signed and elements[0] == limits.smallest


def _negative_exponent(elements: Elements, _: IntegerFormat) -> bool:
    return bool(elements[1] < 0)


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


def _no_cosine(elements: Elements, _: IntegerFormat) -> bool:
    x: Number = elements[0]
    return x.kind is Kind.INFINITE or x.magnitude > 1


def _not_held(elements: Elements, limits: IntegerFormat) -> bool:
    x: Number = elements[0]
    return x.kind is not Kind.FINITE or not limits.smallest <= trunc(x.value) <= limits.largest


_ON_INTEGERS: Mapping[str, Sequence[tuple[str, Offends, Sequence[int]]]] = MappingProxyType(
    {
        "Div": [
            ("Div.int.C1", _zero_divisor, _BOTH),
            ("Div.int.C2", _smallest_by_minus_one, _BOTH),
        ],
        "Mod": [
            ("Mod.int.C1", _zero_divisor, _BOTH),
            ("Mod.int.C2", _smallest_by_minus_one, _BOTH),
        ],
        "BitShift": [("BitShift.int.C1", _beyond_the_width, _BOTH)],
        "Abs": [("Abs.int.C1", _smallest, [0])],
        "Pow": [
            ("Pow.int.C1", _negative_exponent, _BOTH),
            ("Pow.int.C2", _inexact_power, _BOTH),
        ],
    }
)
"""Per operator, the rules on integers in order, and the indices of the reported operands."""

_ON_FLOATS: Mapping[str, tuple[str, Offends]] = MappingProxyType(
    {"Acos": ("Acos.float.C1", _no_cosine), "Cast": ("Cast.float.C1", _not_held)}
)
"""Per operator, the rule on floats, which reports the element."""

_PRELIMINARY = {"Div.int.C1": "Div.R5"}
_COMPARED_IN_HALVES = frozenset({"Max", "Min"})
_ANY_INTEGER = IntegerFormat(_WIDE, signed=True)


def violation_of_integers(
    operator: str,
    operands: Sequence[Array],
    element_type: ElementType,
    edition: Edition,
    *,
    unneeded: Container[str] = frozenset(),
) -> Violation | None:
    """Find the first integers, in operands of one shape, for which an operator has no result.

    What breaks one of the rules in `unneeded` has one.
    """
    limits = INTEGER_FORMATS[element_type]
    if operator in _COMPARED_IN_HALVES and limits.signed and limits.bits == _WIDE:
        rule = f"{operator}.int.C1"
        return None if rule in unneeded else _beyond_int32(rule, operands)
    for rule, offends, positions in _ON_INTEGERS.get(operator, ()):
        if rule in unneeded:
            continue
        for index in np.ndindex(operands[0].shape):
            elements = tuple(int(operand[index]) for operand in operands)
            if offends(elements, limits):
                broken = _PRELIMINARY.get(rule, rule) if edition is Edition.PRELIMINARY else rule
                return Violation(broken, index, tuple(elements[position] for position in positions))
    return None


def violation_of_floats(
    operator: str, operand: Array, numbers: Sequence[Number], result_type: ElementType
) -> Violation | None:
    """Find the first float, in row-major order, for which a unary operator has no result.

    A Cast to integers must be able to represent it in the result type.
    """
    if operator not in _ON_FLOATS or (operator == "Cast" and result_type not in INTEGER_FORMATS):
        return None
    rule, offends = _ON_FLOATS[operator]
    limits = INTEGER_FORMATS.get(result_type, _ANY_INTEGER)
    for index, number in zip(np.ndindex(operand.shape), numbers, strict=True):
        if offends((number,), limits):
            return Violation(rule, index, (float(operand[index]),))
    return None


def _beyond_int32(rule: str, operands: Sequence[Array]) -> Violation | None:
    for operand in operands:
        for index in np.ndindex(operand.shape):
            number = int(operand[index])
            if not -(1 << 31) <= number < 1 << 31:
                return Violation(rule, index, (number,))
    return None
