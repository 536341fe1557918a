"""Where the reference evaluator of ONNX gives something else than ONNX says."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from sonnx_ort.vectors.applied import Applied
from support.graphs import parse
from support.meanings import by_reference, outside
from support.processor import FLAGS

pytestmark = pytest.mark.upstream

F, INT32 = np.float32, np.int32
NAN, INF = np.nan, np.inf
ROW = F([[[1, 2, 3, 4]]])


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, F)


def lstm(lengths: np.ndarray | None = None, **attributes: object) -> Applied:
    """Two steps of one place, whose gates are all 2."""
    bias = np.full((1, 8), 1, F)
    operands = [ones(2, 1, 1), 0 * ones(1, 4, 1), 0 * ones(1, 4, 1), bias, lengths]
    return Applied("LSTM", operands, {"hidden_size": 1, **attributes}, 2)


def gru(lengths: np.ndarray | None = None, **attributes: object) -> Applied:
    """Two steps of one place, whose gates are all 2."""
    operands = [ones(2, 1, 1), 0 * ones(1, 3, 1), 0 * ones(1, 3, 1), ones(1, 6), lengths]
    return Applied("GRU", operands, {"hidden_size": 1, **attributes}, 2)


DIFFERING = {
    "MaxPool counts within a channel": Applied(
        "MaxPool", [ones(1, 2, 1)], {"kernel_shape": [1]}, 2
    ),
    "MaxPool passes over NaN": Applied("MaxPool", [F([[[NAN, 1]]])], {"kernel_shape": [2]}),
    "Conv multiplies what is between a dilated kernel by zero": (
        Applied("Conv", [F([[[1, INF, 1]]]), ones(1, 1, 2)], {"dilations": [2]})
    ),
    "QuantizeLinear wraps beyond int32": Applied("QuantizeLinear", [F([3e9]), F([1])]),
    "DequantizeLinear rounds before it subtracts": (
        Applied("DequantizeLinear", [INT32([2**24 + 1]), F([1]), INT32([2**24])])
    ),
    "Gemm multiplies integers in double": (
        Applied("Gemm", [np.int64([[2**53 + 1]]), np.int64([[1]])])
    ),
    "Softmax before version 13 is that of version 13": (
        Applied("Softmax", [ones(1, 2, 2)], {"axis": 1}, opset=12)
    ),
    "Softmax of negative infinity alone is NaN": Applied("Softmax", [F([-INF, -INF])]),
    "Shape counts an end before the first axis from the last": Applied(
        "Shape", [ones(2, 3)], {"end": -3}
    ),
    "PRelu multiplies zero by the slope": Applied("PRelu", [F([0]), F([INF])]),
    "Clip takes a NaN for a bound": Applied("Clip", [F([1]), F([NAN])]),
    "Relu loses -0": Applied("Relu", [F([-0.0])]),
    "Acos of double is not the nearest": Applied("Acos", [np.float64([0.5])]),
    "BatchNormalization of version 9 is that of training": Applied(
        "BatchNormalization", [F([[1], [3]]), *(F([each]) for each in (1, 0, 0, 1))], opset=9
    ),
    "Erf of double is that of float": Applied("Erf", [np.float64([0.5])]),
    "GRU has no lengths of sequences": gru(INT32([1])),
    "GRU has no clip": gru(clip=0.5),
    "GRU has no other activations": gru(activations=["Relu", "Tanh"]),
    "ConvTranspose adds the bias of the first group": Applied(
        "ConvTranspose", [ones(1, 2, 1), ones(2, 1, 1), F([0, 5])], {"group": 2}
    ),
    "Resize aligns corners by a size with a fraction": Applied(
        "Resize",
        [ROW, None, F([1, 1, 0.6])],
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    ),
    "Resize multiplies what is not nearest by zero": Applied("Resize", [F([INF, 1]), None, F([2])]),
    "Resize computes integers in double": (
        Applied("Resize", [np.int64([2**53 + 1]), None, F([2])])
    ),
    "Resize to one element is half a pixel off": Applied(
        "Resize",
        [ROW, None, None, np.int64([1, 1, 1])],
        {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"},
    ),
    "LSTM has no lengths of sequences": lstm(INT32([1])),
    "LSTM has no clip": lstm(clip=0.5),
    "LSTM has no coupled gates": lstm(input_forget=1),
    "LSTM has no other activations": lstm(activations=["Relu", "Tanh", "Tanh"]),
}


_BY_VECTORS = "Acos of double is not the nearest"
"""What numpy computes by instructions that not all processors have."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                name == _BY_VECTORS and "avx512f" not in FLAGS,
                reason="numpy computes the nearest number without AVX-512",
            ),
        )
        for name in DIFFERING
    ],
)
def test_result_is_another_than_the_documents_have(name: str) -> None:
    """Once it is not, its entry in `tests/conformance/test_meanings.py` can go."""
    applied = DIFFERING[name]
    assert outside(applied, by_reference(applied))


@pytest.mark.parametrize(
    "applied",
    [
        Applied("MaxPool", [ROW.astype(np.int8)], {"kernel_shape": [2], "pads": [1, 1]}),
        Applied("MaxPool", [ROW], {"kernel_shape": [2], "pads": [1, 0]}),
        Applied("Flatten", [ones(0, 2)]),
        Applied(
            "BatchNormalization", [F([[1], [3]]), *(F([each]) for each in (1, 0, 0, 1))], opset=7
        ),
        Applied("DequantizeLinear", [np.int8([2]), F(1), np.int8(0)], opset=13),
        Applied("ConvTranspose", [ones(1, 2, 1), ones(2, 2, 1)], {"group": 2}),
        Applied("ConvTranspose", [ROW[:, :, :3], ones(1, 1, 2)], {"output_shape": [3]}),
        Applied("ConvTranspose", [ones(0, 1, 1), ones(1, 1, 1)]),
        Applied("Resize", [np.array([True, False]), None, F([2])]),
        Applied("Resize", [ones(1, 2, 3), None, F([2, 2])], {"axes": [-1, -2]}),
    ],
    ids=[
        *("MaxPool of padded integers", "MaxPool of one padded axis", "Flatten of nothing"),
        *("BatchNormalization of version 7", "DequantizeLinear of version 13"),
        *("ConvTranspose of groups with several outputs", "ConvTranspose of a stated size"),
        *("ConvTranspose of nothing", "Resize of bools", "Resize of axes counted from the last"),
    ],
)
def test_defined_result_is_an_error(applied: Applied) -> None:
    assert isinstance(applied.meaning, tuple)
    with pytest.raises((ValueError, IndexError, TypeError, RuntimeError)):
        by_reference(applied)


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
