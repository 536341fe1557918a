"""Contracts around the inputs of a run: sizes of their names, and ranges of their numbers."""

import random
from typing import Any

import numpy as np

from sonnx_ort import Contract, SizeContract, ValueContract
from sonnx_ort.facts.sizes import NAME


def around(rng: random.Random, proto: Any, feeds: dict[str, Any]) -> Contract:
    """A contract that one run keeps."""
    declared = {value.name: value.type.tensor_type.shape.dim for value in proto.graph.input}
    values = [
        _entry(rng, name, array, [axis.dim_value for axis in declared.get(name, ())])
        for name, array in feeds.items()
        if array.dtype.kind in "iuf" and array.size and np.isfinite(array).all()
    ]
    sizes: dict[str, set[int | None]] = {}
    for declared in proto.graph.input:
        for index, axis in enumerate(declared.type.tensor_type.shape.dim):
            if NAME.fullmatch(axis.dim_param):
                size = feeds[declared.name].shape[index] if declared.name in feeds else None
                sizes.setdefault(axis.dim_param, set()).add(size)
    return Contract(
        tuple(value for value in values if rng.random() < _SHARE),
        sizes=tuple(
            _size(rng, name, *seen)
            for name, seen in sizes.items()
            if len(seen) == 1 and None not in seen and rng.random() < _SHARE
        ),
    )


_SHARE = 0.8


def _entry(
    rng: random.Random, name: str, array: np.ndarray[Any, Any], declared: list[int]
) -> ValueContract:
    """The range of an array, or that of each index of an axis with a declared size."""
    whole = array.dtype.kind == "f" and bool((array == np.floor(array)).all())
    axes = [axis for axis, size in enumerate(declared) if size > 0]
    if not axes or rng.random() < _SHARE / 2:
        return ValueContract(name, (array.min().item(), array.max().item()), whole=whole)
    axis = rng.choice(axes)
    parts = [array.take(index, axis) for index in range(array.shape[axis])]
    ranges = tuple((part.min().item(), part.max().item()) for part in parts)
    axis -= len(declared) * rng.choice([0, 1])
    return ValueContract(name, ranges, axis=axis, whole=whole)


def _size(rng: random.Random, name: str, size: int) -> SizeContract:
    factor = rng.choice([1, 1, 2, 3]) if size else 1
    factor = factor if size % factor == 0 else 1
    least = max(size - factor * rng.choice([0, 0, 1]), 0)
    return SizeContract(name, least, size + factor * rng.choice([0, 0, 1, 2]), factor)


def keeps(contract: Contract, proto: Any, feeds: dict[str, Any]) -> bool:
    for entry in contract.values:
        array = feeds[entry.value]
        parts = np.moveaxis(array, entry.axis, 0) if entry.axis is not None else [array]
        for part, (lower, upper) in zip(parts, entry.limits(array.dtype), strict=True):
            if not ((part >= lower) & (part <= upper)).all():
                return False
        if entry.whole and not (array == np.floor(array)).all():
            return False
    sizes = {entry.name: entry.sizes for entry in contract.sizes}
    seen: dict[str, int] = {}
    for declared in proto.graph.input:
        axes = declared.type.tensor_type.shape.dim
        for axis, size in zip(axes, feeds[declared.name].shape, strict=False):
            name = axis.dim_param
            if name in sizes and (size not in sizes[name] or seen.setdefault(name, size) != size):
                return False
    return True
