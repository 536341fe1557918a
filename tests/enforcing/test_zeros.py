"""The zeros of Max, Min and Where are those of their documents, at each place of each tensor."""

from typing import Any

import numpy as np
import pytest

import sonnx_ort
from support.graphs import parse
from support.ort_values import BFLOAT16, run
from support.sessions import quiet

SHAPES = ((), (1,), (2,), (3,), (4,), (5,), (8,), (17,))
PLUS, MINUS = 0.0, -0.0

CASES: dict[str, tuple[str, list[float | bool], float]] = {
    "the larger second": ("Max(a, b)", [MINUS, PLUS], PLUS),
    "the larger first": ("Max(a, b)", [PLUS, MINUS], PLUS),
    "the larger of minus zeros": ("Max(a, b)", [MINUS, MINUS], MINUS),
    "the larger of zero and a number": ("Max(a, b)", [MINUS, -1.0], MINUS),
    "the larger of zero and infinity": ("Max(a, b)", [-np.inf, MINUS], MINUS),
    "the smaller second": ("Min(a, b)", [PLUS, MINUS], MINUS),
    "the smaller first": ("Min(a, b)", [MINUS, PLUS], MINUS),
    "the smaller of zeros": ("Min(a, b)", [PLUS, PLUS], PLUS),
    "selected first": ("Where(a, b, c)", [True, MINUS, 1.0], MINUS),
    "selected second": ("Where(a, b, c)", [False, 1.0, MINUS], MINUS),
    "selected plus": ("Where(a, b, c)", [True, PLUS, MINUS], PLUS),
    "the larger of one": ("Max(a)", [MINUS], MINUS),
    "the smaller of one": ("Min(a)", [PLUS], PLUS),
    "the largest of three": ("Max(a, b, c)", [MINUS, -1.0, PLUS], PLUS),
    "the largest of three, first": ("Max(a, b, c)", [PLUS, MINUS, -np.inf], PLUS),
    "the largest of three minus zeros": ("Max(a, b, c)", [MINUS, MINUS, -1.0], MINUS),
    "the smallest of three": ("Min(a, b, c)", [PLUS, 1.0, MINUS], MINUS),
    "the smallest of three, first": ("Min(a, b, c)", [MINUS, PLUS, np.inf], MINUS),
    "the smallest of three plus zeros": ("Min(a, b, c)", [PLUS, PLUS, 1.0], PLUS),
}
DTYPES = {
    "bool": np.dtype(np.bool_),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": BFLOAT16,
}
BACKENDS = ("python", "compiled")
KINDS = {
    backend: ("float", "double", "float16", *(["bfloat16"] if backend == "compiled" else []))
    for backend in BACKENDS
}
"""ONNX Runtime has no kernels for bfloat16, and neither has the plugin of Python."""


def zeros(backend: str, node: str, kind: str, operands: list[float | bool]) -> set[float]:
    """The signs of the results, 1 or -1, in scalars and in tensors of several lengths."""
    names = "abc"[: len(operands)]
    types = ["bool" if isinstance(each, bool) else kind for each in operands]
    choices: dict[str, Any] = {"backend": backend, "operators": "all,-Graph"}
    sessions = {}
    for axes in ("", "[n]"):
        declared = ", ".join(f"{t}{axes} {name}" for t, name in zip(types, names, strict=True))
        model = parse(f"({declared}) => ({kind}{axes} y) {{ y = {node} }}")
        sessions[axes] = sonnx_ort.InferenceSession(model, quiet(), **choices)
    found: set[float] = set()
    for shape in SHAPES:
        pairs = zip(names, types, operands, strict=True)
        feeds = {name: np.full(shape, each, DTYPES[t]) for name, t, each in pairs}
        (y,) = run(sessions["[n]" if shape else ""], feeds)
        assert not np.any(y)
        found.update(np.copysign(1.0, y.astype(np.float64)).ravel().tolist())
    return found


@pytest.mark.parametrize(
    ("backend", "kind"), [(backend, kind) for backend in BACKENDS for kind in KINDS[backend]]
)
@pytest.mark.parametrize("name", CASES)
def test_zero_is_that_of_the_document(backend: str, name: str, kind: str) -> None:
    node, operands, expected = CASES[name]
    assert zeros(backend, node, kind, operands) == {np.copysign(1.0, expected)}


@pytest.mark.parametrize("backend", BACKENDS)
def test_zero_of_operands_that_are_broadcast_is_that_of_the_document(backend: str) -> None:
    model = parse(
        "(bool[n, 1] c, float[m] x, float[n, m] z) => (float[n, m] y, float[n, m] w) "
        "{ y = Where(c, x, z) w = Max(x, z) }"
    )
    session = sonnx_ort.InferenceSession(
        model, quiet(), backend=backend, operators="all,-Graph", broadcast="explicit"
    )
    feeds = {
        "c": np.array([[True], [False]]),
        "x": np.full(3, -0.0, np.float32),
        "z": np.zeros((2, 3), np.float32),
    }
    selected, largest = session.run(None, feeds)
    assert np.signbit(selected).tolist() == [[True] * 3, [False] * 3]
    assert not np.signbit(largest).any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_constants_are_not_folded_by_a_kernel_with_other_zeros(backend: str) -> None:
    model = parse(
        "(float[3] x) => (float[3] y) <float[3] a = {-0.0, -0.0, -0.0}, float[3] b = {0, 0, 0}> "
        "{ m = Max(a, b) y = Div(x, m) }"
    )
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend, operators="all,-Graph")
    (y,) = session.run(None, {"x": np.ones(3, np.float32)})
    assert y.tolist() == [np.inf] * 3
