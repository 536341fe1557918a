"""Exact tensors as JSON.

JSON has no infinities and no NaN, and readers differ for -0.0, so these four are strings. Every
other float is written as the equal double, which converts without loss to and from all narrower
formats; integers are JSON integers of any size.
"""

import math
from collections.abc import Mapping
from typing import Any

import ml_dtypes  # noqa: F401 - makes numpy know the name "bfloat16"
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Number = bool | int | float | str


def encode(array: Array) -> dict[str, Any]:
    """Convert an array of booleans, integers or floats to JSON.

    Returns:
        The dtype, the shape, and the elements in row-major order.
    """
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "data": [_encode_element(element) for element in array.ravel()],
    }


def decode(entry: Mapping[str, Any]) -> Array:
    """Convert the result of `encode` back to an array, which is read-only.

    Raises:
        OverflowError: An integer does not fit the dtype.
        ValueError: The shape and the number of elements differ.
    """
    dtype = np.dtype(entry["dtype"])
    elements: list[Number] = entry["data"]
    if dtype.kind in "biu":
        array = np.array(elements, dtype)
    else:
        array = np.array([float(element) for element in elements], np.float64).astype(dtype)
    array = array.reshape(entry["shape"])
    array.flags.writeable = False
    return array


def encode_number(value: int | float) -> Number:
    """Convert a number to JSON."""
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return "-0.0" if value == 0 and math.copysign(1, value) < 0 else value


def decode_number(number: Number) -> int | float:
    """Convert the result of `encode_number` back to a number."""
    return float(number) if isinstance(number, str) else number


def _encode_element(element: np.generic) -> Number:
    return encode_number(element.item() if element.dtype.kind in "biu" else float(element))
