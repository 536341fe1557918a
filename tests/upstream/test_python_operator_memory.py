"""Memory that a session with Python operators of onnxruntime-extensions leaves behind."""

import sys

import pytest

from support.child import run_python

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.upstream,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it so"),
]

SESSIONS = """
import gc
import numpy as np, onnxruntime as ort, sonnx_ort
from measure_memory import measure
from support.graphs import binary_model

model = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
enforced = sonnx_ort.rewrite(model).SerializeToString()

def bare(number):
    ort.InferenceSession(model.SerializeToString(), ort.SessionOptions())

def with_operators(number):
    ort.InferenceSession(enforced, sonnx_ort.register(ort.SessionOptions()))
"""


def grown(session: str) -> int:
    child = run_python(SESSIONS, f"print(measure({session}, 500).grown)", fresh=True)
    assert child.exit_status == 0, child
    return int(child.stdout)


def test_session_with_python_operators_leaves_memory_behind() -> None:
    """Once it does not, `LEFT_BEHIND` of the measured sessions is 0."""
    assert grown("with_operators") > 500


def test_session_without_them_does_not() -> None:
    # An allocator keeps a piece of 1 MiB now and then; what is left behind, all three would show.
    assert any(grown("bare") < 256 for _ in range(3))
