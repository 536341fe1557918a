"""An exponent of one element stays one behind a Broadcast, where ONNX Runtime multiplies."""

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import on_one_thread

X = np.random.default_rng(3).normal(size=(4, 500)).astype(np.float32) * 9


@BACKENDS
@pytest.mark.parametrize("declared", ["[4, 500]", "[n, m]", "[]"])
@pytest.mark.parametrize("exponent", [np.float32(3), np.float32([3]), np.float32([[[3]]])], ids=str)
def test_bits_are_those_of_the_model_as_it_was(backend: str, declared: str, exponent) -> None:
    text = f"(float{declared} x) => (float[] y) {{ [the_node] y = Pow(x, e) }}"
    made = parse(text, constants={"e": exponent})
    options = on_one_thread("none")
    (expected,) = ort.InferenceSession(made.SerializeToString(), options).run(None, {"x": X})
    choices = {"operators": "Pow", "backend": backend, "broadcast": "explicit"}
    once = sonnx_ort.rewrite(made, **choices)
    assert sonnx_ort.rewrite(once, **choices) == once
    session = sonnx_ort.InferenceSession(made, options, **choices)
    (got,) = session.run(None, {"x": X})
    np.testing.assert_array_equal(got.view(np.int32), expected.view(np.int32), strict=True)


@BACKENDS
@pytest.mark.parametrize("declared", ["[n]", "[]"])
def test_rules_of_the_broadcast_are_looked_at(backend: str, declared: str) -> None:
    text = f"(float{declared} x) => (float[] y) {{ [the_node] y = Pow(x, e) }}"
    made = parse(text, constants={"e": np.float32([2])})
    session = sonnx_ort.InferenceSession(
        made, on_one_thread(), operators="Pow", backend=backend, broadcast="explicit"
    )
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": np.zeros(0, np.float32)})
    assert caught.value.rule == "Broadcast.E1"


@BACKENDS
def test_negative_exponent_of_one_element_is_refused(backend: str) -> None:
    made = parse("(int32[n] x, int32[1] e) => (int32[] y) { [the_node] y = Pow(x, e) }")
    session = sonnx_ort.InferenceSession(
        made, on_one_thread(), operators="Pow", backend=backend, broadcast="explicit"
    )
    x = np.int32([3, 0, 2])
    assert session.run(None, {"x": x, "e": np.int32([2])})[0].tolist() == [9, 0, 4]
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": x, "e": np.int32([-1])})
    assert caught.value.rule == "Pow.int.C1"
