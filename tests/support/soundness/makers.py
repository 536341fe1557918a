"""What random nodes are made with, and makers of nodes that lay out elements."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import defs, numpy_helper

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


def scattered(make: Maker) -> Made:
    data = make.array(make.shape(least=1), "float32")
    if make.operator == "ScatterND":
        count = make.rng.randint(0, 2)
        indices = np.zeros([count, 1], np.int64)
        return [data, indices, make.array([count, *data.shape[1:]], "float32")], {}, 1
    axis = make.axis(data.ndim)
    part = [make.rng.randint(0, size) for size in data.shape]
    attributes = {"axis": axis, **({"reduction": "add"} if make.maybe(0.3) else {})}
    return [data, np.zeros(part, np.int64), make.array(part, "float32")], attributes, 1


def transposed(make: Maker) -> Made:
    shape = make.shape()
    order = make.rng.sample(range(len(shape)), len(shape))
    return [make.array(shape)], {"perm": order} if make.maybe(0.7) else {}, 1


def concatenated(make: Maker) -> Made:
    shape = make.shape(least=1)
    axis = make.axis(len(shape))
    inputs = []
    for _ in range(make.rng.randint(1, 3)):
        sizes = list(shape)
        sizes[axis] = make.rng.randint(0, 3)
        if make.maybe(0.1):
            sizes[make.axis(len(shape))] = 0
        inputs.append(make.array(sizes, "float32"))
    return inputs, {"axis": axis}, 1


def flattened(make: Maker) -> Made:
    shape = make.shape()
    axis = make.rng.randint(-len(shape) if make.version >= 11 else 0, len(shape))
    return [make.array(shape)], {"axis": axis} if make.maybe(0.8) else {}, 1


def gathered(make: Maker) -> Made:
    data = make.array(make.shape(least=1))
    axis = make.axis(data.ndim)
    indices = np.zeros(make.shape(most=2), make.rng.choice(["int32", "int64"]))
    return [data, indices], {"axis": axis} if make.maybe(0.8) else {}, 1


def gathered_elements(make: Maker) -> Made:
    data = make.array(make.shape(least=1))
    part = [make.rng.randint(0, size) for size in data.shape]
    return [data, np.zeros(part, np.int64)], {"axis": make.axis(data.ndim)}, 1


def gathered_tuples(make: Maker) -> Made:
    data = make.array(make.shape(least=1))
    batch = make.rng.randint(0, data.ndim - 1) if make.version >= 12 and make.maybe(0.4) else 0
    front = [*data.shape[:batch], *make.shape(most=1)]
    depth = make.rng.randint(1, data.ndim - batch)
    indices = np.zeros([*front, depth], np.int64)
    return [data, indices], {"batch_dims": batch} if batch else {}, 1


def squeezed(make: Maker) -> Made:
    shape = make.shape()
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    axes = [a - len(shape) if make.maybe(0.3) and make.version >= 11 else a for a in ones]
    if make.maybe(0.1) and shape:
        axes = [make.axis(len(shape))]
    return _with_axes(make, make.array(shape), axes, needed=False)


def unsqueezed(make: Maker) -> Made:
    shape = make.shape(most=3)
    rank = len(shape) + make.rng.randint(1, 2)
    axes = make.rng.sample(range(rank), rank - len(shape))
    axes = [a - rank if make.maybe(0.3) and make.version >= 11 else a for a in axes]
    return _with_axes(make, make.array(shape), axes, needed=True)


def _with_axes(make: Maker, x: Array, axes: Sequence[int], *, needed: bool) -> Made:
    if make.version < 13:
        return [x], {"axes": list(axes)} if needed or axes else {}, 1
    return [x, make.ints(axes) if needed or make.maybe(0.8) else None], {}, 1


def sliced(make: Maker) -> Made:
    shape = make.shape(least=1)
    axes = make.rng.sample(range(len(shape)), make.rng.randint(1, len(shape)))
    far = [-(1 << 63) + 1, -100, -3, -2, -1, 0, 1, 2, 3, 100, (1 << 31) - 1, (1 << 63) - 1]
    starts = [make.rng.choice([-3, -1, 0, 0, 0, 1, 2, 100]) for _ in axes]
    ends = [make.rng.choice(far) for _ in axes]
    if make.version < 10:
        attributes = {"starts": starts, "ends": ends}
        return [make.array(shape)], attributes | {"axes": axes}, 1
    axes = [axis - len(shape) if make.maybe(0.3) else axis for axis in axes]
    steps = [make.rng.choice([1, 1, 1, 2, -1, -2]) for _ in axes]
    rest = [make.ints(axes), make.ints(steps)] if make.maybe(0.8) else []
    if not rest:
        starts, ends = starts[: len(shape)], ends[: len(shape)]
    return [make.array(shape), make.ints(starts), make.ints(ends), *rest], {}, 1


def split(make: Maker) -> Made:
    shape = make.shape(least=1)
    axis = make.axis(len(shape))
    count = make.rng.randint(1, 3)
    attributes: Attributes = {"axis": axis}
    parts = [make.rng.randint(0, 2) for _ in range(count)]
    shape[axis] = sum(parts) if make.maybe(0.6) else count * make.rng.randint(0, 2)
    if make.maybe() and sum(parts) == shape[axis]:
        if make.version < 13:
            return [make.array(shape)], attributes | {"split": parts}, count
        return [make.array(shape), make.ints(parts)], attributes, count
    if make.version >= 18:
        shape[axis] += make.rng.randint(0, 1)
        attributes["num_outputs"] = count
    return [make.array(shape)], attributes, count


def padded(make: Maker) -> Made:
    shape = make.shape(least=1)
    chosen = make.version >= 18 and make.maybe(0.4)
    axes = make.rng.sample(range(len(shape)), make.rng.randint(1, len(shape)))
    count = len(axes) if chosen else len(shape)
    # Of a Pad that may cut little is known.
    sizes = (0, 0, 1, 2) if make.maybe(0.7) else (0, 0, 1, 2, -1)
    pads = [make.rng.choice(sizes) for _ in range(2 * count)]
    mode = {"mode": make.rng.choice(["constant", "edge", "reflect"])} if make.maybe() else {}
    if make.version < 11:
        return [make.array(shape, "float32")], {"pads": pads, **mode}, 1
    value = np.array(0, np.float32) if make.maybe() else None
    rest: list[Array | None] = [value, make.ints(axes)] if chosen else [value]
    return [make.array(shape, "float32"), make.ints(pads), *rest], dict(mode), 1


def rearranged(make: Maker) -> Made:
    block = make.rng.choice([1, 2, 3])
    batch, depth, height, width = make.shape(least=4)
    if make.operator == "DepthToSpace":
        shape = [batch, depth * block * block, height, width]
    else:
        shape = [batch, depth, height * block, width * block]
    mode = {"mode": make.rng.choice(["DCR", "CRD"])} if make.maybe() else {}
    return [make.array(shape, "float32")], {"blocksize": block, **mode}, 1


def best(make: Maker) -> Made:
    shape = make.shape(least=1)
    axis = make.axis(len(shape))
    count = make.rng.randint(0, shape[axis])
    attributes = {"axis": axis, "largest": int(make.maybe()), "sorted": 1}
    if make.version < 10:
        return [make.array(shape, "float32")], attributes | {"k": max(count, 1)}, 2
    return [make.array(shape, "float32"), make.ints([count])], attributes, 2


def constant(make: Maker) -> Made:
    kind = make.rng.choice(["value", "value_int", "value_ints", "value_float", "value_floats"])
    if kind == "value" or make.version < 12:
        tensor = numpy_helper.from_array(make.array(make.shape(), "float32"))
        return [], {"value": tensor}, 1
    one: Any = 1 if "int" in kind else 0.5
    listed = [one] * make.rng.randint(1, 3)
    return [], {kind: listed if kind.endswith("s") else one}, 1


def filled(make: Maker) -> Made:
    return [make.ints(make.shape())], {}, 1


def expanded(make: Maker) -> Made:
    common = make.shape()
    return [make.array(make.expandable(common)), make.ints(make.expandable(common))], {}, 1


def tiled(make: Maker) -> Made:
    shape = make.shape(least=1)
    return [make.array(shape), make.ints([make.rng.randint(0, 3) for _ in shape])], {}, 1


def reshaped(make: Maker) -> Made:
    shape = make.shape()
    target = make.rng.sample(shape, len(shape))
    if make.maybe(0.3):
        target = [math.prod(shape)]
    if target and make.maybe(0.3):
        target[make.rng.randrange(len(target))] = -1
    if target and make.maybe(0.3):
        target[make.rng.randrange(len(target))] = 0
    attributes = {"allowzero": make.rng.choice([0, 1])} if make.maybe(0.3) else {}
    return [make.array(shape), make.ints(target)], attributes, 1


def ranged(make: Maker) -> Made:
    dtype = make.dtype()
    step = make.rng.choice([1, 2, -1])
    return [np.array(v, dtype) for v in (make.rng.randint(-2, 3), 4 * step, step)], {}, 1


def one_hot(make: Maker) -> Made:
    indices = make.array(make.shape(most=3), "int64")
    axis = make.rng.randint(-indices.ndim - 1, indices.ndim)
    values = np.array([0, 1], np.float32)
    depth = np.array(make.rng.choice([1, 3]), np.int64)
    return [indices, depth.reshape(make.rng.choice([[], [1]])), values], {"axis": axis}, 1


def shape_of(make: Maker) -> Made:
    attributes: Attributes = {}
    if make.version >= 15 and make.maybe():
        attributes["start"] = make.rng.randint(-3, 3)
    if make.version >= 15 and make.maybe():
        attributes["end"] = make.rng.randint(-3, 3)
    return [make.array(make.shape())], attributes, 1


def compressed(make: Maker) -> Made:
    shape = make.shape(least=1)
    axis = make.axis(len(shape))
    attributes = {} if make.maybe(0.3) else {"axis": axis}
    count = shape[axis] if attributes else math.prod(shape)
    chosen = [make.maybe(0.6) for _ in range(make.rng.randint(0, count))]
    return [make.array(shape), np.array(chosen, bool)], attributes, 1


def with_repeats(make: Maker) -> Made:
    shape = make.shape(least=1)
    attributes = {"axis": make.axis(len(shape))} if make.maybe() else {}
    return [make.array(shape)], {"sorted": int(make.maybe()), **attributes}, 4


def reversed_sequences(make: Maker) -> Made:
    shape = make.shape(least=2)
    attributes: Attributes = {}
    for name, axis in (("batch_axis", 1), ("time_axis", 0)):
        if make.maybe():
            attributes[name] = make.rng.choice([axis, 1 - axis])
    batch = shape[attributes.get("batch_axis", 1)]
    steps = shape[attributes.get("time_axis", 0)]
    lengths = [make.rng.randint(0, steps) for _ in range(batch)]
    return [make.array(shape), make.ints(lengths)], attributes, 1


LAYOUT: Mapping[str, Callable[[Maker], Made]] = {
    **dict.fromkeys(("ScatterElements", "ScatterND"), scattered),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), rearranged),
    "Compress": compressed,
    "Concat": concatenated,
    "Flatten": flattened,
    "Gather": gathered,
    "GatherElements": gathered_elements,
    "GatherND": gathered_tuples,
    "Pad": padded,
    "Slice": sliced,
    "Split": split,
    "Squeeze": squeezed,
    "TopK": best,
    "Transpose": transposed,
    "Unsqueeze": unsqueezed,
    "ReverseSequence": reversed_sequences,
    "Constant": constant,
    "ConstantOfShape": filled,
    "Expand": expanded,
    "OneHot": one_hot,
    "Range": ranged,
    "Reshape": reshaped,
    "Shape": shape_of,
    "Tile": tiled,
    "Unique": with_repeats,
}
"""How nodes of these operators are made."""
