"""What the oracle says of each element that something has computed."""

import enum
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle import Result


class Verdict(enum.StrEnum):
    """What a computed element is."""

    EXACT = "exact"
    ADMITTED = "admitted"
    OUTSIDE = "outside"
    UNDEFINED = "undefined"


def verdicts(result: Result, found: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """The verdict on each computed element.

    Raises:
        ValueError: The results have another type or shape.
    """
    made = np.full(found.shape, Verdict.ADMITTED, object)
    made[result.outside(found)] = Verdict.OUTSIDE
    made[result.exact(found)] = Verdict.EXACT
    made[result.undefined] = Verdict.UNDEFINED
    return made
