"""Makes inputs and attributes of one node at random: what all kinds of operators share."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import defs

from support.soundness.arrays import Array

Inputs = Sequence[Array | None]
Attributes = dict[str, Any]
Made = tuple[Inputs, Attributes, int]
"""Inputs of a node, None for one that is left out; its attributes; the number of its outputs."""

_TYPES = ("float32", "int64", "int32", "bool", "uint8", "float64", "uint64")
_ONNX_NAMES = {"float32": "float", "float64": "double"}


class Maker:
    """Makes what a node of an operator and a version takes."""

    def __init__(self, rng: random.Random, operator: str, version: int) -> None:
        self.rng = rng
        self.operator = operator
        self.version = version

    def maybe(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def shape(self, *, least: int = 0, most: int = 4) -> list[int]:
        """A shape; every third has no size of 0, and no more than one of 1."""
        rank = self.rng.randint(least, most)
        sizes = self.rng.choice([[2, 3, 4], [0, 1, 2, 3], [1, 1, 2, 3]])
        return [self.rng.choice(sizes) for _ in range(rank)]

    def expandable(self, common: Sequence[int]) -> list[int]:
        sizes = [1 if self.maybe(0.25) else size for size in common]
        return sizes[self.rng.randint(0, len(sizes)) :] if self.maybe(0.25) else sizes

    def array(self, shape: Sequence[int], dtype: str | None = None) -> Array:
        dtype = dtype or self.dtype()
        count = math.prod(shape)
        low = 0 if np.dtype(dtype).kind in "ub" else -2
        values = [self.rng.randint(low, 3) for _ in range(min(count, 50))] or [1]
        return np.resize(np.array(values), shape).astype(dtype)

    def dtype(self, index: int = 0) -> str:
        """One of the types that the operator takes there; float32 most of the time."""
        schema = defs.get_schema(self.operator, self.version)
        kind = schema.inputs[min(index, len(schema.inputs) - 1)].type_str
        types = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
        allowed = types.get(kind, [kind])
        names = [t for t in _TYPES if f"tensor({_ONNX_NAMES.get(t, t)})" in allowed]
        return names[0] if self.maybe(0.7) or not names else self.rng.choice(names)

    def axis(self, rank: int) -> int:
        return self.rng.randint(-rank, rank - 1) if rank else self.rng.choice([0, -1])

    def ints(self, values: Sequence[int]) -> Array:
        return np.array(values, np.int64)
