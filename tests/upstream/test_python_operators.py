"""What onnxruntime-extensions does with Python operators, and what ends the process in one."""

import signal

import pytest

from support.child import run_python

PRELUDE = """
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper
from onnxruntime_extensions import PyOp, get_library_path, onnx_op
from support.graphs import model, tensor

FLOAT = {"inputs": [PyOp.dt_float], "outputs": [PyOp.dt_float]}
ONES = {"x": np.ones(3, np.float32)}

def model_of(operator, **attributes):
    node = helper.make_node(operator, ["x"], ["y"], domain="probe", **attributes)
    x, y = (tensor(name, "float", [None]) for name in "xy")
    return model([node], [x], [y], domains={"probe": 1})

def session_of(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(get_library_path())
    return ort.InferenceSession(model.SerializeToString(), options)

def say(text):
    print(text, flush=True)
"""
"""Imports and helpers; what follows registers operators in the domain "probe"."""


pytestmark = pytest.mark.upstream


def test_operator_registered_after_a_session_exists_ends_the_process():
    """Once the session works on, operators may be registered whenever they are needed."""
    child = run_python(
        PRELUDE,
        """
        @onnx_op(op_type="probe::First", **FLOAT)
        def first(x):
            return x

        session = session_of(model_of("First"))
        session.run(None, ONES)

        @onnx_op(op_type="probe::Second", **FLOAT)
        def second(x):
            return x

        say("registered")
        session.run(None, ONES)
        say("survived")
        """,
        # The session reads memory that is free by then; this overwrites it, so that no luck helps.
        MALLOC_PERTURB_="165",
    )
    assert child.killed_by is not None, child
    assert child.stdout == "registered\n", child


def test_library_registered_twice_on_one_object_makes_the_session_fail():
    """Once it is harmless, `register` need not remember the options that it has seen."""
    child = run_python(
        PRELUDE,
        """
        options = ort.SessionOptions()
        for _ in range(2):
            options.register_custom_ops_library(get_library_path())
        x, y = (tensor(name, "float", [None]) for name in "xy")
        identity = model([helper.make_node("Identity", ["x"], ["y"])], [x], [y])
        try:
            ort.InferenceSession(identity.SerializeToString(), options)
        except Exception as error:
            say(error)
        """,
    )
    assert "Conflicting with a registered kernel" in child.stdout, child


OBSERVED = """
class Observed(np.ndarray):
    def flatten(self, order="C"):
        say("flatten")
        return super().flatten(order)

    def tolist(self):
        handed_over = super().tolist()
        say(f"tolist gives a {type(handed_over).__name__} of {type(handed_over[0]).__name__}")
        return handed_over
"""


def test_result_is_turned_into_a_list_of_python_numbers():
    """Once the array itself is taken, `KernelOutput` can go: plain arrays are fast then."""
    child = run_python(
        PRELUDE,
        OBSERVED,
        """
        @onnx_op(op_type="probe::Plain", **FLOAT)
        def kernel(x):
            return x.view(Observed)

        session_of(model_of("Plain")).run(None, ONES)
        """,
    )
    expected = "flatten\ntolist gives a list of float\n"
    assert (child.exit_status, child.stdout) == (0, expected), child


def test_array_is_accepted_in_the_place_of_the_list():
    """This is what `KernelOutput` lives on; without it the product fails, and this says why."""
    child = run_python(
        PRELUDE,
        """
        class View(np.ndarray):
            def flatten(self, order="C"):
                return self

            def tolist(self):
                return self.view(np.ndarray)

        @onnx_op(op_type="probe::Fast", **FLOAT)
        def kernel(x):
            return (2 * x).reshape(3, 1).view(View)

        fast = model_of("Fast")
        fast.graph.output[0].CopyFrom(tensor("y", "float", [None, None]))
        say(session_of(fast).run(None, ONES)[0].tolist())
        """,
    )
    assert (child.exit_status, child.stdout) == (0, "[[2.0], [2.0], [2.0]]\n"), child


def test_each_operand_is_a_copy_that_belongs_to_the_kernel():
    """This is what computing into an operand rests on; without it inputs would be overwritten."""
    child = run_python(
        PRELUDE,
        """
        @onnx_op(op_type="probe::Own", inputs=[PyOp.dt_float] * 2, outputs=[PyOp.dt_float])
        def kernel(a, b):
            a += 1
            return b

        own = model_of("Own")
        own.graph.node[0].input.append("x")
        feeds = {"x": np.ones(3, np.float32)}
        say(session_of(own).run(None, feeds)[0].tolist())
        say(feeds["x"].tolist())
        """,
    )
    expected = "[1.0, 1.0, 1.0]\n" * 2
    assert (child.exit_status, child.stdout) == (0, expected), child


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
