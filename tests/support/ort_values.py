"""Tensors in and out of ONNX Runtime in all twelve types, bfloat16 among them."""

import ctypes
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
    """Run a model on arrays of any numeric type, and give all outputs.

    Args:
        session: The session; its own `run` takes no bfloat16.
        feeds: The inputs by name.
    """
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
    shape = value.shape()
    size = int(np.prod(shape))
    if size == 0:
        return np.empty(shape, BFLOAT16)
    bits = (ctypes.c_uint16 * size).from_address(value.data_ptr())
    array: Array = np.array(bits, np.uint16).view(BFLOAT16).reshape(shape)
    return array
