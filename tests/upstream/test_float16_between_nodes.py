"""ONNX Runtime computes float16 in float32, and rounds only where a node reads float16 itself."""

import numpy as np
import onnxruntime as ort
import pytest

from support.graphs import parse
from support.sessions import LEVELS, on_one_thread

pytestmark = pytest.mark.upstream

GENERATOR = np.random.default_rng(0)
X, Y = ((GENERATOR.random(500) * 9 + 1).astype(np.float16) for _ in range(2))

each_level = pytest.mark.parametrize("level", LEVELS)


def computed(nodes, level):
    model = parse(f"(float16[n] x, float16[n] y) => (float16[] z) {{ {nodes} }}")
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    return session.run(None, {"x": X, "y": Y})[0]


KEPT_IN_FLOAT32 = {
    "read at once": ("t = Div(x, y) z = Sub(t, y)", X / Y - Y),
    "behind a Reshape": ("t = Div(x, y) s = Shape(x) u = Reshape(t, s) z = Sub(u, y)", X / Y - Y),
    "behind a Relu": ("t = Mul(x, y) u = Relu(t) z = Add(u, y)", X * Y + Y),
    "behind a Cast": (
        "t = Mul(x, y) u = Cast <to = 1> (t) v = Ceil(u) z = Cast <to = 10> (v)",
        np.ceil(X * Y),
    ),
    "a conversion to float16 in front of a node": (
        (
            "a = Cast <to = 1> (x) b = Cast <to = 1> (y) t = Mul(a, b) u = Cast <to = 10> (t) "
            "z = Add(u, y)"
        ),
        X * Y + Y,
    ),
}


@each_level
@pytest.mark.parametrize("name", KEPT_IN_FLOAT32)
def test_result_between_two_nodes_is_not_rounded(name, level):
    """Once it is, a chain of float16 has the same bits with both backends."""
    nodes, rounded = KEPT_IN_FLOAT32[name]
    assert (computed(nodes, level) != rounded).any()


@each_level
def test_result_that_leaves_the_model_is_rounded(level):
    assert (computed("z = Div(x, y)", level) == X / Y).all()


@each_level
def test_two_conversions_that_a_model_has_stay(level):
    """The way to round between nodes: there and back, and there again."""
    nodes = (
        "a = Cast <to = 1> (x) b = Cast <to = 1> (y) t = Mul(a, b) u = Cast <to = 10> (t) "
        "v = Cast <to = 1> (u) w = Cast <to = 10> (v) z = Add(w, y)"
    )
    assert (computed(nodes, level) == X * Y + Y).all()
