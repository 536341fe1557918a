"""What ONNX's shape inference says of a result, and the shape that ONNX Runtime's kernel gives."""

from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException

from support.changes import before_and_since
from support.graphs import parse
from support.sessions import on_one_thread

pytestmark = pytest.mark.upstream

REDUCED = "an axis that is counted from the end of an empty tensor is reduced"
STACKED = "MatMul broadcasts stacks where there is nothing to sum up"
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Contradiction:
    """A node.

    Attributes:
        node: What computes `r` from `x`.
        given: The shape of x.
        inferred: What inference says.
        computed: What the kernel gives.
        opset: The version of the standard operators.
    """

    node: str
    given: Shape
    inferred: Shape
    computed: Shape
    opset: int = 18


CONTRADICTIONS = {
    "flag of 2, which the kernel takes for unset": Contradiction(
        "r = ReduceMax<keepdims = 1, noop_with_empty_axes = 2>(x)", (3, 3, 3), (3, 3, 3), (1, 1, 1)
    ),
    "flag of -1, which the kernel takes for unset": Contradiction(
        "axes = Constant<value = int64[0] {}>()"
        " r = ReduceL2<keepdims = 0, noop_with_empty_axes = -1>(x, axes)",
        (3, 2, 2),
        (3, 2, 2),
        (),
    ),
    "ceil_mode, a window that begins behind the end": Contradiction(
        "r = MaxPool<kernel_shape = [2, 1], strides = [3, 1], ceil_mode = 1>(x)",
        (2, 3, 3, 7),
        (2, 3, 2, 7),
        (2, 3, 1, 7),
    ),
    "ceil_mode and dilations": Contradiction(
        "r = MaxPool<kernel_shape = [1, 1, 1], strides = [2, 2, 2], dilations = [2, 2, 2],"
        " ceil_mode = 1>(x)",
        (2, 2, 16, 16, 16),
        (2, 2, 9, 9, 9),
        (2, 2, 8, 8, 8),
    ),
    "auto_pad and dilations": Contradiction(
        'r = AveragePool<kernel_shape = [2, 2], dilations = [2, 2], auto_pad = "SAME_UPPER">(x)',
        (0, 1, 9, 9),
        (0, 1, 9, 9),
        (0, 1, 8, 8),
        opset=19,
    ),
    "auto_pad and pads": Contradiction(
        'r = LpPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], auto_pad = "VALID">(x)',
        (1, 3, 3, 4),
        (1, 3, 3, 4),
        (1, 3, 1, 2),
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_inference_and_kernel_disagree(case: Contradiction) -> None:
    """Once they agree, what inference says of this operator may be believed."""
    sizes = ",".join(map(str, case.given))
    made = parse(f"(float[{sizes}] x) => (r) {{ {case.node} }}", opset=case.opset)
    (told,) = onnx.shape_inference.infer_shapes(made).graph.output
    inferred = tuple(dimension.dim_value for dimension in told.type.tensor_type.shape.dim)
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    computed = session.run(None, {"x": np.ones(case.given, np.float32)})[0].shape
    assert (inferred, computed) == (case.inferred, case.computed)


@pytest.mark.parametrize("node", ["ReduceMax<axes = [-1]>(x)", "ArgMax<axis = -1>(x)"])
def test_axis_that_is_counted_from_the_end_of_an_empty_tensor_stays(node: str) -> None:
    """Once no supported version leaves it, shapes behind reductions are certain without sizes."""
    made = parse(f"(float[n, 2] x) => (y) {{ y = {node} }}", opset=17)
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    (result,) = session.run(None, {"x": np.zeros((0, 2), np.float32)})
    assert result.shape == before_and_since(REDUCED, (0, 2), (0, 1))


def test_matmul_with_nothing_to_sum_up_gives_the_first_operands_stack() -> None:
    """Once no supported version does, shapes behind a MatMul are certain whatever it sums up."""
    made = parse("(float[?, 2, n] x, float[?, n, 2] y) => (float[] z) { z = MatMul(x, y) }")
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    feeds = {"x": np.zeros((1, 2, 0), np.float32), "y": np.zeros((3, 0, 2), np.float32)}
    (result,) = session.run(None, feeds)
    assert result.shape == before_and_since(STACKED, (1, 2, 2), (3, 2, 2))


def test_memory_of_an_argmax_of_nothing_does_not_fit_who_gets_it() -> None:
    """Once no supported version says so, random graphs need not leave out runs that end so."""
    made = parse(
        "(float[n] x) => (int64[1] y, int64 size) <int64[1] zero = {0}> {"
        " a = ArgMax<axis = -1>(x) b = Abs(a) size = Size(b)"
        " c = Unsqueeze(size, zero) d = Add(c, zero) e = Neg(d) y = Abs(e) }"
    )
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    elsewhere = r"Shape mismatch attempting to re-use buffer\. \{0\} != \{1\}"
    told = before_and_since(REDUCED, elsewhere, "ArgMax node")
    with pytest.raises((Fail, RuntimeException), match=told):
        session.run(None, {"x": np.zeros(0, np.float32)})
