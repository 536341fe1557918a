"""Where a bound comes from: a document, a proof, a measurement, or a choice of this project.

A bound that was measured of ONNX Runtime does not judge ONNX Runtime itself: it says only that
results are as they were when they were measured.
"""

import enum
from collections.abc import Mapping, Sequence

from sonnx_ort.meaning.results import UNITS
from sonnx_ort.profile.element_type import ElementType


class Origin(enum.StrEnum):
    """Where a bound, or a part of it, comes from."""

    CHOSEN = "chosen"
    """This project chose it, as no document says it."""

    DOCUMENT = "document"
    """A document of SONNX states it."""

    MEASURED = "measured"
    """It is the largest error of ONNX Runtime that was seen."""

    PROOF = "proof"
    """It follows from the operations of an algorithm."""


_MEASURED = "measured of ONNX Runtime"

_ORIGINS: Mapping[str, Origin] = {
    _MEASURED: Origin.MEASURED,
    "tanh_acc.md": Origin.DOCUMENT,
    "the draft, Accuracy": Origin.DOCUMENT,
    "in any order": Origin.PROOF,
    "for any order": Origin.PROOF,
    "each rounded": Origin.PROOF,
    "alpha may be rounded": Origin.PROOF,
    "the algorithm": Origin.PROOF,
    "the joined nodes": Origin.PROOF,
    "2 ulps (ours": Origin.CHOSEN,
    "off by 1 ulp (ours": Origin.CHOSEN,
    "a float may be rounded": Origin.CHOSEN,
    "no document says which": Origin.CHOSEN,
}
"""What the words of a bound say of its origin."""

_OF_SIGNS = "signs of zeros"

PARTS = "; "
"""What stands between bounds of several results."""

_COMPLETE = frozenset(
    (operator, kind)
    for operator in ("Acos", "Log")
    for kind in (ElementType.FLOAT16, ElementType.FLOAT)
)
"""The operators and types of which each number was measured."""


def origins(bounds: str) -> Sequence[Origin]:
    """The origins of one or several bounds; none of those that admit the exact result only."""
    parts = [part for part in bounds.split(PARTS) if not part.startswith(_OF_SIGNS)]
    found = {origin for words, origin in _ORIGINS.items() for part in parts if words in part}
    return sorted(found)


def measured(operator: str, element_type: ElementType | None) -> str:
    """The bound of an operator that was measured; empty if it has none."""
    units = 0 if element_type is None else UNITS.get((operator, element_type), 0)
    if not units:
        return ""
    what = f"each {element_type}" if (operator, element_type) in _COMPLETE else "samples"
    place = "unit" if units == 1 else "units"
    return f"{units} {place} in the last place, {_MEASURED} with {what} (ours)"


def measured_parts(bounds: str) -> list[str]:
    """The bounds that were measured, among one or several."""
    return [part for part in bounds.split(PARTS) if _MEASURED in part]
