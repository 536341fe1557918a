"""Asks the exact oracle of an operator of two operands, and how it rounds."""

from fractions import Fraction
from typing import Any

import numpy.typing as npt

from sonnx_ort.oracle import Violation, outcome
from sonnx_ort.oracle.numbers import BinaryFormat, Kind, decode, encode, finite
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def outcome_of(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> Array | Violation:
    """What `operator(a, b)` of an element type is in an edition."""
    return outcome(operator, (a, b), element_type, edition)


def rounded(value: Fraction, binary_format: BinaryFormat) -> Fraction | None:
    """The number of a format that a nonnegative number is encoded as; None for infinity."""
    found = decode(encode(finite(value, negative=False), binary_format), binary_format)
    return found.magnitude if found.kind is Kind.FINITE else None
