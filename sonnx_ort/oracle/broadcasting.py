"""The profile's Broadcast on arrays of any type: the repeated tensors, or the rule that is broken.

Source: SONNX Broadcast, "Informal specification": condition 1 (ranks), condition 2 (sizes) and the
relations between multi-indexes of step 1 and step 2, which are followed index by index; indexes
start at 0 here and at 1 there.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.violation import Violation

Array = npt.NDArray[Any]
Sizes = tuple[int, ...]


def broadcast(*tensors: Array) -> tuple[Array, ...] | Violation:
    """Give tensors one shape, each by repeating its own elements.

    Args:
        *tensors: X0 to XL, at least one; each of any shape and dtype.

    Returns:
        Z0 to ZL, bit for bit the elements of X0 to XL, or the rule that is broken.
    """
    rank = max(tensor.ndim for tensor in tensors)
    padded = [_prepended(tensor.shape, rank) for tensor in tensors]
    common = tuple(max(sizes[k] for sizes in padded) for k in range(rank))
    if not all(_fits(sizes, common) for sizes in padded):
        return Violation("Broadcast.E1")
    return tuple(
        _repeated(tensor, sizes, common) for tensor, sizes in zip(tensors, padded, strict=True)
    )


def _prepended(sizes: Sizes, rank: int) -> Sizes:
    """Step 1: sizes of 1 at the lower axes until there are as many as the rank."""
    return (1,) * (rank - len(sizes)) + sizes


def _fits(sizes: Sizes, common: Sizes) -> bool:
    return all(size in (largest, 1) for size, largest in zip(sizes, common, strict=True))


def _repeated(tensor: Array, sizes: Sizes, common: Sizes) -> Array:
    """Step 2: each element of Zm is the one of Ym, and so of Xm, that its index leads to."""
    bits = np.dtype(f"u{tensor.dtype.itemsize}")
    elements, result = tensor.view(bits), np.empty(common, bits)
    prepended = len(common) - tensor.ndim
    for index in np.ndindex(common):
        leading_to = tuple(map(_index, index, sizes, common))
        result[index] = elements[leading_to[prepended:]]
    return result.view(tensor.dtype)


def _index(current: int, size: int, common_size: int) -> int:
    """The document's f: the current index where the size is the common one, else the first."""
    return current if size == common_size else 0
