"""When two tensors are the same."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def same_elements(expected: Array, actual: Array) -> bool:
    """Whether two arrays have one dtype, one shape and the same bits; any NaN equals any other.

    Args:
        expected: One array.
        actual: The other.
    """
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return False
    return not differing_elements(expected, actual).any()


def differing_elements(expected: Array, actual: Array) -> npt.NDArray[np.bool_]:
    """Where two arrays have different bits and are not both NaN.

    Args:
        expected: One array.
        actual: The other, of the same dtype and shape.
    """
    differing = np.asarray(_bits(expected) != _bits(actual))
    if expected.dtype.kind not in "biu":
        # ml_dtypes warns of a signalling NaN.
        with np.errstate(invalid="ignore"):
            differing &= ~(np.isnan(expected) & np.isnan(actual))
    return differing


def _bits(array: Array) -> Array:
    return np.asarray(array, order="C").view(f"u{array.dtype.itemsize}")
