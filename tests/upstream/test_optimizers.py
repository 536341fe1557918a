"""Graph optimizations of ONNX Runtime that change results or take the failure channel away."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from support.graphs import model, tensor

pytestmark = pytest.mark.upstream

DISABLED_OPTIMIZERS = "optimization.disable_specified_optimizers"
Level = ort.GraphOptimizationLevel
OPTIMIZING = [
    pytest.param(Level.ORT_ENABLE_BASIC, id="basic"),
    pytest.param(Level.ORT_ENABLE_EXTENDED, id="extended"),
    pytest.param(Level.ORT_ENABLE_ALL, id="all"),
]


def optimized(model_proto, path, level, disabled=""):
    """A session, and the nodes that it kept."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(path / "optimized.onnx")
    if disabled:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, disabled)
    session = ort.InferenceSession(model_proto.SerializeToString(), options)
    kept = onnx.load(path / "optimized.onnx").graph.node
    return session, [(node.op_type, node.name) for node in kept]


def reciprocal_times_y():
    nodes = [
        helper.make_node("Div", ["one", "x"], ["reciprocal"], name="divide"),
        helper.make_node("Mul", ["reciprocal", "y"], ["z"], name="multiply"),
    ]
    one = numpy_helper.from_array(np.array(1, np.float32), "one")
    x, y, z = (tensor(name, "float", [None]) for name in "xyz")
    return model(nodes, [x, y], [z], initializers=[one])


def random_feeds():
    generator = np.random.default_rng(0)
    x, y = (generator.random(4096, dtype=np.float32) + 1 for _ in range(2))
    return {"x": x, "y": y}


@pytest.mark.parametrize("level", OPTIMIZING)
def test_reciprocal_and_product_are_fused_into_a_quotient_of_another_value(tmp_path, level):
    """Once the results stay, DivMulFusion need not be thought of."""
    session, _ = optimized(reciprocal_times_y(), tmp_path, level)
    feeds = random_feeds()
    (result,) = session.run(None, feeds)
    as_written = (np.float32(1) / feeds["x"]) * feeds["y"]
    assert np.count_nonzero(result != as_written) > 0


def test_fusion_of_reciprocal_and_product_can_be_switched_off(tmp_path):
    session, _ = optimized(
        reciprocal_times_y(), tmp_path, Level.ORT_ENABLE_ALL, disabled="DivMulFusion"
    )
    feeds = random_feeds()
    (result,) = session.run(None, feeds)
    assert np.array_equal(result, (np.float32(1) / feeds["x"]) * feeds["y"])


def reshape_after_the_channel():
    nodes = [
        helper.make_node("Neg", ["s"], ["computed"]),
        helper.make_node("Reshape", ["x", "computed"], ["c"], name="the channel"),
        helper.make_node("Reshape", ["c", "target"], ["y"], name="the model's own"),
    ]
    target = numpy_helper.from_array(np.array([2, 2], np.int64), "target")
    inputs = [tensor("x", "float", [None]), tensor("s", "int64", [None])]
    return model(nodes, inputs, [tensor("y", "float", [2, 2])], initializers=[target])


IMPOSSIBLE_SHAPE = {"x": np.ones(4, np.float32), "s": np.array([102])}


@pytest.mark.parametrize("level", OPTIMIZING)
def test_reshape_by_a_computed_shape_is_dissolved_in_a_reshape_behind_it(tmp_path, level):
    """Once it stays, `register` need not switch ReshapeFusion off."""
    session, kept = optimized(reshape_after_the_channel(), tmp_path, level)
    (result,) = session.run(None, IMPOSSIBLE_SHAPE)
    assert (kept, result.shape) == ([("Reshape", "the channel_new_reshape")], (2, 2))


def test_fusion_of_reshapes_can_be_switched_off(tmp_path):
    session, kept = optimized(
        reshape_after_the_channel(), tmp_path, Level.ORT_ENABLE_ALL, disabled="ReshapeFusion"
    )
    with pytest.raises(Exception, match=r"the channel.*less than -1, got -102"):
        session.run(None, IMPOSSIBLE_SHAPE)
    assert [name for _, name in kept[1:]] == ["the channel", "the model's own"]
