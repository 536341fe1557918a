"""What the exact oracle admits of nodes that `onnx.reference` computes with other roundings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonnx_ort.oracle import Enclosure, Violation, enclosure, outcome
from sonnx_ort.profile.options import Edition
from support.operator_cases import OPERATOR_CASES
from support.soundness.arrays import Array
from support.soundness.rules import TYPES

OPERATORS = frozenset(name for name, case in OPERATOR_CASES.items() if case.random)
"""The operators of which it is asked."""

_FIRST_ZERO = ("MatMul", "BatchNormalization")
"""Operators that may give a zero of either sign whatever their operands are."""


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A result that may differ between implementations: nothing that reads it is known.

    Attributes:
        admitted: What is admitted.
    """

    admitted: Enclosure


def exact_result(
    operator: str, places: Sequence[Array | None], attributes: Mapping[str, int | float]
) -> Array | Enclosed | None:
    """What a node gives of operands that keep its rules.

    Args:
        operator: One of `OPERATORS`.
        places: The operands in their places, None for those that are left out.
        attributes: The attributes of the node.

    Returns:
        Its result, or what is admitted; None where operands do not fit each other, or where ONNX
        Runtime is known not to keep to the documents.
    """
    given = [place for place in places if place is not None]
    if not _fits(operator, given) or _differs(operator, places):
        return None
    asked = operator, places, TYPES[given[0].dtype], Edition.TYPED, attributes
    admitted, nearest = enclosure(*asked), outcome(*asked)
    if isinstance(admitted, Violation) or isinstance(nearest, Violation):
        return None
    alone = np.array_equal(admitted.lowest, admitted.highest, equal_nan=nearest.dtype.kind == "f")
    known = alone and not admitted.anything.any() and not _of_open_sign(operator, given, nearest)
    return nearest if known else Enclosed(admitted)


def _fits(operator: str, given: Sequence[Array]) -> bool:
    """Whether ONNX says what a node gives, beyond what the profile demands."""
    match operator, given:
        case "MatMul", [a, b]:
            return a.shape[-1] == b.shape[0] > 0
        case "BatchNormalization", [x, *vectors]:
            return x.ndim > 1 and all(v.shape == x.shape[1:2] for v in vectors)
        case "Slice", [x, starts, ends, axes, steps]:
            alike = len({index.shape for index in (starts, ends, axes, steps)}) == 1
            named = {axis % x.ndim for axis in axes.tolist() if -x.ndim <= axis < x.ndim}
            return alike and len(named) == axes.size and bool((steps != 0).all())
        case (("Slice" | "ArgMax"), [x, *others]):
            return not others and x.ndim > 0
    return len({operand.dtype for operand in given}) == 1


def _differs(operator: str, places: Sequence[Array | None]) -> bool:
    """Whether ONNX Runtime gives something else, as tests of the folder `upstream` show."""
    match operator, places:
        case "ArgMax", [np.ndarray() as x] if x.dtype.kind == "f":
            return bool(np.isnan(x).any())
        case "Clip", [_, *bounds]:
            given = [place for place in places if place is not None]
            wide = [a for a in given if a.dtype == np.int64]
            beyond = any(bool((a != a.astype(np.int32)).any()) for a in wide)
            open_end = len(bounds) < 2 or any(bound is None for bound in bounds)
            floats = [a for a in given if a.dtype.kind == "f"]
            return beyond or (open_end and any(np.isinf(a).any() for a in floats))
    return False


def _of_open_sign(operator: str, given: Sequence[Array], result: Array) -> bool:
    """Whether a zero of the result may have another sign, on which a quotient would depend."""
    if result.dtype.kind != "f" or not (result == 0).any():
        return False
    return operator in _FIRST_ZERO or (
        operator == "Clip" and any((bound == 0).any() for bound in given[1:])
    )
