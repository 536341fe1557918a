"""What the exact oracle admits of nodes that `onnx.reference` computes with other roundings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonnx_ort.meaning import Result, Undefined, meaning
from sonnx_ort.meaning.results import EXACT, Copies
from support.meaning_cases import EARLY
from support.soundness.arrays import Array

NETWORKS = frozenset(
    {"Conv", "ConvInteger", "DequantizeLinear", "Exp", "Gemm", "LSTM", "LeakyRelu", "MaxPool"}
    | {"QuantizeLinear", "Range", "Relu", "Sigmoid", "Sin", "Softmax", "Tanh"}
)
"""Operators that networks are made of, of which `onnx.reference` is not asked."""

OPERATORS = EARLY | NETWORKS
"""The operators of which the exact oracle is asked."""

_KNOWN_ERRORS: Mapping[str, float] = {"Sigmoid": 2e-7, "Tanh": 5e-7, "LSTM": 1e-5}
"""What ONNX Runtime is off in float at most; `tests/upstream` shows it of Sigmoid and Tanh."""

_FIRST_ZERO = ("MatMul", "BatchNormalization")
"""Operators that may give a zero of either sign whatever their operands are."""


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A result that may differ between implementations: nothing that reads it is known.

    Attributes:
        result: What is admitted.
        beside: By how much ONNX Runtime is known to miss it.
    """

    result: Result
    beside: float = 0

    def assert_admits(self, found: Array) -> None:
        """Assert that what was computed is among it, or only as far beside it as is known."""
        outside = self.result.outside(found)
        if self.beside:
            with np.errstate(invalid="ignore"):
                outside &= ~(np.abs(found - self.result.nearest) <= self.beside)
        at = np.argwhere(outside)[:9].tolist()
        wrong = f"{found[outside][:9]} at {at}, nearest {self.result.nearest[outside][:9]}"
        assert not outside.any(), wrong


def exact_results(
    operator: str, version: int, attributes: Mapping[str, Any], places: Sequence[Array | None]
) -> list[Array | Enclosed] | None:
    """What a node gives of operands that keep its rules.

    Args:
        operator: One of `OPERATORS`.
        version: The version of the standard operators.
        attributes: The attributes of the node.
        places: The operands in their places, None for those that are left out.

    Returns:
        Its results, or what is admitted; None where operands do not fit each other, or where ONNX
        Runtime is known not to keep to the documents.
    """
    given = [place for place in places if place is not None]
    if _differs(operator, places):
        return None
    try:
        found = meaning(operator, version, attributes, places)
    except ValueError:
        # Types that have no meaning.
        return None
    if isinstance(found, Undefined):
        return None
    return [_known(operator, given, result) for result in found]


def _known(operator: str, given: Sequence[Array], result: Result) -> Array | Enclosed:
    """The only elements that a result may have, if there are no others."""
    alone = result.bound == EXACT and not result.undefined.any()
    known = alone and not _of_open_sign(operator, given, result)
    return result.nearest if known else Enclosed(result, _KNOWN_ERRORS.get(operator, 0))


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


def _of_open_sign(operator: str, given: Sequence[Array], result: Result) -> bool:
    """Whether a zero of the result may have another sign, on which a quotient would depend."""
    elements = result.nearest
    if elements.dtype.kind != "f" or not (elements == 0).any():
        return False
    if operator not in EARLY:
        return not isinstance(result.admitted, Copies)
    return operator in _FIRST_ZERO or (
        operator == "Clip" and any((bound == 0).any() for bound in given[1:])
    )
