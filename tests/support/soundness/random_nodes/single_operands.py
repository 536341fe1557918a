"""Random nodes of operators whose rules speak of single operands: most keep them."""

import numpy as np

from support.soundness.arrays import FLOATS, Array, random_array
from support.soundness.scope import Scope


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
    if end < size and scope.chance(0.3):
        end -= size
    return start - (size if scope.chance(0.3) else 0), end, scope.rng.choice([1, 1, 2])


def matrix_product(scope: Scope, name: str) -> None:
    """Add a MatMul of matrices."""
    columns = scope.values[name].shape[1]
    rows = scope.rng.randint(1, 3)
    scope.add("MatMul", [name, scope.constant(random_array(scope.rng, "float32", (columns, rows)))])


def of_channels(array: Array) -> bool:
    """Whether a BatchNormalization takes it."""
    return array.dtype == np.float32 and array.ndim > 1


def matrix(array: Array) -> bool:
    """Whether it is a matrix of floats with columns."""
    return array.dtype == np.float32 and array.ndim == 2 and array.shape[1] > 0
