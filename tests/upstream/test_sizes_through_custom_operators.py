"""ONNX Runtime knows Div and Sub by their names alone when it follows sizes."""

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from support.graphs import parse

pytestmark = pytest.mark.upstream

GRAPH = """
    (float[3] x, float[2] y) => (int64[] z)
    {
        zero = Constant<value_int = 0>()
        s = Shape(x) a = Gather(s, zero)
        t = Shape(y) b = Gather(t, zero)
        w = Sub(a, b)
        copy = Identity(w)
        shape = Shape(copy)
        z = Size(shape)
    }"""


def enforced(*, between):
    """The enforced model, with and without what stands between a kernel's shape and its guard."""
    model = sonnx_ort.rewrite(parse(GRAPH))
    (concat,) = [node for node in model.graph.node if node.op_type == "Concat"]
    if not between:
        (guard,) = [node for node in model.graph.node if concat.output[0] in node.input]
        guard.input[1] = concat.input[0]
        model.graph.node.remove(concat)
    return model


def rank_of_the_difference(model):
    options = sonnx_ort.register(ort.SessionOptions())
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    feeds = {"x": np.ones(3, np.float32), "y": np.ones(2, np.float32)}
    return session.run(None, feeds)[0].item()


def test_difference_of_sizes_is_taken_for_the_shape_that_a_kernel_gives():
    """Once it is not, the Concat between a kernel and its guard can go."""
    assert rank_of_the_difference(enforced(between=False)) == 1


def test_it_is_not_followed_through_a_concat():
    assert rank_of_the_difference(enforced(between=True)) == 0
