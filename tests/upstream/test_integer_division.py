"""ONNX Runtime's own integer `Div` where the quotient does not exist or does not fit."""

import platform
import signal

import pytest

from support.child import run_python

pytestmark = pytest.mark.upstream

DIVIDE = """
import numpy as np, onnxruntime as ort
from support.graphs import binary_model

def divide(a, b, element_type):
    model = binary_model("Div", element_type, [None], [None])
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    print("running", flush=True)
    operands = (np.array([value], element_type) for value in (a, b))
    return session.run(None, dict(zip("AB", operands)))[0].tolist()
"""


@pytest.mark.skipif(
    platform.machine().lower() not in {"x86_64", "amd64"}, reason="only x86 processors trap"
)
@pytest.mark.parametrize("element_type", ["int32", "int64"])
def test_smallest_by_minus_one_ends_the_process(element_type):
    """Once it raises, `Div.int.C2` guards a number only, no longer the process."""
    child = run_python(DIVIDE, f"divide(np.iinfo('{element_type}').min, -1, '{element_type}')")
    assert (child.killed_by, child.stdout) == (signal.SIGFPE, "running\n"), child


@pytest.mark.parametrize(("element_type", "smallest"), [("int8", -(2**7)), ("int16", -(2**15))])
def test_smallest_by_minus_one_wraps_in_narrow_types(element_type, smallest):
    """Once it raises, `Div.int.C2` has company."""
    child = run_python(DIVIDE, f"print(divide({smallest}, -1, '{element_type}'))")
    assert (child.exit_status, child.stdout) == (0, f"running\n[{smallest}]\n"), child


@pytest.mark.parametrize(
    "element_type",
    [
        *("int32", "uint64"),
        *(pytest.param(t, marks=pytest.mark.thorough) for t in ("int8", "int64", "uint8")),
    ],
)
def test_zero_divisor_raises(element_type):
    """Older versions died; should a newer one, `Div.int.C1` guards the process again."""
    child = run_python(
        DIVIDE,
        f"""
        try:
            divide(1, 0, '{element_type}')
        except Exception as error:
            print(error)
        """,
    )
    assert child.exit_status == 0, child
    assert "Integer division by zero" in child.stdout, child
