"""Computes a block of floats in ONNX Runtime, and counts by how much each result misses."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from model_builders.graphs import parse

Array = npt.NDArray[Any]

BLOCK = 1 << 22
"""How many floats a block has."""

_ONE, _INFINITY, _NEGATIVE = 0x3F800000, 0x7F800000, 0x80000000
_REFERENCES: Mapping[str, np.ufunc] = MappingProxyType({"Log": np.log, "Acos": np.arccos})
_RANGES: Mapping[str, tuple[tuple[int, int], ...]] = MappingProxyType(
    {"Log": ((1, _INFINITY),), "Acos": ((0, _ONE + 1), (_NEGATIVE, _NEGATIVE + _ONE + 1))}
)
"""The bit patterns of the floats that have a finite result."""

OPERATORS = tuple(_RANGES)
"""The operators that are measured."""


@dataclass(frozen=True)
class Sweep:
    """All floats of one operator.

    Attributes:
        operator: Its name.
    """

    operator: str

    @property
    def floats(self) -> int:
        """How many floats there are."""
        return sum(stop - start for start, stop in _RANGES[self.operator])

    def block(self, start: int) -> Counter[int]:
        """Compute a block.

        Returns:
            How many results miss by so many units, by these.
        """
        with np.errstate(all="ignore"):
            x = self._patterns(start).view(np.float32)
            nearest = _REFERENCES[self.operator](x.astype(np.float64)).astype(np.float32)
        found = self._session.run(None, {"X": x})[0]
        return missed(found, nearest)

    def _patterns(self, start: int) -> npt.NDArray[np.uint32]:
        for first, stop in _RANGES[self.operator]:
            if start < stop - first:
                last = min(first + start + BLOCK, stop)
                return np.arange(first + start, last, dtype=np.uint32)
            start -= stop - first
        raise ValueError(f"{self.operator} has no such block")

    @cached_property
    def _session(self) -> ort.InferenceSession:
        model = parse(f"(float[n] X) => (float[n] Y) {{ Y = {self.operator}(X) }}")
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return ort.InferenceSession(model.SerializeToString(), options)


def missed(found: Array, nearest: Array) -> Counter[int]:
    """Count by how many units results miss.

    Raises:
        ValueError: One is NaN.
    """
    if np.isnan(found).any() or np.isnan(nearest).any():
        raise ValueError("a result is NaN")
    units, counts = np.unique(np.abs(_places(found) - _places(nearest)), return_counts=True)
    return Counter(dict(zip(units.tolist(), counts.tolist(), strict=True)))


def _places(array: Array) -> npt.NDArray[np.int64]:
    """Where floats stand on the line; both zeros are at one place."""
    bits = array.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits + (1 << 31)), bits)
