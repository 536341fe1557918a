"""The arguments of each type: all of float and float16, and many of double."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES: Mapping[str, type[np.floating[Any]]] = {
    "float": np.float32,
    "float16": np.float16,
    "double": np.float64,
}
"""The types by their names in ONNX; no function of one operand has a kernel for bfloat16."""

_INFINITY = {"float": 0x7F80_0000, "float16": 0x7C00}
"""The bits of infinity."""

_BREAKPOINTS = (
    *(0.5, 1.0, math.sqrt(2), math.pi / 2, math.e, 3.0, math.pi, 5.0, 6.0, 8.0, 9.0, 16.0, 18.0),
    *(19.0615, 20.0, 22.0, 36.7368, 37.0, 88.3763, 88.7228, 103.972, 104.0, 150.0, 512.0),
    *(708.396, 709.7827, 744.4401, 745.1332, 2.0**10, 2.0**20, 2.0**27, 2.0**52, 2.0**53),
)
"""Where a kernel may go over to another formula; their negatives and reciprocals are tried too."""

_NEIGHBORS = 24
_PER_EXPONENT = 24
_WITHIN = {40.0: 40_000, 4.0: 40_000, 1.0: 20_000, 745.0: 20_000}
"""How many random numbers are tried below a magnitude."""


def count_of(element_type: str) -> int:
    """How many arguments a 16-bit or 32-bit type has; NaNs of all bits are among them."""
    return int(2 ** (8 * np.dtype(DTYPES[element_type]).itemsize))


def rising(element_type: str, start: int, stop: int) -> Array:
    """The arguments from one place to another, in rising order from -infinity; NaNs come last."""
    infinity = _INFINITY[element_type]
    bits = np.dtype(f"u{np.dtype(DTYPES[element_type]).itemsize}")
    sign, numbers = count_of(element_type) // 2, infinity + 1
    if stop <= numbers:
        first = sign + infinity - start
        found = np.arange(first, first + start - stop, -1, dtype=np.int64)
        return found.astype(bits).view(DTYPES[element_type])
    if numbers <= start and stop <= 2 * numbers:
        found = np.arange(start - numbers, stop - numbers, dtype=bits)
        return found.view(DTYPES[element_type])
    places = np.arange(start, stop, dtype=np.int64)
    patterns = np.where(places < numbers, sign + infinity - places, places - numbers)
    if stop > 2 * numbers:
        nans = sign - numbers
        after = places - 2 * numbers
        found = np.where(after < nans, numbers + after, sign + numbers + after - nans)
        patterns = np.where(after < 0, patterns, found)
    return patterns.astype(bits).view(DTYPES[element_type])


def doubles(seed: int = 0) -> Array:
    """Some 300,000 doubles in rising order, with infinities and NaN.

    They are numbers of all exponents with random and extreme mantissas, random numbers where
    functions are neither nearly linear nor nearly constant, and neighbors of places where a kernel
    may go over to another formula.
    """
    rng = np.random.default_rng(seed)
    exponents = np.arange(2047, dtype=np.uint64) << np.uint64(52)
    mantissas = rng.integers(0, 2**52, (_PER_EXPONENT, 1), np.uint64)
    mantissas = np.concatenate([np.array([[0], [1], [2**52 - 1]], np.uint64), mantissas])
    regular = (exponents + mantissas).ravel().view(np.float64)
    within = [rng.uniform(0, limit, count) for limit, count in _WITHIN.items()]
    points = np.array(_BREAKPOINTS)
    points = np.concatenate([points, 1 / points])
    steps = np.arange(-_NEIGHBORS, _NEIGHBORS + 1, dtype=np.int64)[:, np.newaxis]
    neighbors = (points.view(np.int64) + steps).ravel().view(np.float64)
    positive = np.concatenate([regular, *within, neighbors, [np.inf]])
    return np.concatenate([np.sort(np.concatenate([-positive, positive])), [np.nan]])


def random_floats(element_type: str, count: int, seed: int = 0) -> Array:
    """Random arguments of any bits, and as many below some magnitudes."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[element_type])
    any_bits = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
    within = [rng.uniform(-limit, limit, count // 4) for limit in (1, 4, 16, 100)]
    return np.concatenate([any_bits, np.concatenate(within).astype(dtype)])
