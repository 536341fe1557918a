"""ONNX Runtime takes custom operators for its own by name alone, whatever their domain."""

import json

import pytest

from support.child import ChildResult, run_python

pytestmark = pytest.mark.upstream

PROBE = """
import json
import numpy as np
import onnxruntime as ort
from onnxruntime_extensions import PyOp, get_library_path, onnx_op
from support.graphs import parse

def shape_behind(operator, inputs, level):
    '''The shape, by a Shape, of what a custom operator of a name gives: [1, 1] if it is right.'''
    @onnx_op(op_type=f"probe::{operator}", inputs=[PyOp.dt_int64] * len(inputs),
             outputs=[PyOp.dt_int64] * 2)
    def kernel(*operands):
        return np.array([[7]]), np.array([1, 1])

    model = parse(f'''(float[4] x, float[2] y) => (int64[] z)
        <int64 zero = {{0}}, int64[1] zeros = {{0}}> {{
            a = Shape(x) b = Shape(y) p = Gather(a, zero)
            result, shape = probe.{operator}({", ".join(inputs)})
            guarded = Reshape(result, shape) copy = Identity(guarded) z = Shape(copy)
        }}''', domains={"probe": 1})
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    options.register_custom_ops_library(get_library_path())
    session = ort.InferenceSession(model.SerializeToString(), options)
    feeds = {"x": np.ones(4, np.float32), "y": np.ones(2, np.float32)}
    return session.run(None, feeds)[0].tolist()
"""

NONE, BASIC = (
    "ort.GraphOptimizationLevel.ORT_DISABLE_ALL",
    "ort.GraphOptimizationLevel.ORT_ENABLE_BASIC",
)


def probed(operator: str, *inputs: str, level: str = BASIC) -> ChildResult:
    return run_python(PROBE, f"print(json.dumps(shape_behind({operator!r}, {inputs!r}, {level})))")


@pytest.mark.parametrize(
    ("operator", "inputs", "taken_for"),
    [
        ("Add", ("a", "b"), [6]),
        ("Sub", ("a", "b"), [2]),
        ("Mul", ("a", "b"), [8]),
        ("Div", ("a", "b"), [2]),
        ("Gather", ("a", "zeros"), [4]),
        ("Size", ("a",), [4]),
        ("Squeeze", ("a",), [4]),
        ("Unsqueeze", ("p",), [4]),
    ],
)
def test_what_sizes_give_is_taken_for_the_shape_that_a_kernel_gives(operator, inputs, taken_for):
    """Once no name is followed, custom operators may have those of ONNX."""
    assert json.loads(probed(operator, *inputs).stdout) == taken_for


@pytest.mark.parametrize("operator", ["If", "Shape"])
def test_constant_folding_takes_a_node_away_for_its_name(operator):
    child = probed(operator, "a")
    assert child.exit_status == 1, child
    assert json.loads(probed(operator, "a", level=NONE).stdout) == [1, 1]


@pytest.mark.parametrize(
    "operator", ["Add", "Conv", "ConvTranspose", "Div", "Gemm", "Mul", "Sub", "Where"]
)
def test_optimizer_reads_operands_that_a_node_of_that_name_does_not_have(operator):
    assert probed(operator, "a").killed_by is not None


@pytest.mark.parametrize("operator", ["CheckedDiv", "DivOperands", "MatMul", "Max", "Pow", "Slice"])
def test_other_names_are_not_followed(operator):
    assert json.loads(probed(operator, "a", "b").stdout) == [1, 1]
