"""Random nodes that move elements, or compute with shapes."""

import numpy as np

from support.soundness.random_nodes.fitting import shape_like
from support.soundness.scope import Scope


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


def constant_of_shape(scope: Scope, name: str) -> None:
    """Add a ConstantOfShape."""
    scope.add("ConstantOfShape", [name])


def squeeze(scope: Scope, name: str) -> None:
    """Add a Squeeze of some axes of size 1, or of all."""
    axes = [axis for axis, size in enumerate(scope.values[name].shape) if size == 1]
    if scope.chance(0.4):
        scope.add("Squeeze", [name])
    elif axes:
        chosen = scope.rng.sample(axes, scope.rng.randint(1, len(axes)))
        rank = scope.values[name].ndim
        signed = [axis - rank if scope.chance(0.4) else axis for axis in chosen]
        scope.add("Squeeze", [name, scope.constant(np.array(signed, np.int64))])


def unsqueeze(scope: Scope, name: str) -> None:
    """Add an Unsqueeze."""
    axis = scope.rng.randint(-scope.values[name].ndim - 1, scope.values[name].ndim)
    scope.add("Unsqueeze", [name, scope.constant(np.array([axis]))])


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
    axis = scope.rng.randint(-first.ndim, first.ndim - 1)
    others = [scope.rng.choice(like) for _ in range(scope.rng.randint(1, 2))]
    scope.add("Concat", [name, *others], axis=axis)


def slice_(scope: Scope, name: str) -> None:
    """Add a Slice."""
    start, end = scope.rng.choice([0, 1, -1, -2]), scope.rng.choice([1, 2, -1, 2**31, 3])
    axis = scope.rng.randint(-scope.values[name].ndim, scope.values[name].ndim - 1)
    inputs = [name, *(scope.constant(np.array([number])) for number in (start, end, axis))]
    if scope.chance(0.3):
        # onnx.reference clamps a start before the first element wrongly where the step is negative.
        step = scope.rng.choice([1, 2, -1] if start == -1 else [1, 2])
        inputs.append(scope.constant(np.array([step])))
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


def nonzero(scope: Scope, name: str) -> None:
    """Add a NonZero."""
    scope.add("NonZero", [name])
