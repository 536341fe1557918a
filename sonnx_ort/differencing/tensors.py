"""Tensors in and out of ONNX Runtime, bfloat16 too, which it gives to numpy by no other way."""

import ctypes
import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

Array = npt.NDArray[Any]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_ort_value(array: Array) -> onnxruntime.OrtValue:
    """Hand an array to ONNX Runtime.

    Args:
        array: The array.
    """
    if array.dtype != _BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        array.view(np.uint16), onnx.TensorProto.BFLOAT16
    )


def to_array(value: onnxruntime.OrtValue) -> Array | None:
    """Copy a tensor out of ONNX Runtime.

    Args:
        value: The value.

    Returns:
        The tensor; None for what is no tensor.
    """
    if not value.has_value() or not value.is_tensor():
        return None
    if value.data_type() != "tensor(bfloat16)":
        return np.array(value.numpy())
    size = math.prod(value.shape())
    bits = ctypes.string_at(value.data_ptr(), _BFLOAT16.itemsize * size) if size else b""
    return np.frombuffer(bits, _BFLOAT16).reshape(value.shape()).copy()
