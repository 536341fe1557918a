"""The rules about elements: which elements of operands an operator has no result for.

Sources: of Div this project's C1 and C2, and R5 of the preliminary edition, which no integer meets;
of the others the operator's file in `profile/`, whose rules say where they come from.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import IntegerFormat
from sonnx_ort.oracle.violation import Violation
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Elements = tuple[int, ...]
Offends = Callable[[Elements, IntegerFormat], bool]
"""Whether elements, one of each operand, all at one place, break a rule."""

_BOTH = (0, 1)


def _zero_divisor(elements: Elements, _: IntegerFormat) -> bool:
    return elements[1] == 0


def _smallest_by_minus_one(elements: Elements, limits: IntegerFormat) -> bool:
    return limits.signed and elements == (limits.smallest, -1)


def _whole_width(elements: Elements, limits: IntegerFormat) -> bool:
    return elements[1] >= limits.bits


def _smallest(elements: Elements, limits: IntegerFormat) -> bool:
    return limits.signed and elements[0] == limits.smallest


_RULES: Mapping[str, Sequence[tuple[str, Offends, Sequence[int]]]] = MappingProxyType(
    {
        "Div": [
            ("Div.int.C1", _zero_divisor, _BOTH),
            ("Div.int.C2", _smallest_by_minus_one, _BOTH),
        ],
        "Mod": [
            ("Mod.int.C1", _zero_divisor, _BOTH),
            ("Mod.int.C2", _smallest_by_minus_one, _BOTH),
        ],
        "BitShift": [("BitShift.int.C1", _whole_width, _BOTH)],
        "Abs": [("Abs.int.C1", _smallest, [0])],
    }
)
"""By operator its rules on integers in order, and the positions of the operands that are told."""

_PRELIMINARY = {"Div.int.C1": "Div.R5"}
_WIDE = 64
_COMPARED_IN_HALVES = frozenset({"Max", "Min"})


def domain_violation(
    operator: str, operands: Sequence[Array], limits: IntegerFormat, edition: Edition
) -> Violation | None:
    """Find the first element that an operator has no result for.

    Args:
        operator: The operator.
        operands: Its operands, integers of one shape.
        limits: Their type.
        edition: The edition of the profile.
    """
    if operator in _COMPARED_IN_HALVES and limits.signed and limits.bits == _WIDE:
        return _beyond_int32(operator, operands)
    for rule, offends, told in _RULES.get(operator, ()):
        for index in np.ndindex(operands[0].shape):
            elements = tuple(int(operand[index]) for operand in operands)
            if offends(elements, limits):
                broken = _PRELIMINARY.get(rule, rule) if edition is Edition.PRELIMINARY else rule
                return Violation(broken, index, tuple(elements[position] for position in told))
    return None


def _beyond_int32(operator: str, operands: Sequence[Array]) -> Violation | None:
    for operand in operands:
        for index in np.ndindex(operand.shape):
            number = int(operand[index])
            if not -(1 << 31) <= number < 1 << 31:
                return Violation(f"{operator}.int.C1", index, (number,))
    return None
