"""Values of ONNX Runtime from arrays, and arrays from them, of every type that it runs."""

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.runtime.feeds import in_machine_order
from sonnx_ort.runtime.session_options import FATAL

Array = npt.NDArray[Any]

_TENSOR = "tensor("
"""The start of the types of tensors."""

_OTHERS = 256
"""The number of the first dtype that is not numpy's own."""

_OPSET, _IR = 13, 7
"""The versions of a model that gives text."""


def to_ort_value(array: Array) -> onnxruntime.OrtValue:
    """Convert an array for ONNX Runtime.

    Raises:
        SonnxError: ONNX Runtime's interface takes no arrays of its dtype.
    """
    array = in_machine_order(array)
    if array.dtype.kind in "OU":
        return _text(array)
    if _is_of_numpy(array.dtype):
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    size = array.dtype.itemsize
    if array.dtype.num < _OTHERS or _bits(array.dtype) != 8 * size:
        raise SonnxError(
            f"ONNX Runtime's interface takes no arrays of {array.dtype}; give another type"
        )
    element_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    bits = np.ascontiguousarray(array).reshape(array.shape).view(f"u{size}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, element_type)


def _is_of_numpy(dtype: np.dtype[Any]) -> bool:
    """Whether it is a type of numbers or booleans of numpy's own."""
    return dtype.num < _OTHERS and dtype.kind in "biufc"


def _bits(dtype: np.dtype[Any]) -> int:
    """How many bits an element of a type of ml_dtypes has, which numpy stores in bytes."""
    try:
        return int(ml_dtypes.finfo(dtype).bits)  # type: ignore[no-untyped-call]
    except ValueError:
        return int(ml_dtypes.iinfo(dtype).bits)  # type: ignore[no-untyped-call]


def _text(array: Array) -> onnxruntime.OrtValue:
    """Text, which only a model can make an `OrtValue` of."""
    tensor = onnx.TensorProto(name="text", data_type=onnx.TensorProto.STRING, dims=array.shape)
    tensor.string_data.extend(str(each).encode() for each in array.ravel().tolist())
    result = helper.make_tensor_value_info("same", onnx.TensorProto.STRING, array.shape)
    node = helper.make_node("Identity", ["text"], ["same"])
    graph = helper.make_graph([node], "text", [], [result], [tensor])
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run_with_ort_values(None, {})[0]


def to_array(value: onnxruntime.OrtValue) -> Array | None:
    """Copy a tensor from ONNX Runtime; None if the value is not a tensor."""
    if not value.has_value() or not value.is_tensor():
        return None
    dtype = helper.tensor_dtype_to_np_dtype(value.element_type())
    if _is_of_numpy(dtype) or dtype.kind == "O":
        return np.array(value.numpy())
    # numpy() knows no such type, or takes it for one of plain bits.
    size = -(-math.prod(value.shape()) * _bits(dtype) // 8)
    tensor = onnx.TensorProto(data_type=value.element_type(), dims=value.shape())
    tensor.raw_data = ctypes.string_at(value.data_ptr(), size) if size else b""
    return np.array(numpy_helper.to_array(tensor))


def run_on_values(
    session: onnxruntime.InferenceSession, names: Sequence[str], feeds: Mapping[str, Any]
) -> dict[str, Any]:
    """Run a session on inputs of any types: arrays, lists for sequences, dictionaries for maps.

    Returns:
        The outputs of these names: arrays, lists, dictionaries, None for an absent one.
    """
    types = [output.type for output in session.get_outputs() if output.name in names]
    tensors = all(isinstance(each, np.ndarray) for each in feeds.values())
    if not (tensors and all(each.startswith(_TENSOR) for each in types)):
        return dict(zip(names, session.run(names, feeds), strict=True))
    given = {name: to_ort_value(array) for name, array in feeds.items()}
    found = session.run_with_ort_values(names, given)
    return {name: to_array(value) for name, value in zip(names, found, strict=True)}
