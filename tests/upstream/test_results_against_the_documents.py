"""Results that the documents of the operators do not admit, without a word."""

import numpy as np
import onnx
import onnx.helper as h
import onnxruntime as ort
import pytest
from restrictions import outcome

from sonnx_ort.meaning import Undefined
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import Applied
from support.graphs import parse
from support.meanings import by_onnxruntime, outside
from support.processor import FLAGS, on_x86
from support.sessions import LEVELS, quiet

pytestmark = pytest.mark.upstream

F, H, D, I8, U8 = np.float32, np.float16, np.float64, np.int8, np.uint8
INF, NAN = np.inf, np.nan


def filled(value, dtype, *shape):
    return np.full(shape, value, dtype)


def scalars(dtype, *values):
    return [np.array(value, dtype) for value in values]


def lstm(output_gate=10, **attributes):
    """One step of one place: a cell that starts at 3, and gates that their biases decide."""
    bias = np.zeros((1, 8), F)
    bias[0, :4] = [10, output_gate, 10, 10]
    zeros = filled(0, F, 1, 4, 1)
    start = [filled(0, F, 1, 1, 1), filled(3, F, 1, 1, 1)]
    operands = [filled(1, F, 1, 1, 1), zeros, zeros, bias, None, *start]
    return Applied("LSTM", operands, {"hidden_size": 1, **attributes})


def gru(proposed):
    """One step of one place that takes all of the new state, the tangent of a number."""
    bias = F([[-200, 0, proposed, 0, 0, 0]])
    zeros = filled(0, F, 1, 3, 1)
    return Applied("GRU", [filled(1, F, 1, 1, 1), zeros, zeros, bias], {"hidden_size": 1})


LOST = "Softmax is 0 below the normal numbers"
"""ONNX Runtime has another kernel for processors with AVX-512, which is right."""

WRONG = {
    "Sigmoid far below zero is larger": (Applied("Sigmoid", [filled(-17.374096, F, 16)]),
        1.4901161e-07, 2.8479084e-08),
    "Sigmoid of float is 0 below -19": (Applied("Sigmoid", [filled(-20, F, 16)]), 0, 2.0611537e-9),
    "Sigmoid of double is 0 below -38": (Applied("Sigmoid", [filled(-40, D, 16)]), 0,
        4.248354255291589e-18),
    "Tanh is below -1": (Applied("Tanh", [filled(-8.613058, F, 16)]), -1.0000002, -0.99999994),
    "Sin of double near a multiple of pi": (Applied("Sin", [filled(12.566383207982742, D, 16)]),
        1.2593623569423683e-05, 1.2593623568933825e-05),
    "MaxPool passes over NaN": (Applied("MaxPool", [F([[[1, NAN]]])], {"kernel_shape": [2]}), 1,
        NAN),
    "MaxPool of NaN alone is finite": (Applied("MaxPool", [F([[[NAN]]])], {"kernel_shape": [1]}),
        np.finfo(F).min, NAN),
    LOST: (Applied("Softmax", [F([[*[-88] * 15, 0]])]), 0, 6.054601e-39),
    "QuantizeLinear of float16 divides in float": (Applied("QuantizeLinear", scalars(H, 0.25, 0.1)),
        3, 2),
    "LSTM has the error of Sigmoid": (lstm(-17.374096), 1.4891162e-07, 2.8459976e-08),
    "GRU has a state above 1": (gru(9.884769), 1.0000004768, 1),
    "LSTM does not clip the cell": (lstm(clip=0.5), 0.6059582, 0.28764912),
    "ConvInteger pads with the zero point": (
        Applied("ConvInteger", [filled(1, U8, 1, 1, 1), filled(1, U8, 1, 1, 2), np.array(3, U8)],
            {"pads": [1, 0]}),
        -2,
        -5,
    ),
    "Gemm leaves C out by a beta of 0": (
        Applied("Gemm", [filled(1, F, 1, 1)] * 2 + [filled(NAN, F, 1, 1)], {"beta": 0.0}),
        1,
        NAN,
    ),
    "Resize crops no axis of scale 1": (
        Applied("Resize", [F([1, 2, 3, 4, 5]), F([0.25, 1]), None, np.int64([5])],
            {"coordinate_transformation_mode": "tf_crop_and_resize"}, opset=19,
            constants=frozenset(["sizes"])),
        1,
        2,
    ),
}  # fmt: skip


@on_x86
@pytest.mark.parametrize("name", [n for n in WRONG if n != LOST or "avx512f" not in FLAGS])
def test_result_is_not_admitted(name):
    """Once it is, its entry in `tests/conformance/test_meanings.py` can go."""
    applied, given, right = WRONG[name]
    found = by_onnxruntime(applied)
    assert outside(applied, found)
    assert found[0].ravel()[0] == pytest.approx(given, rel=1e-7, nan_ok=True)
    assert applied.meaning[0].nearest.ravel()[0] == pytest.approx(right, rel=1e-7, nan_ok=True)


@on_x86
def test_tanh_misses_small_numbers_by_many_units_within_its_bound():
    """Once it is near, its underflow can go from the findings; the bound is absolute near 0."""
    applied = Applied("Tanh", [filled(1.9562956e-38, F, 16)])
    (found,) = by_onnxruntime(applied)
    nearest = applied.meaning[0].nearest
    assert abs(int(found.view(np.int32)[0]) - int(nearest.view(np.int32)[0])) > 50
    assert not outside(applied, [found])


