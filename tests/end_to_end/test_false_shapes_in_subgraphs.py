"""Models whose subgraphs are declared with shapes that their values do not have."""

import pytest

from support.child import run_python

SCAN = """
import numpy as np, onnxruntime as ort, sonnx_ort
from support.graphs import parse

model = parse('''
    (float[] s, float[k, 2] x, float[2] d) => (float[] a, float[] b, float[] z)
    {
        a, b = Scan<num_scan_inputs = 1, body = body (float[] t, float[2] e) =>
            (float[3] o, float[2] p) { o = Identity(t) p = Identity(e) }>(s, x)
        z = Div(d, d)
    }''')
for value in (*model.graph.input[:1], *model.graph.output):
    value.type.tensor_type.ClearField("shape")
options = ort.SessionOptions()
options.log_severity_level = 4
"""

RUN = """
for state in (3,), (4, 2), (4,):
    try:
        ones = np.ones(state, np.float32), np.ones((4, 2), np.float32), np.ones(2, np.float32)
        print([output.shape for output in session.run(None, dict(zip("sxd", ones)))])
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize("backend", [pytest.param(None, marks=pytest.mark.thorough), "python"])
def test_scan_that_is_enforced_fails_just_as_the_original_does(backend):
    """A smaller rank without sizes would end the process (tests/upstream/test_scan_ranks.py)."""
    start = "session = ort.InferenceSession(model.SerializeToString(), options)"
    if backend is not None:
        start = f"session = sonnx_ort.InferenceSession(model, options, backend='{backend}')"
    child = run_python(SCAN, start, RUN)
    assert child.exit_status == 0, child
    outcomes = ["[(3,), (4, 2), (2,)]", "InvalidArgument", "InvalidArgument"]
    assert child.stdout.splitlines() == outcomes, child
