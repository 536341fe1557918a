"""Checks that every tensor in a file has as many elements as its shape says."""

import math

import onnx
import onnx_ir as ir
from onnx.external_data_helper import uses_external_data

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_tensors

_BITS_OF_BYTE = 8
_PACKED_BITS = (2, 4)
MOST_AXES_OF_ARRAYS = 64
"""The largest number of axes of an array of numpy."""

_COMPLEX = (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128)
KNOWN_TYPES = frozenset(map(int, ir.DataType)) - {onnx.TensorProto.UNDEFINED}
"""The element types that the graph library knows."""


def check_elements(proto: onnx.ModelProto) -> None:
    """Check that the size of every tensor in the file matches its shape.

    The model has to have passed the ONNX checker.

    Raises:
        InvalidModel: A size does not match, or an element type is unknown here.
    """
    for tensor in all_tensors(proto):
        if tensor.data_type not in KNOWN_TYPES:
            raise InvalidModel(
                f"tensor '{tensor.name}' has the element type {tensor.data_type}, which this "
                "installation does not know; upgrade onnx and onnx-ir, or export the model again"
            )
        _check_shape(tensor)
        if not uses_external_data(tensor):
            _check(tensor)


def _check_shape(tensor: onnx.TensorProto) -> None:
    if any(size < 0 for size in tensor.dims):
        raise InvalidModel(f"tensor '{tensor.name}' has a negative size: {list(tensor.dims)}")
    if len(tensor.dims) > MOST_AXES_OF_ARRAYS:
        raise InvalidModel(
            f"tensor '{tensor.name}' has {len(tensor.dims)} axes, and arrays have at most "
            f"{MOST_AXES_OF_ARRAYS}; take axes of size 1 away"
        )


def _check(tensor: onnx.TensorProto) -> None:
    count = math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        needed, stored, unit = bytes_of(count, tensor.data_type), len(tensor.raw_data), "bytes"
    else:
        needed, stored, unit = _entries(count, tensor.data_type), _stored(tensor), "entries"
    if needed != stored:
        raise InvalidModel(
            f"tensor '{tensor.name}' of shape {list(tensor.dims)} needs {needed} {unit}, and the "
            f"file has {stored}; export the model again"
        )


def bytes_of(count: int, element_type: int) -> int:
    """The bytes of so many elements.

    Raises:
        InvalidModel: They are strings, which have no bytes.
    """
    if element_type == onnx.TensorProto.STRING:
        raise InvalidModel(
            "a tensor of strings has raw bytes, which ONNX does not allow; export the model again"
        )
    return _whole_bytes(count * ir.DataType(element_type).bitwidth)


def _entries(count: int, element_type: int) -> int:
    """Length of the list that replaces raw bytes; narrow elements share an entry."""
    if element_type in _COMPLEX:
        return 2 * count
    if element_type == onnx.TensorProto.STRING:
        return count
    bits = ir.DataType(element_type).bitwidth
    return _whole_bytes(count * bits) if bits in _PACKED_BITS else count


def _whole_bytes(bits: int) -> int:
    return -(-bits // _BITS_OF_BYTE)


def _stored(tensor: onnx.TensorProto) -> int:
    field = onnx.helper.tensor_dtype_to_field(tensor.data_type)
    return len(getattr(tensor, field))
