"""Tensors as a person reads them."""

from typing import Any

import numpy as np
import numpy.typing as npt

_SHOWN = 8


def describe_tensor(name: str, tensor: npt.NDArray[Any]) -> str:
    """Give name, dtype, shape and the first elements, on one line.

    Args:
        name: The name of the value.
        tensor: Its elements.
    """
    elements = np.array2string(
        tensor.reshape(-1)[:_SHOWN], separator=", ", max_line_width=10_000, threshold=_SHOWN
    )
    more = f" and {tensor.size - _SHOWN} more" if tensor.size > _SHOWN else ""
    return f"{name}: {tensor.dtype} {tuple(tensor.shape)} {elements}{more}"
