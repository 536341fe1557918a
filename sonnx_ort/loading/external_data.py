"""Checks external data, and replaces large weights of a serialized model by references.

Messages are parsed field by field (https://protobuf.dev/programming-guides/encoding). Anything
unexpected is left to the regular parser.
"""

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

import onnx
import onnx_ir as ir
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_tensors


def external_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor of the model that is stored in another file."""
    yield from filter(uses_external_data, all_tensors(proto))


def check_external_data(proto: onnx.ModelProto, folder: Path | None) -> None:
    """Check that all external data exists inside the model's folder.

    Without a folder, the files themselves are not checked.

    Raises:
        InvalidModel: A location is absolute or leads outside the folder, or a file is missing or
            too short.
    """
    for tensor in external_tensors(proto):
        info = _information(tensor)
        _check_location(tensor.name, info.location)
        if folder is not None:
            _check_file(tensor.name, info, folder)


def _information(tensor: onnx.TensorProto) -> ExternalDataInfo:
    try:
        return ExternalDataInfo(tensor)
    except ValueError as error:
        raise _unusable(tensor) from error


def _unusable(tensor: onnx.TensorProto) -> InvalidModel:
    return InvalidModel(
        f"tensor '{tensor.name}': its external data has no usable offset and length; export the "
        "model again"
    )


def _check_location(name: str, location: str) -> None:
    pure = (PurePosixPath(location), PureWindowsPath(location))
    if not location or any(p.is_absolute() or p.drive or ".." in p.parts for p in pure):
        raise InvalidModel(
            f"tensor '{name}': its external data '{location}' lies outside the model's folder; "
            "external data must lie in that folder or below it"
        )


def _check_file(name: str, info: ExternalDataInfo, folder: Path) -> None:
    path = folder / info.location
    if not path.is_file():
        raise InvalidModel(
            f"tensor '{name}': its external data '{path}' is missing; keep it beside the model"
        )
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidModel(
            f"tensor '{name}': its external data '{path}' is a link that leads outside the "
            "model's folder; put the file itself there"
        )
    needed = (info.offset or 0) + (info.length or 0)
    if path.stat().st_size < needed:
        raise InvalidModel(
            f"tensor '{name}': its external data '{path}' ends at byte {path.stat().st_size}, "
            f"but the tensor reaches to byte {needed}; the file is truncated"
        )


LARGE = 1 << 16
"""Tensors of at least this many bytes are replaced by references."""

_GRAPH_OF_MODEL = 7
_INITIALIZER_OF_GRAPH = 5
_RAW_DATA_OF_TENSOR = 9
_REST_OF_TENSOR = frozenset({1, 2, 8, 12, 16})
"""Shape, type, name, documentation and metadata; tensors with other fields are not replaced."""

_SIZES = {
    onnx.TensorProto.FLOAT: 4,
    onnx.TensorProto.FLOAT16: 2,
    onnx.TensorProto.BFLOAT16: 2,
    onnx.TensorProto.DOUBLE: 8,
}
"""Bytes per element. Integers are not replaced, because proofs use them."""


class _Kind(enum.IntEnum):
    """The wire type of a field."""

    VARINT = 0
    FIXED_64 = 1
    LENGTH_DELIMITED = 2
    FIXED_32 = 5


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a message: its number, wire type and byte positions."""

    number: int
    kind: int
    start: int
    content: int
    end: int


def detached(model: memoryview, location: str) -> onnx.ModelProto | None:
    """Replace the large floating-point initializers of the main graph by references.

    Args:
        model: The serialized model.
        location: The location that the references give for these bytes.

    Returns:
        The model with references; None if it has no large weights, already has external data, or
        cannot be parsed. The caller then loads it the regular way.
    """
    try:
        parts, found = _without_weights(model, location)
        if not found:
            return None
        reduced = onnx.load_model_from_string(b"".join(parts))
    except Exception:  # noqa: BLE001 - the regular parser reports what is wrong
        return None
    return reduced if _refers_only_to(location, reduced) else None


def _refers_only_to(location: str, model: onnx.ModelProto) -> bool:
    entries = (entry for tensor in external_tensors(model) for entry in tensor.external_data)
    return all(entry.value == location for entry in entries if entry.key == "location")


