"""Results in float16 are rounded wherever they are read, not only where they leave a model."""

import numpy as np
import pytest

import sonnx_ort
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread

GENERATOR = np.random.default_rng(0)
X, Y = ((GENERATOR.random((10, 50)) * 9 + 1).astype(np.float16) for _ in range(2))

CHAINS = {
    "read by another enforced node": ("t = Div(x, y) z = Sub(t, y)", X / Y - Y),
    "read by a node that nothing enforces": ("t = Mul(x, y) z = Ceil(t)", np.ceil(X * Y)),
    "behind a node that moves elements": (
        (
            "t = Mul(x, y) u = Transpose <perm = [1, 0]> (t) v = Transpose <perm = [1, 0]> (u) "
            "z = Add(v, y)"
        ),
        X * Y + Y,
    ),
    "behind a node that nothing enforces": ("t = Mul(x, y) u = Relu(t) z = Add(u, y)", X * Y + Y),
    "behind a conversion": (
        "t = Mul(x, y) u = Cast <to = 1> (t) v = Ceil(u) z = Cast <to = 10> (v)",
        np.ceil(X * Y),
    ),
    "of one operand": ("t = Sqrt(x) z = Mul(t, y)", np.sqrt(X) * Y),
    "compared": (
        (
            "t = Mul(x, y) u = Less(t, y) v = Mul(y, x) w = Greater(v, y) k = Or(u, w) "
            "z = Where(k, t, y)"
        ),
        np.where(X * Y != Y, X * Y, Y),
    ),
}


@BACKENDS
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CHAINS)
def test_chain_is_rounded_at_each_node(name, level, backend):
    nodes, expected = CHAINS[name]
    model = parse(f"(float16[a,b] x, float16[a,b] y) => (float16[] z) {{ {nodes} }}")
    session = sonnx_ort.InferenceSession(
        model, on_one_thread(level), operators="all,-Graph", backend=backend
    )
    (result,) = session.run(None, {"x": X, "y": Y})
    assert result.tobytes() == expected.tobytes()
