"""Asks the exact oracle."""

from typing import Any

import numpy.typing as npt

from sonnx_ort.oracle import Violation, divide, subtract
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

_OPERATORS = {"Div": divide, "Sub": subtract}


def outcome_of(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> Array | Violation:
    """What `operator(a, b)` of an element type is in an edition."""
    return _OPERATORS[operator](a, b, element_type, edition)