def _without_weights(model: memoryview, location: str) -> tuple[list[bytes | memoryview], bool]:
    parts: list[bytes | memoryview] = []
    found = False
    for field in _fields(model, 0, len(model)):
        if field.number == _GRAPH_OF_MODEL and field.kind == _Kind.LENGTH_DELIMITED:
            graph, any_found = _graph_without_weights(model, field, location)
            parts += _message(_GRAPH_OF_MODEL, graph)
            found |= any_found
        else:
            parts.append(model[field.start : field.end])
    return parts, found


def _graph_without_weights(
    model: memoryview, graph: _Field, location: str
) -> tuple[list[bytes | memoryview], bool]:
    parts: list[bytes | memoryview] = []
    found = False
    for field in _fields(model, graph.content, graph.end):
        reference = None
        large = field.end - field.content >= LARGE
        if field.number == _INITIALIZER_OF_GRAPH and field.kind == _Kind.LENGTH_DELIMITED and large:
            reference = _reference(model, field, location)
        if reference is None:
            parts.append(model[field.start : field.end])
        else:
            parts += _message(_INITIALIZER_OF_GRAPH, [reference])
            found = True
    return parts, found


def _reference(model: memoryview, tensor: _Field, location: str) -> bytes | None:
    """The tensor with a reference instead of its elements; None if it cannot be replaced."""
    rest: list[bytes | memoryview] = []
    elements: list[_Field] = []
    for field in _fields(model, tensor.content, tensor.end):
        if field.number == _RAW_DATA_OF_TENSOR and field.kind == _Kind.LENGTH_DELIMITED:
            elements.append(field)
        elif field.number in _REST_OF_TENSOR:
            rest.append(model[field.start : field.end])
        else:
            return None
    if len(elements) != 1:
        return None
    offset, length = elements[0].content, elements[0].end - elements[0].content
    proto = onnx.TensorProto.FromString(b"".join(rest))
    size = _SIZES.get(proto.data_type)
    if length < LARGE or size is None or not proto.name:
        return None
    if any(dimension < 0 for dimension in proto.dims) or size * math.prod(proto.dims) != length:
        return None
    refer(proto, location, offset, length)
    content: bytes = proto.SerializeToString()
    return content


class Place(NamedTuple):
    """Where the bytes of a tensor are."""

    location: str
    offset: int
    length: int


def place_of(tensor: onnx.TensorProto) -> Place:
    """Where the external data of a tensor is; it reaches as far as the tensor, unless it says so.

    Raises:
        InvalidModel: The offset, the length or the location is unusable.
    """
    info = _information(tensor)
    _check_location(tensor.name, info.location)
    try:
        length = ir.serde.deserialize_tensor(tensor).nbytes if info.length is None else info.length
    except (ValueError, TypeError) as error:
        raise _unusable(tensor) from error
    return Place(info.location, info.offset or 0, length)


def refer(tensor: onnx.TensorProto, location: str, offset: int, length: int) -> None:
    """Let a tensor without elements refer to external data."""
    del tensor.external_data[:]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def _fields(model: memoryview, start: int, end: int) -> Iterator[_Field]:
    while start < end:
        tag, content = _varint(model, start, end)
        number, kind = tag >> 3, tag & 7
        match kind:
            case _Kind.VARINT:
                _, after = _varint(model, content, end)
            case _Kind.FIXED_64:
                after = content + 8
            case _Kind.LENGTH_DELIMITED:
                length, content = _varint(model, content, end)
                after = content + length
            case _Kind.FIXED_32:
                after = content + 4
            case _:
                raise ValueError("no message of protocol buffers")
        if after > end:
            raise ValueError("no message of protocol buffers")
        yield _Field(number, kind, start, content, after)
        start = after


def _varint(model: memoryview, at: int, end: int) -> tuple[int, int]:
    """Decode a varint; return it and the position after it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = model[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise ValueError("no message of protocol buffers")


def _message(number: int, parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """Encode a field that contains a message."""
    length = sum(len(part) for part in parts)
    return [_encoded(number << 3 | _Kind.LENGTH_DELIMITED) + _encoded(length), *parts]


def _encoded(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
