"""ConvInteger on processors that multiply bytes with AVX2."""

import numpy as np
import onnx
import onnx.helper as h
import onnxruntime as ort
import pytest

from support.processor import FLAGS

pytestmark = pytest.mark.upstream

ONNX_TYPES = {np.int8: onnx.TensorProto.INT8, np.uint8: onnx.TensorProto.UINT8}


@pytest.mark.skipif("avx2" not in FLAGS, reason="not a processor with AVX2")
@pytest.mark.parametrize("w_type", [np.int8, np.uint8])
@pytest.mark.parametrize("x_type", [np.int8, np.uint8])
def test_sum_of_two_products_is_cut_to_sixteen_bits(x_type, w_type):
    """Of an int8 by a uint8 alone, and only where no instruction adds up in 32 bits."""
    x = np.full((1, 2, 1, 1), np.iinfo(x_type).min or 255, x_type)
    w = np.full((1, 2, 1, 1), np.iinfo(w_type).max, w_type)
    inputs = [
        h.make_tensor_value_info(name, ONNX_TYPES[kind], None)
        for name, kind in (("x", x_type), ("w", w_type))
    ]
    y = h.make_tensor_value_info("y", onnx.TensorProto.INT32, None)
    graph = h.make_graph([h.make_node("ConvInteger", ["x", "w"], ["y"])], "g", inputs, [y])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"x": x, "w": w})
    exact = 2 * int(x.max()) * int(w.max())
    cut = (x_type, w_type) == (np.int8, np.uint8) and FLAGS.isdisjoint({"avx_vnni", "avx512_vnni"})
    assert found.item() == (-(2**15) if cut else exact)
