"""What ends the process when it happens in a Python operator of onnxruntime-extensions."""

import signal

import pytest

from support.child import run_python
from support.pyops import PRELUDE

pytestmark = pytest.mark.upstream


@pytest.mark.parametrize(
    "error",
    [
        "ValueError",
        *(
            pytest.param(e, marks=pytest.mark.thorough)
            for e in ("MemoryError", "KeyboardInterrupt")
        ),
    ],
)
def test_exception_in_a_python_operator_ends_the_process(error):
    """Once it raises in the caller, kernels may raise and the failure channel can go."""
    child = run_python(
        PRELUDE,
        f"""
        @onnx_op(op_type="probe::Raise", **FLOAT)
        def kernel(x):
            say("reached")
            raise {error}("in the kernel")

        try:
            session_of(model_of("Raise")).run(None, ONES)
        except BaseException:
            pass
        say("survived")
        """,
    )
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "reached\n"), child


@pytest.mark.parametrize("element_type", ["float16", "bfloat16"])
def test_half_precision_input_of_a_python_operator_ends_the_process(element_type):
    """Once it arrives, the casts to float around these types can go (`native_types.py`)."""
    child = run_python(
        PRELUDE,
        f"""
        half = PyOp.dt_{element_type}
        @onnx_op(op_type="probe::Half", inputs=[half], outputs=[half])
        def kernel(h):
            say("reached")
            return h

        nodes = [
            helper.make_node("Cast", ["x"], ["h"], to=onnx.TensorProto.{element_type.upper()}),
            helper.make_node("Half", ["h"], ["i"], domain="probe"),
            helper.make_node("Cast", ["i"], ["y"], to=onnx.TensorProto.FLOAT),
        ]
        x, y = (tensor(name, "float", [None]) for name in "xy")
        session = session_of(model(nodes, [x], [y], domains={{"probe": 1}}))
        say("running")
        session.run(None, ONES)
        say("survived")
        """,
    )
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


def test_string_attribute_that_is_not_utf8_ends_the_process():
    """Once it raises, node names need no check before they become attributes."""
    child = run_python(
        PRELUDE,
        """
        @onnx_op(op_type="probe::Named", attrs={"node": PyOp.dt_string}, **FLOAT)
        def kernel(x, node):
            say(f"reached with {node}")
            return x

        session_of(model_of("Named", node="é".encode())).run(None, ONES)
        session = session_of(model_of("Named", node=bytes([0xFF, 0xFE])))
        say("running")
        session.run(None, ONES)
        say("survived")
        """,
    )
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "reached with é\nrunning\n"), child
