"""Checks that tensors have as many elements as their sizes say, which the ONNX checker does not."""

import math

import onnx
import onnx_ir as ir
from onnx.external_data_helper import uses_external_data

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_tensors

_BITS_OF_BYTE = 8
_SHARING_BITS = (2, 4)
_COMPLEX = (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128)
_KNOWN = frozenset(map(int, ir.DataType)) - {onnx.TensorProto.UNDEFINED}


def check_elements(proto: onnx.ModelProto) -> None:
    """Check that every tensor in the file has all of its elements, and no more.

    Args:
        proto: A model that the ONNX checker takes.

    Raises:
        InvalidModel: A tensor has not, or is of an element type that is not known here.
    """
    for tensor in all_tensors(proto):
        if tensor.data_type not in _KNOWN:
            raise InvalidModel(
                f"tensor '{tensor.name}' has the element type {tensor.data_type}, which this "
                "installation does not know; upgrade onnx and onnx-ir, or export the model again"
            )
        if not uses_external_data(tensor):
            _check(tensor)


def _check(tensor: onnx.TensorProto) -> None:
    if any(size < 0 for size in tensor.dims):
        raise InvalidModel(f"tensor '{tensor.name}' has a negative size: {list(tensor.dims)}")
    count = math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        needed, stored, unit = _bytes(count, tensor.data_type), len(tensor.raw_data), "bytes"
    else:
        needed, stored, unit = _entries(count, tensor.data_type), _stored(tensor), "entries"
    if needed != stored:
        raise InvalidModel(
            f"tensor '{tensor.name}' of shape {list(tensor.dims)} needs {needed} {unit}, and the "
            f"file has {stored}; export the model again"
        )


def _bytes(count: int, element_type: int) -> int:
    if element_type == onnx.TensorProto.STRING:
        raise InvalidModel("a tensor of strings holds raw bytes, which ONNX does not allow")
    return _in_units(count * ir.DataType(element_type).bitwidth)


def _entries(count: int, element_type: int) -> int:
    """Entries of the list that stands for the raw bytes; narrow elements share one."""
    if element_type in _COMPLEX:
        return 2 * count
    if element_type == onnx.TensorProto.STRING:
        return count
    bits = ir.DataType(element_type).bitwidth
    return _in_units(count * bits) if bits in _SHARING_BITS else count


def _in_units(bits: int) -> int:
    return -(-bits // _BITS_OF_BYTE)


def _stored(tensor: onnx.TensorProto) -> int:
    field = onnx.helper.tensor_dtype_to_field(tensor.data_type)
    return len(getattr(tensor, field))
