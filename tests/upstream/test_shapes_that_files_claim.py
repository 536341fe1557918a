"""How little ONNX Runtime holds a run to the shapes that a file declares."""

import numpy as np
import onnxruntime as ort
import pytest

from support.graphs import binary_model, parse
from support.sessions import quiet

pytestmark = pytest.mark.upstream

UNEQUAL = {"A": np.ones(3, np.float32), "B": np.ones(1, np.float32)}


def run(model_proto):
    options = quiet()
    session = ort.InferenceSession(model_proto.SerializeToString(), options)
    return session.run(None, UNEQUAL)[0]


def test_inputs_that_share_a_symbolic_dimension_are_silently_broadcast():
    """Once they are refused, equal symbols prove equal sizes and `SameShape` may say so."""
    result = run(binary_model("Sub", "float", ["n"], ["n"], c_shape=["n"]))
    assert result.tolist() == [0, 0, 0]


def test_wrong_value_info_does_not_stop_a_run():
    """Once it does, `value_info` is a premise that a proof may rest on."""
    lying = parse("""(float[p] A, float[q] B) => (float[?] C) <float[3] a, float[3] b> {
        a = Identity(A)
        b = Identity(B)
        C = Sub(a, b)
    }""")
    assert run(lying).tolist() == [0, 0, 0]
