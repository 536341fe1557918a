"""Random nodes that lay out or select elements, and all kinds of nodes without subgraphs."""

from collections.abc import Callable, Sequence

import numpy as np

from support.soundness.arrays import FLOATS, Array, random_array
from support.soundness.random_elementwise import (
    Kind,
    anything,
    arithmetic,
    bounded,
    broadcast,
    cast,
    conditions,
    divide_or_subtract,
    elementwise,
    no_scalar,
    numeric,
    of,
    unary,
    where,
    wide,
)
from support.soundness.scope import Scope


def shape_like(array: Array) -> bool:
    """Whether it can stand for a shape."""
    return array.dtype == np.int64 and array.ndim == 1 and 0 < array.size <= 4


def matrix(array: Array) -> bool:
    """Whether it is a matrix of floats with columns."""
    return array.dtype == np.float32 and array.ndim == 2 and array.shape[1] > 0


def node(operator: str) -> Callable[[Scope, str], object]:
    """Gives what adds a node of an operator of one operand, without attributes."""
    return lambda scope, name: scope.add(operator, [name])


def shape_or_size(scope: Scope, name: str) -> None:
    """Add a Shape or a Size."""
    attributes = {}
    if scope.draft.opset >= 15 and scope.chance(0.3):
        attributes = {"start": scope.rng.choice([0, 1, -1]), "end": scope.rng.choice([1, 2, -1])}
    if scope.chance(0.8):
        scope.add("Shape", [name], **attributes)
    else:
        scope.add("Size", [name])


def computed_sizes(scope: Scope) -> None:
    """Add what is computed of the sizes of two tensors, and what reads its shape."""
    way = scope.rng.choice(["vector", "vector", "part", "scalar", "size"])
    operands = [_sizes(scope, way) for _ in range(2)]
    if not all(operands):
        return
    operator = scope.rng.choice(["Div", "Div", "Sub", "Sub", "Add", "Mul", "Max"])
    made = scope.add(operator, [name for name in operands if name], hopeless=0.1)
    if made is None or made[0] not in scope.values:
        return
    copy = scope.add("Identity", made)
    shape = copy and scope.add("Shape", copy)
    if copy is None or shape is None:
        return
    match scope.rng.choice(["shape", "size", "filled", "spread"]):
        case "size":
            scope.add("Size", copy)
        case "filled":
            scope.add("ConstantOfShape", shape)
        case "spread":
            scope.add("Expand", [scope.constant(np.array(3)), *shape])


def _sizes(scope: Scope, way: str) -> str | None:
    """Sizes of a tensor: all of them, one in a vector, one as a scalar, or their product."""
    rank = 1 if scope.chance(0.7) else 2
    name = scope.pick(lambda array: array.ndim == rank)
    if name is None:
        return None
    sizes = scope.add("Size" if way == "size" else "Shape", [name])
    if sizes is None or way not in ("part", "scalar"):
        return sizes and sizes[0]
    index = scope.constant(np.array([0] if way == "part" else 0))
    part = scope.add("Gather", [sizes[0], index])
    return part and part[0]


def gather(scope: Scope, name: str) -> None:
    """Add a Gather of one or more indexes."""
    indexes = scope.rng.choice([0, -1, [0], [-1], [0, 0], [[0], [-1]]])
    scope.add("Gather", [name, scope.constant(np.array(indexes))])


def reshape(scope: Scope, name: str) -> None:
    """Add a Reshape to a constant or computed shape."""
    target = scope.pick(shape_like) if scope.chance(0.4) else None
    if target is None:
        shape = list(scope.values[name].shape)
        scope.rng.shuffle(shape)
        if shape and scope.chance(0.6):
            shape[scope.rng.randrange(len(shape))] = -1
        if scope.chance(0.4):
            shape = [-1] if scope.chance(0.5) else [0, -1]
        target = scope.constant(np.array(shape, np.int64))
    literal = {"allowzero": 1} if scope.draft.opset >= 14 and scope.chance(0.2) else {}
    scope.add("Reshape", [name, target], **literal)


def expand(scope: Scope, name: str) -> None:
    """Add an Expand to a constant or computed shape."""
    target = scope.pick(shape_like) if scope.chance(0.6) else None
    if target is None or (target.startswith("c") and not scope.values[target].all()):
        # ONNX Runtime's optimizer drops an Expand to the constant shape [0].
        shape = [scope.rng.choice([1, size or 1, 2]) for size in scope.values[name].shape]
        target = scope.constant(np.array([2, *shape] if scope.chance(0.3) else shape, np.int64))
    scope.add("Expand", [name, target])