def test_range_adds_the_step_again_and_again():
    """Once it multiplies, its last element is 999.9, as that of the reference evaluator."""
    applied = Applied("Range", scalars(F, 0, 1000, 0.1))
    (found,) = by_onnxruntime(applied)
    assert found[-1] == F(999.8029)
    assert applied.meaning[0].nearest[-1] == F(999.9)


@pytest.mark.parametrize(("stride", "size"), [(1, 0), (2, 1), (4, 1)])
def test_window_that_does_not_fit_is_pooled_if_its_stride_is_above_one(stride, size):
    """Once the quotient is rounded down, no size is 1; Conv raises an error."""
    said = {"kernel_shape": [3], "strides": [stride]}
    applied = Applied("MaxPool", [F([[[5, 7]]])], said)
    (found,) = by_onnxruntime(applied)
    assert found.shape == (1, 1, size)
    assert applied.meaning[0].nearest.shape == (1, 1, 0)


def test_max_pool_of_no_channels_is_refused():
    applied = Applied("MaxPool", [filled(1, F, 1, 0, 2)], {"kernel_shape": [1]})
    with pytest.raises(Exception, match="Only N can be zero"):
        by_onnxruntime(applied)
    assert applied.meaning[0].nearest.shape == (1, 0, 2)


def test_squeeze_by_no_axes_takes_all_away():
    applied = Applied("Squeeze", [filled(1, F, 1, 2, 1), np.zeros(0, np.int64)])
    (found,) = by_onnxruntime(applied)
    assert (found.shape, applied.meaning[0].nearest.shape) == ((2,), (1, 2, 1))


def test_squeeze_accepts_an_axis_named_twice():
    applied = Applied("Squeeze", [filled(1, F, 1, 2, 1), np.int64([0, -3])])
    (found,) = by_onnxruntime(applied)
    assert found.shape == (2, 1)
    assert applied.meaning == Undefined("the axes [0, -3] name one twice")


def test_convinteger_has_no_zero_point_for_each_output():
    operands = [filled(1, U8, 1, 1, 1), filled(1, I8, 2, 1, 1), np.array(0, U8), I8([0, 1])]
    applied = Applied("ConvInteger", operands)
    assert applied.meaning[0].nearest.ravel().tolist() == [1, 0]
    with pytest.raises(Exception, match="Non per-tensor quantization is not supported now"):
        by_onnxruntime(applied)


@pytest.mark.skipif("avx512f" not in FLAGS, reason="not a processor with AVX-512")
def test_softmax_keeps_what_is_below_the_normal_numbers_with_avx512():
    applied, _, right = WRONG[LOST]
    found = by_onnxruntime(applied)
    assert not outside(applied, found)
    assert found[0].ravel()[0] == pytest.approx(right, rel=1e-7)


TOGETHER = 16
"""So many elements that none of the first is computed by itself."""


@on_x86
@pytest.mark.parametrize(
    ("operator", "x", "units"), [("Acos", "0x1.f8da1cp-6", 4), ("Log", "0x1.61523cp-1", 3)]
)
def test_float_misses_the_nearest_number_by_several_units(operator, x, units):
    """Once it is nearer, the oracle may admit less; see `campaigns.py units`."""
    operand = np.full(TOGETHER, float.fromhex(x), np.float32)
    made = parse(f"(float[n] X) => (float[n] Y) {{ Y = {operator}(X) }}")
    (found,) = ort.InferenceSession(made.SerializeToString()).run(None, {"X": operand})
    nearest = outcome(operator, [operand], ElementType.FLOAT, Edition.TYPED)
    assert abs(int(found.view(np.int32)[0]) - int(nearest.view(np.int32)[0])) == units


with_avx2 = pytest.mark.skipif("avx2" not in FLAGS, reason="not a processor with AVX2")

ONNX_TYPES = {np.int8: onnx.TensorProto.INT8, np.uint8: onnx.TensorProto.UINT8}


@with_avx2
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


def by_onnxruntime_at(model: onnx.ModelProto, level: str, x: list[int]) -> list[int]:
    options = quiet()
    options.graph_optimization_level = LEVELS[level]
    session = ort.InferenceSession(model.SerializeToString(), options)
    (found,) = session.run(None, {"x": np.array([x], np.uint8)})
    return list(found.ravel().tolist())


@with_avx2
@pytest.mark.parametrize("level", LEVELS)
def test_product_of_quantized_matrices_is_cut_to_sixteen_bits(level: str) -> None:
    """2 * 255 * 127 / 256 is 253, and the largest number of 16 bits by 256 is 128."""
    cut = level in ("extended", "all") and FLAGS.isdisjoint({"avx_vnni", "avx512_vnni"})
    assert by_onnxruntime_at(MULTIPLIED, level, [255, 255]) == [128 if cut else 253]


@with_avx2
@pytest.mark.parametrize("level", LEVELS)
def test_quantized_softmax_is_not_rounded_to_the_nearest_number(level: str) -> None:
    """The last element is 213.61 before it is rounded."""
    last = 213 if level in ("extended", "all") else 214
    assert by_onnxruntime_at(ACTIVATED, level, [219, 211, 231, 251]) == [9, 4, 29, last]
