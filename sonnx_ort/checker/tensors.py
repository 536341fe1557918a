"""Tensors that stand in a file: elements in one place, as many as the shape says."""

from math import prod
from typing import Any

from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

from sonnx_ort.checker.fields import STORED, require_once
from sonnx_ort.kernel.sizes import require

_BITS = {
    **dict.fromkeys(("UINT2", "INT2"), 2),
    **dict.fromkeys(("UINT4", "INT4", "FLOAT4E2M1"), 4),
    **dict.fromkeys(("BOOL", "UINT8", "INT8", "FLOAT8E8M0"), 8),
    **dict.fromkeys(("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"), 8),
    **dict.fromkeys(("UINT16", "INT16", "FLOAT16", "BFLOAT16"), 16),
    **dict.fromkeys(("UINT32", "INT32", "FLOAT"), 32),
    **dict.fromkeys(("UINT64", "INT64", "DOUBLE", "COMPLEX64"), 64),
    "COMPLEX128": 128,
    "STRING": 0,
}
"""The bits of an element, by the name of its type."""

_KINDS = {number: kind for kind, number in TensorProto.DataType.items()}
_SIGNED = ("INT8", "INT16", "INT32")
_EXTERNAL_KEYS = frozenset({"location", "offset", "length", "checksum"})


def elements_of(tensor: TensorProto) -> Any:
    """The elements of a tensor."""
    inside = tensor.data_location != TensorProto.EXTERNAL
    require(inside, "its elements lie in another file, which no digest covers")
    return numpy_helper.to_array(tensor)


def read_sparse(tensor: SparseTensorProto) -> None:
    """Reject a sparse tensor whose parts are not what they seem."""
    read_tensor(tensor.values)
    read_tensor(tensor.indices)


def read_tensor(tensor: TensorProto) -> None:
    """Reject a tensor whose elements do not stand in one place, as many as its shape says."""
    name = f"the tensor '{tensor.name}'"
    kind = _KINDS.get(tensor.data_type, "")
    require(kind in _BITS, f"the type of {name} is not known")
    require(all(size >= 0 for size in tensor.dims), f"a size of {name} is negative")
    filled = [field.name for field, _ in tensor.ListFields() if field.name in STORED]
    if tensor.data_location == TensorProto.EXTERNAL:
        _read_place(tensor, name)
        require(not filled, f"{name} has elements, and lies in another file")
        return
    require(not tensor.external_data, f"{name} lies in this file and in another one")
    count, bits = prod(tensor.dims), _BITS[kind]
    if filled == ["raw_data"]:
        size = len(tensor.raw_data)
        require(bits and size == -(-count * bits // 8), f"{name} has {size} bytes")
        return
    field = helper.tensor_dtype_to_field(tensor.data_type)
    require(filled in ([], [field]), f"{name} has elements of another type")
    entries, packed = getattr(tensor, field), bits in (2, 4)
    needed = -(-count * bits // 8) if packed else count * (2 if kind.startswith("COMPLEX") else 1)
    require(len(entries) == needed, f"{name} has {len(entries)} elements")
    if field in ("int32_data", "uint64_data") and entries:
        width = 8 if packed else bits
        low = -(1 << (width - 1)) if kind in _SIGNED else 0
        inside = low <= min(entries) and max(entries) < low + (1 << width)
        require(inside, f"an element of {name} is beyond its type")


def _read_place(tensor: TensorProto, name: str) -> None:
    keys = [entry.key for entry in tensor.external_data]
    require_once(keys, f"where {name} lies,")
    known = "location" in keys and _EXTERNAL_KEYS.issuperset(keys)
    require(known, f"it is not known where {name} lies")