def squeeze(scope: Scope, name: str) -> None:
    """Add a Squeeze of some axes of size 1, or of all."""
    axes = [axis for axis, size in enumerate(scope.values[name].shape) if size == 1]
    if scope.chance(0.15):
        scope.add("Squeeze", [name])
    elif axes:
        chosen = scope.rng.sample(axes, scope.rng.randint(1, len(axes)))
        rank = scope.values[name].ndim
        signed = [axis - rank if scope.chance(0.4) else axis for axis in chosen]
        if scope.chance(0.1):
            signed.append(chosen[0])
        scope.add("Squeeze", [name, scope.constant(np.array(signed, np.int64))])


def unsqueeze(scope: Scope, name: str) -> None:
    """Add an Unsqueeze."""
    axis = scope.rng.randint(-scope.values[name].ndim - 1, scope.values[name].ndim)
    scope.add("Unsqueeze", [name, scope.constant(np.array(axis if scope.chance(0.1) else [axis]))])


def transpose(scope: Scope, name: str) -> None:
    """Add a Transpose."""
    axes = list(range(scope.values[name].ndim))
    scope.rng.shuffle(axes)
    scope.add("Transpose", [name], **({"perm": axes} if scope.chance(0.6) else {}))


def flatten(scope: Scope, name: str) -> None:
    """Add a Flatten."""
    scope.add("Flatten", [name], axis=scope.rng.randint(0, scope.values[name].ndim))


def reduce_sum(scope: Scope, name: str) -> None:
    """Add a ReduceSum over some axes, or over all; not of integers, whose sums may wrap."""
    rank = scope.values[name].ndim
    inputs, keepdims = [name], scope.rng.randint(0, 1)
    if rank and scope.chance(0.7):
        axis = scope.rng.randint(-rank, rank - 1)
        inputs.append(scope.constant(np.array([axis])))
    scope.add("ReduceSum", inputs, keepdims=keepdims)


def concat(scope: Scope, name: str) -> None:
    """Add a Concat."""
    first = scope.values[name]
    like = [n for n, a in scope.values.items() if (a.dtype, a.ndim) == (first.dtype, first.ndim)]
    axis = scope.rng.randint(0, first.ndim - 1) - (first.ndim if scope.chance(0.15) else 0)
    others = [scope.rng.choice(like) for _ in range(scope.rng.randint(1, 2))]
    scope.add("Concat", [name, *others], axis=axis)


def slice_(scope: Scope, name: str) -> None:
    """Add a Slice."""
    start, end = scope.rng.choice([0, 1, -1, -2, -9]), scope.rng.choice([1, 2, -1, 2**31, 3, -9])
    axis = scope.rng.randint(-scope.values[name].ndim, scope.values[name].ndim - 1)
    inputs = [name, *(scope.constant(np.array([number])) for number in (start, end, axis))]
    if scope.chance(0.3):
        inputs.append(scope.constant(np.array([scope.rng.choice([1, 2, -1, -2])])))
    scope.add("Slice", inputs)


def matmul(scope: Scope, name: str) -> None:
    """Add a MatMul."""
    other = scope.pick(lambda array: array.dtype == np.float32 and array.ndim > 0)
    scope.add("MatMul", [name, other or name])


def split(scope: Scope, name: str) -> None:
    """Add a Split in two."""
    size = scope.values[name].shape[0]
    sizes = scope.constant(np.array([1, size - 1]))
    scope.add("Split", [name, sizes], outputs=2, axis=0)


def tile(scope: Scope, name: str) -> None:
    """Add a Tile."""
    repeats = [scope.rng.choice([0, 1, 1, 2]) for _ in scope.values[name].shape]
    scope.add("Tile", [name, scope.constant(np.array(repeats, np.int64))])


def clip(scope: Scope, name: str) -> None:
    """Add a Clip, whose bounds are scalars for the most part."""
    if scope.draft.opset < 12 and scope.values[name].dtype.name not in FLOATS:
        return
    bounds = [_bound(scope, name), _bound(scope, name)]
    if scope.chance(0.3):
        bounds[scope.rng.randint(0, 1)] = ""
    scope.add("Clip", [name, *bounds], hopeless=0.3)


def _bound(scope: Scope, name: str) -> str:
    kind = scope.values[name].dtype
    shape = (1,) if scope.chance(0.15) else ()
    scalars = [n for n, a in scope.values.items() if a.dtype == kind and a.shape == shape]
    if scalars and scope.chance(0.4):
        return scope.rng.choice(scalars)
    return scope.constant(random_array(scope.rng, kind.name, shape))


