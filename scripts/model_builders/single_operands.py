"""The operators whose rules speak of the shapes of single operands, and of places on their axes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from model_builders.bundle import Array, Bundle, bundle, case, float32
from model_builders.expected import NODE_NAMES
from model_builders.graphs import parse
from sonnx_ort.models import Case, Outputs, RunViolation

Shape = tuple[int, ...]


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield _matrices()
    yield _normalized()
    yield _clipped()
    yield _sliced()
    yield _places()


def _matrices() -> Bundle:
    a, b = float32([[1, 2], [3, 4]]), float32([[5, 6], [7, 8]])
    stack = np.stack([a, b])
    node = NODE_NAMES["MatMul"]
    return bundle(
        "mat_mul_of_any_rank",
        "A stack of matrices is refused, which ONNX Runtime multiplies by one without a word.",
        parse(
            "(float[n] elements, int64[r] sizes, float[b, c] B) => (float[p, q] Y) "
            f"{{ A = Reshape(elements, sizes) [{node}] Y = MatMul(A, B) }}"
        ),
        [
            _product("matrices", Outputs({"Y": float32([[19, 22], [43, 50]])}), a, b),
            _product("stack", _refused("MatMul", "C1", (2, 2, 2), (2, 2)), stack, b),
            _product("vector", _refused("MatMul", "C1", (2,), (2, 2)), a[0], b),
        ],
    )


def _product(name: str, expected: Outputs | RunViolation, a: Array, b: Array) -> Case:
    return _case(name, "MatMul", expected, elements=a.ravel(), sizes=np.array(a.shape), B=b)


def _normalized() -> Bundle:
    """A variance of 3 and an epsilon of 1 have a root that is exact."""
    x, ones = float32([[1, 5], [-3, 0]]), float32([1, 1])
    fixed = {"X": x, "scale": float32([2, 4]), "B": ones, "input_mean": ones}
    negative = _refused("BatchNormalization", "C3", (2, 2), (2,), index=(1,), values=(-0.5,))
    inputs = ", ".join(f"float[c] {name}" for name in ("scale", "B", "input_mean", "input_var"))
    operands = "X, scale, B, input_mean, input_var"
    called = f"BatchNormalization <epsilon = 1.0> ({operands})"
    return bundle(
        "batch_normalization_float",
        "A negative variance is refused: ONNX Runtime makes NaN of it without a word.",
        parse(
            f"(float[n, c] X, {inputs}) => (float[n, c] Y) "
            f"{{ [{NODE_NAMES['BatchNormalization']}] Y = {called} }}"
        ),
        [
            _case(
                "variances",
                "BatchNormalization",
                Outputs({"Y": float32([[1, 9], [-3, -1]])}),
                **fixed,
                input_var=float32([3, 3]),
            ),
            _case(
                "negative variance",
                "BatchNormalization",
                negative,
                **fixed,
                input_var=float32([3, -0.5]),
            ),
        ],
    )


def _clipped() -> Bundle:
    x, low, high = float32([-2, 0.5, 7]), float32(0), float32(1)
    one = float32([1])
    node = NODE_NAMES["Clip"]
    return bundle(
        "clip_float",
        "A bound is a scalar: one of shape (1,), which ONNX Runtime takes too, is refused.",
        parse(
            "(float[n] input, float min, float max) => (float[n] output) "
            f"{{ [{node}] output = Clip(input, min, max) }}"
        ),
        [
            _case(
                "scalars",
                "Clip",
                Outputs({"output": float32([0, 0.5, 1])}),
                input=x,
                min=low,
                max=high,
            ),
            _case(
                "bound of shape (1,)",
                "Clip",
                _refused("Clip", "C1", (3,), (), (1,)),
                input=x,
                min=low,
                max=one,
            ),
        ],
    )


def _sliced() -> Bundle:
    x = float32([10, 11, 12, 13])
    inputs = ", ".join(f"int64[k] {name}" for name in ("starts", "ends", "axes", "steps"))
    called = "Slice(X, starts, ends, axes, steps)"
    model = parse(
        f"(float[n] X, {inputs}) => (float[m] Y) {{ [{NODE_NAMES['Slice']}] Y = {called} }}"
    )
    refusals = {
        "start behind the last": ("R8", 4, 4, 1),
        "end beyond the axis": ("C2", 0, 2**31, 1),
        "start behind the end": ("R6", 3, 1, 1),
    }
    return bundle(
        "slice_float",
        "Places beyond an axis are refused: ONNX Runtime gives an empty tensor without a word.",
        model,
        [
            _slice("every second", Outputs({"Y": float32([11, 13])}), x, 1, 4, 2),
            _slice("backwards", Outputs({"Y": float32([13, 12, 11, 10])}), x, -1, -5, -1),
            _case(
                "no axis named",
                "Slice",
                _refused("Slice", "R2", (4,), *[(0,)] * 4),
                X=x,
                **dict.fromkeys(("starts", "ends", "axes", "steps"), np.empty(0, np.int64)),
            ),
            *(
                _slice(name, _refused("Slice", tag, (4,), *[(1,)] * 4), x, *places)
                for name, (tag, *places) in refusals.items()
            ),
        ],
    )


def _slice(name: str, expected: Outputs | RunViolation, x: Array, *places: int) -> Case:
    start, end, step = (np.array([place]) for place in places)
    axes = np.array([0])
    return _case(name, "Slice", expected, X=x, starts=start, ends=end, axes=axes, steps=step)


def _places() -> Bundle:
    x, nothing = float32([[1, 7, 7], [3, 2, 1]]), np.empty((2, 0), np.float32)
    called = "ArgMax <axis = 1, keepdims = 0, select_last_index = 0> (X)"
    return bundle(
        "arg_max_float",
        "Of the largest elements the place of the first; an axis that holds nothing is refused.",
        parse(f"(float[n, m] X) => (int64[n] Y) {{ [{NODE_NAMES['ArgMax']}] Y = {called} }}"),
        [
            _case("largest", "ArgMax", Outputs({"Y": np.array([1, 0])}), X=x),
            _case("nothing", "ArgMax", _refused("ArgMax", "R5", (2, 0)), X=nothing),
        ],
    )


def _case(name: str, operator: str, expected: Outputs | RunViolation, **inputs: Array) -> Case:
    return replace(case(name, expected, **inputs), operators=operator)


def _refused(
    operator: str,
    tag: str,
    *shapes: Shape,
    index: Shape | None = None,
    values: tuple[float, ...] | None = None,
) -> RunViolation:
    node = NODE_NAMES[operator]
    return RunViolation(f"{operator}.{tag}", operator, node, shapes, index, values)
