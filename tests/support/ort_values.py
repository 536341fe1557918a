"""Tensors in and out of ONNX Runtime in all twelve types, bfloat16 among them."""

import ctypes
import math
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

Array = npt.NDArray[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def run(session: ort.InferenceSession, feeds: Mapping[str, Array]) -> list[Array]:
    """Run a model on arrays of any numeric type, bfloat16 too, and give all outputs."""
    values = {name: to_ort_value(array) for name, array in feeds.items()}
    return [to_array(value) for value in session.run_with_ort_values(None, values)]


def to_ort_value(array: Array) -> ort.OrtValue:
    """Hand an array to ONNX Runtime; bfloat16 by its bits."""
    if array.dtype != BFLOAT16:
        return ort.OrtValue.ortvalue_from_numpy(array)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
        array.view(np.uint16), onnx.TensorProto.BFLOAT16
    )


def to_array(value: ort.OrtValue) -> Array:
    """Copy a tensor out of ONNX Runtime; bfloat16 by its bits."""
    if value.data_type() != "tensor(bfloat16)":
        return np.array(value.numpy())
    size = math.prod(value.shape())
    bits = ctypes.string_at(value.data_ptr(), 2 * size) if size else b""
    return np.frombuffer(bits, BFLOAT16).reshape(value.shape()).copy()
