"""Where the reference evaluator of ONNX gives something else than ONNX says."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from support.graphs import parse

pytestmark = pytest.mark.upstream


def test_slice_that_counts_down_from_a_place_in_front_of_the_axis() -> None:
    """ONNX clamps the start to the first place; once the evaluator does, it can be believed."""
    model = parse("""(float[3] x) => (float[n] y)
        <int64[1] start = {-4}, int64[1] end = {-4}, int64[1] axis = {0}, int64[1] step = {-1}> {
            y = Slice(x, start, end, axis, step)
    }""")
    x = np.array([5, 6, 7], np.float32)
    session = ort.InferenceSession(model.SerializeToString())
    assert session.run(None, {"x": x})[0].tolist() == [5]
    assert ReferenceEvaluator(model).run(None, {"x": x})[0].tolist() == []


def test_pads_of_max_pool_are_read_as_pairs() -> None:
    """ONNX lists the begins of all axes, then the ends."""
    model = parse("""(float[1,1,2,2] x) => (float[1,1,h,w] y) {
        y = MaxPool <kernel_shape = [2, 2], pads = [0, 0, 1, 1], strides = [1, 1]> (x)
    }""")
    x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    session = ort.InferenceSession(model.SerializeToString())
    assert session.run(None, {"x": x})[0].tolist() == [[[[4, 4], [4, 4]]]]
    assert ReferenceEvaluator(model).run(None, {"x": x})[0].tolist() == [[[[3, 4, 4]]]]