def arg_max(scope: Scope, name: str) -> None:
    """Add an ArgMax, along an axis that is counted from the front for the most part."""
    rank = scope.values[name].ndim
    axis = scope.rng.randint(0, rank - 1) - (rank if scope.chance(0.15) else 0)
    scope.add("ArgMax", [name], hopeless=0.5, axis=axis, keepdims=scope.rng.randint(0, 1))


def batch_normalization(scope: Scope, name: str) -> None:
    """Add a BatchNormalization, whose result nobody reads, for its last bits differ."""
    size = scope.values[name].shape[1]
    fixed = [scope.constant(np.ones(size, np.float32)) for _ in range(3)]
    vectors = [n for n, a in scope.values.items() if a.dtype == np.float32 and a.shape == (size,)]
    if vectors and scope.chance(0.5):
        variance = scope.rng.choice(vectors)
    else:
        numbers = random_array(scope.rng, "float32", (size,))
        variance = scope.constant(numbers if scope.chance(0.3) else abs(numbers))
    said = {"epsilon": 0.0} if scope.chance(0.1) else {}
    outputs = scope.add("BatchNormalization", [name, *fixed, variance], **said)
    if outputs:
        scope.values.pop(outputs[0], None)


def slice_of_all_axes(scope: Scope, name: str) -> None:
    """Add a Slice that names every axis, whose places lie on the axes for the most part."""
    shape = scope.values[name].shape
    rows = [_cut(scope, size) for size in shape]
    if any(size == 0 for size in shape) and scope.chance(0.7):
        return
    starts, ends, steps = (np.array(column) for column in zip(*rows, strict=True))
    axes = np.array([axis - (len(shape) if scope.chance(0.3) else 0) for axis in range(len(shape))])
    kind = np.int32 if scope.chance(0.2) else np.int64
    inputs = [scope.constant(index.astype(kind)) for index in (starts, ends, axes, steps)]
    scope.add("Slice", [name, *inputs])


def _cut(scope: Scope, size: int) -> tuple[int, int, int]:
    """A start, an end and a step."""
    if scope.chance(0.04):
        return size, size, 1
    if scope.chance(0.04):
        return 0, size + 1, 1
    if scope.chance(0.04):
        return max(size - 1, 0), 0, 1
    start = scope.rng.randint(0, max(size - 1, 0))
    end = scope.rng.randint(start, size)
    if scope.chance(0.2):
        return size - 1, -size - 1, -1
    if scope.chance(0.04):
        return -size - 1, -size - 1, -1
    if end < size and scope.chance(0.3):
        end -= size
    return start - (size if scope.chance(0.3) else 0), end, scope.rng.choice([1, 1, 2])


def matrix_product(scope: Scope, name: str) -> None:
    """Add a MatMul of matrices."""
    columns = scope.values[name].shape[1]
    rows = scope.rng.randint(1, 3)
    scope.add("MatMul", [name, scope.constant(random_array(scope.rng, "float32", (columns, rows)))])


KINDS: Sequence[Kind] = (
    Kind(14, divide_or_subtract, numeric),
    Kind(12, elementwise, numeric),
    Kind(3, elementwise, conditions),
    Kind(2, arithmetic, wide),
    Kind(3, bounded, of("int64", "int32")),
    Kind(4, shape_or_size, anything),
    Kind(4, computed_sizes),
    Kind(3, gather, lambda array: array.ndim > 0 and array.shape[0] > 0),
    Kind(3, reshape, anything),
    Kind(3, expand, wide),
    Kind(3, concat, no_scalar),
    Kind(1, slice_, no_scalar),
    Kind(2, broadcast),
    Kind(2, unary, wide),
    Kind(2, cast, of("i", "u", "b")),
    Kind(2, cast, of(*FLOATS)),
    Kind(2, squeeze, no_scalar),
    Kind(2, unsqueeze, of(most=3)),
    Kind(2, transpose, of(least=2)),
    Kind(2, reduce_sum, of(*FLOATS)),
    Kind(1, where, of("float32", "int64")),
    Kind(1, node("ConstantOfShape"), shape_like),
    Kind(1, flatten, of(least=1, filled=True)),
    Kind(1, matmul, of("float32", least=1)),
    Kind(2, clip, wide),
    Kind(2, arg_max, of(*FLOATS, "int32", least=1)),
    Kind(2, batch_normalization, of("float32", least=2)),
    Kind(2, slice_of_all_axes, of(least=1, most=3)),
    Kind(1, matrix_product, matrix),
    Kind(1, split, lambda array: array.ndim > 0 and array.shape[0] > 1),
    Kind(1, tile, of(*FLOATS, "int64")),
    Kind(1, node("NonZero"), of("int64", "bool", least=1)),
)
"""The kinds of nodes without subgraphs."""
