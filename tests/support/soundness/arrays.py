"""Random tensors, small and full of the values at which rules break."""

import random
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FLOATS = ("float32", "float64")
INTEGERS = ("int64", "int32", "int8", "uint8")

_FLOAT_VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.0, 7.0)
_SIGNED_VALUES = (0, 1, 2, 3, 5, -1, -2, 7)
_UNSIGNED_VALUES = (0, 1, 2, 3, 5, 200, 255)


def random_array(
    rng: random.Random, dtype: str, shape: tuple[int, ...], *, zeros: bool = True
) -> Array:
    """Make a tensor of values such as 0, -1 and, for integers, the smallest of the type.

    Args:
        rng: Chooses.
        dtype: The numpy dtype: a numeric one, or "bool".
        shape: The shape.
        zeros: Whether zeros may occur.
    """
    count = int(np.prod(shape, dtype=np.int64))
    values = _values(rng, dtype)
    chosen = [value for value in values if zeros or value]
    elements = [rng.choice(chosen) for _ in range(count)]
    return np.array(elements, np.dtype(dtype)).reshape(shape)


def _values(rng: random.Random, dtype: str) -> tuple[float, ...]:
    match dtype:
        case "bool":
            return (False, True)
        case "float32" | "float64":
            return _FLOAT_VALUES
        case "uint8":
            return _UNSIGNED_VALUES
        case _:
            smallest = int(np.iinfo(dtype).min)
            return (*_SIGNED_VALUES, smallest) if rng.random() < 0.4 else _SIGNED_VALUES
