"""Nodes of operators that arrange, choose or reduce elements along axes."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sonnx_ort.knowledge.shapes.catalog import SHAPE_RULES
from support.soundness.nodes.maker import Array, Attributes, Made, Maker


def reduced(make: Maker) -> Made:
    shape = make.shape()
    attributes: Attributes = {"keepdims": make.rng.choice([0, 1])} if make.maybe(0.7) else {}
    if make.operator.startswith("Arg"):
        attributes |= {"axis": make.axis(len(shape)), "select_last_index": int(make.maybe())}
        return [make.array(shape)], attributes, 1
    axes = [make.axis(len(shape)) for _ in range(make.rng.randint(0, min(2, len(shape))))]
    if make.maybe(0.3):
        axes = [abs(axis) % max(len(shape), 1) for axis in axes]
    if make.version < (13 if make.operator == "ReduceSum" else 18):
        return [make.array(shape)], attributes | ({"axes": axes} if axes else {}), 1
    if make.maybe():
        attributes["noop_with_empty_axes"] = make.rng.choice([0, 1])
    return [make.array(shape), None if make.maybe(0.2) else make.ints(axes)], attributes, 1


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
    pads = [make.rng.choice([0, 0, 1, 2, -1]) for _ in range(2 * count)]
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


MAKERS: Mapping[str, Callable[[Maker], Made]] = {
    **{name: reduced for name in SHAPE_RULES if name.startswith(("Reduce", "Arg"))},
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), rearranged),
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
}
