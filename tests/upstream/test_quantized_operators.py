"""Quantized operators that the optimizer puts in the place of a few nodes, from "extended" on."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from support.graphs import parse
from support.processor import FLAGS
from support.sessions import LEVELS, quiet

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.skipif("avx2" not in FLAGS, reason="not a processor with AVX2"),
]

MULTIPLIED = parse(
    """(uint8[1, 2] x) => (uint8[1, 1] y)
    <float scale = {1}, uint8 zero = {0}, int8 z = {0}, int8[2, 1] w = {127, 127},
     float large = {256}>
    {
        a = DequantizeLinear(x, scale, zero)
        b = DequantizeLinear(w, scale, z)
        c = MatMul(a, b)
        y = QuantizeLinear(c, large, zero)
    }"""
)
ACTIVATED = parse(
    """(uint8[1, 4] x) => (uint8[1, 4] y)
    <float scale = {0.1}, uint8 zero = {0}, float small = {0.003919466}>
    {
        a = DequantizeLinear(x, scale, zero)
        b = Softmax(a)
        y = QuantizeLinear(b, small, zero)
    }"""
)


def by_onnxruntime(model: onnx.ModelProto, level: str, x: list[int]) -> list[int]:
    options = quiet()
    options.graph_optimization_level = LEVELS[level]
    session = ort.InferenceSession(model.SerializeToString(), options)
    (found,) = session.run(None, {"x": np.array([x], np.uint8)})
    return list(found.ravel().tolist())


@pytest.mark.parametrize("level", LEVELS)
def test_product_of_quantized_matrices_is_cut_to_sixteen_bits(level: str) -> None:
    """2 * 255 * 127 / 256 is 253, and the largest number of 16 bits by 256 is 128."""
    cut = level in ("extended", "all") and FLAGS.isdisjoint({"avx_vnni", "avx512_vnni"})
    assert by_onnxruntime(MULTIPLIED, level, [255, 255]) == [128 if cut else 253]


@pytest.mark.parametrize("level", LEVELS)
def test_quantized_softmax_is_not_rounded_to_the_nearest_number(level: str) -> None:
    """The last element is 213.61 before it is rounded."""
    last = 213 if level in ("extended", "all") else 214
    assert by_onnxruntime(ACTIVATED, level, [219, 211, 231, 251]) == [9, 4, 29, last]
