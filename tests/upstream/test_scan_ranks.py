"""ONNX Runtime's Scan where its body gives another rank than it is declared with."""

import signal

import pytest

from support.child import run_python

pytestmark = pytest.mark.upstream

SCAN = """
import numpy as np, onnxruntime as ort
from support.graphs import parse

def scan(state, rank):
    declared = f"float[{','.join('?' * rank)}]"
    model = parse(
        "(float[] s, float[k] x) => (float[] a, float[] b) {"
        " a, b = Scan<num_scan_inputs = 1, body = body (float[] t, float e) =>"
        f" ({declared} o, float p) {{ o = Identity(t) p = Identity(e) }}>(s, x) }}"
    )
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    print("running", flush=True)
    elements = np.ones(2, np.float32)
    return session.run(["a"], {"s": np.ones(state, np.float32), "x": elements})[0].shape
"""


def test_declared_rank_that_is_too_small_ends_the_process():
    """Once it raises, the random models need not keep off it, nor `claims` leave sizes alone."""
    child = run_python(SCAN, "scan((2, 3), 1)")
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


def test_declared_rank_that_is_right_is_no_trouble():
    child = run_python(SCAN, "print(scan((2, 3), 2))")
    assert child.stdout == "running\n(2, 3)\n", child
