"""The operators whose rules speak of the shapes of single operands, and of places on their axes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from model_builders.bundle import Array, Bundle, bundle, case, float32
from model_builders.expected import NODE_NAMES, node_outcome
from model_builders.graphs import parse
from sonnx_ort.models import Case


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
            _product("matrices", a, b),
            _product("stack", stack, b),
            _product("vector", a[0], b),
        ],
    )


def _product(name: str, a: Array, b: Array) -> Case:
    expected = node_outcome("MatMul", {"A": a, "B": b})
    fed = case(name, expected, elements=a.ravel(), sizes=np.array(a.shape), B=b)
    return replace(fed, operators="MatMul")


def _normalized() -> Bundle:
    """A variance of 3 and an epsilon of 1 have a root that is exact."""
    x, ones = float32([[1, 5], [-3, 0]]), float32([1, 1])
    fixed = {"X": x, "scale": float32([2, 4]), "B": ones, "input_mean": ones}
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
            _normalization("variances", **fixed, input_var=float32([3, 3])),
            _normalization("negative variance", **fixed, input_var=float32([3, -0.5])),
        ],
    )


def _normalization(name: str, **inputs: Array) -> Case:
    expected = node_outcome("BatchNormalization", inputs, {"epsilon": 1.0})
    return replace(case(name, expected, **inputs), operators="BatchNormalization")


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
            _case("scalars", "Clip", input=x, min=low, max=high),
            _case("bound of shape (1,)", "Clip", input=x, min=low, max=one),
        ],
    )


def _sliced() -> Bundle:
    x = float32([10, 11, 12, 13])
    inputs = ", ".join(f"int64[k] {name}" for name in ("starts", "ends", "axes", "steps"))
    called = "Slice(X, starts, ends, axes, steps)"
    model = parse(
        f"(float[n] X, {inputs}) => (float[m] Y) {{ [{NODE_NAMES['Slice']}] Y = {called} }}"
    )
    places = {
        "start behind the last": (4, 4, 1),
        "end beyond the axis": (0, 2**31, 1),
        "start behind the end": (3, 1, 1),
    }
    return bundle(
        "slice_float",
        "Places beyond an axis are refused: ONNX Runtime gives an empty tensor without a word.",
        model,
        [
            _slice("every second", x, 1, 4, 2),
            _slice("backwards", x, -1, -5, -1),
            _case(
                "no axis named",
                "Slice",
                X=x,
                **dict.fromkeys(("starts", "ends", "axes", "steps"), np.empty(0, np.int64)),
            ),
            *(_slice(name, x, *chosen) for name, chosen in places.items()),
        ],
    )


def _slice(name: str, x: Array, *places: int) -> Case:
    start, end, step = (np.array([place]) for place in places)
    return _case(name, "Slice", X=x, starts=start, ends=end, axes=np.array([0]), steps=step)


def _places() -> Bundle:
    x, nothing = float32([[1, 7, 7], [3, 2, 1]]), np.empty((2, 0), np.float32)
    called = "ArgMax <axis = 1, keepdims = 0, select_last_index = 0> (X)"
    return bundle(
        "arg_max_float",
        "Of the largest elements the place of the first; an axis that holds nothing is refused.",
        parse(f"(float[n, m] X) => (int64[n] Y) {{ [{NODE_NAMES['ArgMax']}] Y = {called} }}"),
        [_place("largest", x), _place("nothing", nothing)],
    )


def _place(name: str, x: Array) -> Case:
    expected = node_outcome("ArgMax", {"X": x}, {"axis": 1, "keepdims": 0})
    return replace(case(name, expected, X=x), operators="ArgMax")


def _case(name: str, operator: str, **inputs: Array) -> Case:
    return replace(case(name, node_outcome(operator, inputs), **inputs), operators=operator)
