"""What ONNX Runtime gives for a Loop, and for a Scan, that makes no iteration."""

import signal

import numpy as np
import onnxruntime as ort
import pytest

from support.child import run_python
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread

pytestmark = pytest.mark.upstream

OPAQUE = "sizes = Constant<value_ints = [2, 3]>() chosen = Where(going, sizes, sizes)"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("declared", "body", "shape"),
    [
        pytest.param("float[]", "o = Neg(q)", (0, 2, 3), id="what it infers"),
        pytest.param("float[a, b]", "o = Neg(q)", (0, 2, 3), id="not what symbols say"),
        pytest.param(
            "float[a, b]", f"{OPAQUE} o = Reshape(q, chosen)", (0, 0, 0), id="0 for open sizes"
        ),
        pytest.param(
            "float[7, 3]", f"{OPAQUE} o = Reshape(q, chosen)", (0, 7, 3), id="what is declared"
        ),
        pytest.param("float[7, 3]", "o = Neg(q)", (0, 0, 3), id="0 for contradicting sizes"),
        pytest.param("float[7, a]", "o = Neg(q)", (0, 0, 0), id="and for all that one leaves open"),
        pytest.param("float[1, 2, 3]", "o = Neg(q)", (0,), id="no rank for contradicting ranks"),
    ],
)
def test_shape_of_a_loop_without_iterations(
    declared: str, body: str, shape: tuple[int, ...], level: str
) -> None:
    model = parse(
        "(int64 trips, bool go, float[2, 3] q) => (float[] y) {"
        f" y = Loop<body = step (int64 i, bool going) => (bool still, {declared} o) {{"
        f" still = Identity(going) {body} }}>(trips, go) }}"
    )
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    feeds = {"trips": np.array(0), "go": np.array(True), "q": np.ones((2, 3), np.float32)}
    assert session.run(None, feeds)[0].shape == shape


SCAN = """
import numpy as np, onnxruntime as ort
from support.graphs import parse

def run(axis, shape):
    element = "float[2]" if axis else "float[3]"
    model = parse(
        "(float[n, m] x) => (float[] y) {"
        f" y = Scan<num_scan_inputs = 1, scan_input_axes = [{axis}], body = step ({element} e)"
        f" => ({element} o) {{ o = Neg(e) }}>(x) }}"
    )
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    print("running", flush=True)
    try:
        session.run(None, {"x": np.ones(shape, np.float32)})
    except Exception as error:
        print("Invalid dim0_offset" in str(error))
"""


def test_scan_of_nothing_along_the_first_axis_is_an_error() -> None:
    child = run_python(SCAN, "run(0, (0, 3))")
    assert (child.killed_by, child.stdout) == (None, "running\nTrue\n"), child


def test_scan_of_nothing_along_another_axis_ends_the_process() -> None:
    """Once it does not, it gives a result, whose shape has to stay in an enforced model."""
    child = run_python(SCAN, "run(1, (2, 0))")
    assert (child.killed_by, child.stdout) == (signal.SIGFPE, "running\n"), child
