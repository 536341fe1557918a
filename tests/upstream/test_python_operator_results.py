"""How onnxruntime-extensions takes the result of a Python operator."""

import pytest

from support.child import run_python
from support.pyops import PRELUDE

pytestmark = pytest.mark.upstream

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
