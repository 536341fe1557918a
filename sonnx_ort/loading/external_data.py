"""Checks the elements of tensors, in the file and in external data, and refers to large ones.

Checks external data, and replaces large weights of a serialized model by references. Messages are
parsed field by field (https://protobuf.dev/programming-guides/encoding). Anything unexpected is
left to the regular parser.
"""

import enum
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
import onnx_ir as ir
from onnx.external_data_helper import uses_external_data

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_tensors

MOST_AXES_OF_ARRAYS = 64
"""The largest number of axes of an array of numpy."""

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
        entries = getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type))
        needed, stored, unit = _entries(count, tensor.data_type), len(entries), "entries"
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
    return -(-count * ir.DataType(element_type).bitwidth // 8)


def _entries(count: int, element_type: int) -> int:
    """Length of the list that replaces raw bytes; narrow elements share an entry."""
    if element_type in (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128):
        return 2 * count
    strings = element_type == onnx.TensorProto.STRING
    packed = not strings and ir.DataType(element_type).bitwidth in (2, 4)
    return bytes_of(count, element_type) if packed else count


def external_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor of the model that is stored in another file."""
    yield from filter(uses_external_data, all_tensors(proto))


@dataclass(frozen=True, slots=True)
class Reference:
    """Where the elements of a tensor lie: the bytes of a file from an offset on."""

    tensor: str
    location: str
    offset: int
    size: int


def check_references(proto: onnx.ModelProto) -> None:
    """Check what a model says about external data, whether its files exist or not.

    Raises:
        InvalidModel: A location is absolute or leads outside the folder, an entry is unknown or
            there twice, or a number does not fit.
    """
    for tensor in external_tensors(proto):
        reference_of(tensor)


def check_external_data(proto: onnx.ModelProto, folder: Path | None) -> None:
    """Check that all external data exists inside the model's folder.

    Without a folder, the files themselves are not checked.

    Raises:
        InvalidModel: As for `check_references`; or a file is missing, is not readable, or is too
            short.
    """
    for tensor in external_tensors(proto):
        reference = reference_of(tensor)
        if folder is not None:
            _check_file(reference, folder)


def load_external_data(tensors: Iterable[onnx.TensorProto], folder: Path) -> None:
    """Load the elements of tensors into these, in place.

    onnx would load all of a file that is longer than a tensor without a length.

    Raises:
        InvalidModel: A reference is wrong, or a file cannot be read or is too short.
    """
    for tensor in tensors:
        reference = reference_of(tensor)
        _check_file(reference, folder)
        with (folder / reference.location).open("rb") as file:
            file.seek(reference.offset)
            tensor.raw_data = file.read(reference.size)
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")


_KEYS = ("location", "offset", "length", "checksum")
"""What ONNX Runtime knows."""

_MOST_DIGITS = 18
"""A number of so many digits is below the largest that 64 bits hold."""


def reference_of(tensor: onnx.TensorProto) -> Reference:
    """Where the external data of a tensor lies.

    Raises:
        InvalidModel: As for `check_references`.
    """
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key not in _KEYS:
            raise _unusable(
                tensor, f"has an unknown entry {_shown(entry.key)}; write only {', '.join(_KEYS)}"
            )
        if entry.key in entries:
            raise _unusable(tensor, f"has the entry '{entry.key}' twice; write it once")
        entries[entry.key] = entry.value
    location = entries.get("location", "")
    _check_location(tensor, location)
    if any(len(getattr(tensor, field)) for field in _ELEMENTS):
        raise _unusable(tensor, "stands beside elements in the model; keep one of them")
    offset, size = _number(tensor, entries, "offset") or 0, _size(tensor)
    length = _number(tensor, entries, "length")
    if length not in (None, size):
        raise _unusable(
            tensor,
            f"has {length} bytes, but {size} are needed for the shape {list(tensor.dims)}; export "
            "the model again",
        )
    return Reference(tensor.name, location, offset, size)


_ELEMENTS = tuple(
    field.name
    for field in onnx.TensorProto.DESCRIPTOR.fields
    if field.name.endswith("_data") and field.name != "external_data"
)
"""The fields of a tensor that hold elements."""


def _number(tensor: onnx.TensorProto, entries: Mapping[str, str], key: str) -> int | None:
    """An entry that is a number, written as ONNX Runtime reads it; None if there is none."""
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise _unusable(
            tensor,
            f"has the {key} {_shown(text)}, which is no number of bytes; export the model again",
        )
    return int(text)


def _size(tensor: onnx.TensorProto) -> int:
    if any(size < 0 for size in tensor.dims):
        raise _unusable(tensor, f"is for a negative size: {list(tensor.dims)}")
    if tensor.data_type not in KNOWN_TYPES:
        raise _unusable(
            tensor,
            f"is for the element type {tensor.data_type}, which this installation does not know; "
            "upgrade onnx and onnx-ir, or export the model again",
        )
    return bytes_of(math.prod(tensor.dims), tensor.data_type)


def _check_location(tensor: onnx.TensorProto, location: str) -> None:
    pure = (PurePosixPath(location), PureWindowsPath(location))
    if not location or any(p.is_absolute() or p.drive or ".." in p.parts for p in pure):
        raise InvalidModel(
            f"tensor '{tensor.name}': its external data {_shown(location)} lies outside the "
            "model's folder; external data must lie in that folder or below it"
        )
    if not location.isprintable():
        raise _unusable(
            tensor, f"has the location {_shown(location)}, which no file should have; rename it"
        )


def _shown(text: str) -> str:
    """A text of a model in an error: in quotes, and not too long."""
    shown = text if len(text) <= 80 else f"{text[:80]}..."
    return f"'{shown}'" if shown.isprintable() else ascii(shown)


def _unusable(tensor: onnx.TensorProto, reason: str) -> InvalidModel:
    return InvalidModel(f"tensor '{tensor.name}': its external data {reason}")


def _check_file(reference: Reference, folder: Path) -> None:
    path = folder / reference.location
    subject = f"tensor '{reference.tensor}': its external data {_shown(str(path))}"
    try:
        status = path.stat()
        inside = path.resolve().is_relative_to(folder.resolve())
    except FileNotFoundError as error:
        raise InvalidModel(f"{subject} is missing; keep it beside the model") from error
    except (OSError, RuntimeError) as error:  # the latter for a link that leads to itself
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidModel(f"{subject} cannot be read: {reason}") from error
    if not stat.S_ISREG(status.st_mode):
        raise InvalidModel(f"{subject} is no file; put the file itself there")
    if not inside:
        raise InvalidModel(
            f"{subject} is a link that leads outside the model's folder; put the file itself there"
        )
    if not os.access(path, os.R_OK):
        raise InvalidModel(f"{subject} cannot be read: Permission denied")
    needed = reference.offset + reference.size
    if status.st_size < needed:
        raise InvalidModel(
            f"{subject} ends at byte {status.st_size}, but the tensor reaches to byte {needed}; "
            "the file is truncated"
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


_Parts = list[bytes | memoryview]


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
    entries = (entry for tensor in external_tensors(reduced) for entry in tensor.external_data)
    others = (e for e in entries if e.key == "location" and e.value != location)
    return reduced if next(others, None) is None else None


def _without_weights(model: memoryview, location: str) -> tuple[_Parts, bool]:
    def initializer(tensor: _Field) -> _Parts | None:
        large = tensor.end - tensor.content >= LARGE
        reference = _reference(model, tensor, location) if large else None
        return None if reference is None else [reference]

    def graph(field: _Field) -> _Parts | None:
        inside = field.content, field.end
        parts, found = _with_others(model, *inside, _INITIALIZER_OF_GRAPH, initializer)
        return parts if found else None

    return _with_others(model, 0, len(model), _GRAPH_OF_MODEL, graph)


def _with_others(
    model: memoryview, start: int, end: int, number: int, other: Callable[[_Field], _Parts | None]
) -> tuple[_Parts, bool]:
    """A message with other messages in fields of a number, and whether there is any."""
    parts: _Parts = []
    found = False
    for field in _fields(model, start, end):
        meant = field.number == number and field.kind == _Kind.LENGTH_DELIMITED
        made = other(field) if meant else None
        found |= made is not None
        parts += [model[field.start : field.end]] if made is None else _message(number, made)
    return parts, found


def _reference(model: memoryview, tensor: _Field, location: str) -> bytes | None:
    """The tensor with a reference instead of its elements; None if it cannot be replaced."""
    rest: _Parts = []
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


def _message(number: int, parts: _Parts) -> _Parts:
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
