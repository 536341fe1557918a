"""The zeros of Max, Min and Where are those of their documents, at each place of each tensor."""

from typing import Any

import numpy as np
import pytest

import sonnx_ort
from support.graphs import parse
from support.sessions import quiet

SHAPES = ((), (1,), (2,), (3,), (4,), (5,), (8,), (17,))
PLUS, MINUS = 0.0, -0.0

CASES: dict[str, tuple[str, list[float | bool], float]] = {
    "the larger second": ("Max(a, b)", [MINUS, PLUS], PLUS),
    "the larger first": ("Max(a, b)", [PLUS, MINUS], PLUS),
    "the larger of minus zeros": ("Max(a, b)", [MINUS, MINUS], MINUS),
    "the larger of zero and a number": ("Max(a, b)", [MINUS, -1.0], MINUS),
    "the smaller second": ("Min(a, b)", [PLUS, MINUS], MINUS),
    "the smaller first": ("Min(a, b)", [MINUS, PLUS], MINUS),
    "the smaller of zeros": ("Min(a, b)", [PLUS, PLUS], PLUS),
    "selected first": ("Where(a, b, c)", [True, MINUS, 1.0], MINUS),
    "selected second": ("Where(a, b, c)", [False, 1.0, MINUS], MINUS),
    "selected plus": ("Where(a, b, c)", [True, PLUS, MINUS], PLUS),
}
OF_MANY: dict[str, tuple[str, list[float | bool], float]] = {
    "the largest of three": ("Max(a, b, c)", [MINUS, -1.0, PLUS], PLUS),
    "the smallest of three": ("Min(a, b, c)", [PLUS, 1.0, MINUS], MINUS),
}
BY_DOCUMENTS = [
    *(("python", name, kind) for name in CASES for kind in ("float", "double", "float16")),
    *(("python", name, kind) for name in OF_MANY for kind in ("float", "double", "float16")),
    *(("compiled", name, kind) for name in CASES for kind in ("float", "double")),
    *(("compiled", name, "float16") for name in CASES if CASES[name][0] != "Where(a, b, c)"),
]


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
    dtypes = {"bool": np.bool_, "float": np.float32, "double": np.float64, "float16": np.float16}
    found: set[float] = set()
    for shape in SHAPES:
        pairs = zip(names, types, operands, strict=True)
        feeds = {name: np.full(shape, each, dtypes[t]) for name, t, each in pairs}
        (y,) = sessions["[n]" if shape else ""].run(None, feeds)
        assert not np.any(y)
        found.update(np.copysign(1.0, y.astype(np.float64)).ravel().tolist())
    return found


@pytest.mark.parametrize(("backend", "name", "kind"), BY_DOCUMENTS)
def test_zero_is_that_of_the_document(backend: str, name: str, kind: str) -> None:
    node, operands, expected = (CASES | OF_MANY)[name]
    assert zeros(backend, node, kind, operands) == {np.copysign(1.0, expected)}


@pytest.mark.parametrize("backend", ["python", "compiled"])
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


@pytest.mark.parametrize("backend", ["python", "compiled"])
def test_constants_are_not_folded_by_a_kernel_with_other_zeros(backend: str) -> None:
    model = parse(
        "(float[3] x) => (float[3] y) <float[3] a = {-0.0, -0.0, -0.0}, float[3] b = {0, 0, 0}> "
        "{ m = Max(a, b) y = Div(x, m) }"
    )
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend, operators="all,-Graph")
    (y,) = session.run(None, {"x": np.ones(3, np.float32)})
    assert y.tolist() == [np.inf] * 3
