"""The zeros of Max, Min and Where are those of their documents, at each place of each tensor."""

from typing import Any

import numpy as np
import onnxruntime as ort
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
BACKENDS = ("python", "native", "compiled")
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


NUMBERS = (PLUS, MINUS, 1.0, -1.0, np.inf, -np.inf, np.nan)
EXTREMES = {
    "float": (1e-45, -1e-45, 1.1754944e-38, -1.1754944e-38, 3.4028235e38),
    "double": (5e-324, -5e-324, 2.2250738585072014e-308, -1.7976931348623157e308),
    "float16": (6e-8, -6e-8, 6.1e-5, 65504.0),
}
LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", EXTREMES)
def test_bits_of_nodes_are_those_of_the_documents(kind: str, level: str) -> None:
    """All pairs of extremes, in both orders, in a plain session."""
    numbers = np.array(NUMBERS + EXTREMES[kind], DTYPES[kind])
    a, b = (each.ravel() for each in np.meshgrid(numbers, numbers))
    model = parse(
        f"(bool[n] c, {kind}[n] a, {kind}[n] b) => ({kind}[n] x, {kind}[n] y, {kind}[n] z) "
        "{ x = Max(a, b) y = Min(a, b, b) z = Where(c, a, b) }"
    )
    options = quiet()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    enforced = sonnx_ort.rewrite(model, backend="native", operators="all,-Graph")
    session = ort.InferenceSession(enforced.SerializeToString(), options)
    places = np.arange(a.size)
    a_is_less = (a < b) | ((a == b) & np.signbit(a))
    is_nan = np.isnan(a) | np.isnan(b)
    largest = np.where(is_nan, np.nan, np.where(a_is_less, b, a))
    smallest = np.where(is_nan, np.nan, np.where(a_is_less, a, b))
    for condition in (places % 2 == 0, places % 3 == 0, places < 0):
        found = session.run(None, {"c": condition, "a": a, "b": b})
        expected = [largest, smallest, np.where(condition, a, b)]
        for one, other in zip(found, expected, strict=True):
            wanted = other.astype(one.dtype)
            np.testing.assert_array_equal(one, wanted)
            number = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(one)[number], np.signbit(wanted)[number])


@pytest.mark.parametrize(
    ("node", "signed", "expected"),
    [
        ("Max(a, one)", False, [1.0, PLUS]),
        ("Max(one, a)", False, [1.0, PLUS]),
        ("Min(a, zero)", True, [MINUS, PLUS]),
        ("Max(a)", False, [MINUS, PLUS]),
        ("Where(c, one, a)", False, [1.0, PLUS]),
        ("Where(c, zero, a)", False, [PLUS, PLUS]),
        ("Where(c, minus, a)", True, [MINUS, PLUS]),
        ("Where(c, a, one)", True, [MINUS, -1.0]),
    ],
)
def test_signs_are_set_where_they_may_be_lost(
    node: str, expected: list[float], *, signed: bool
) -> None:
    model = parse(
        "(bool[2] c, float[2] a) => (float[2] y) "
        "<float[2] one = {1, -1}, float[2] zero = {0, 3}, float[2] minus = {-0.0, 2}> "
        f"{{ y = {node} }}"
    )
    made = sonnx_ort.rewrite(model, backend="native", operators="all,-Graph")
    assert (len(made.graph.node) > 1) == signed
    session = ort.InferenceSession(made.SerializeToString(), quiet())
    feeds = {"c": np.array([True, False]), "a": np.array([MINUS, PLUS], np.float32)}
    (found,) = session.run(None, feeds)
    assert found.tobytes() == np.array(expected, np.float32).tobytes()
