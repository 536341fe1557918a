"""Checks the elements of tensors, in the file and in external data, and refers to large ones.

Checks external data, and replaces large weights of a serialized model by references. Anything
unexpected is left to the regular way of loading.
"""

import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
import onnx_ir as ir
from onnx.external_data_helper import uses_external_data

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.file_traversal import all_tensors
from sonnx_ort.loading.growth import require_few_nodes

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
            _require_all_elements(tensor)


def _check_shape(tensor: onnx.TensorProto) -> None:
    if any(size < 0 for size in tensor.dims):
        raise InvalidModel(f"tensor '{tensor.name}' has a negative size: {list(tensor.dims)}")
    if len(tensor.dims) > MOST_AXES_OF_ARRAYS:
        raise InvalidModel(
            f"tensor '{tensor.name}' has {len(tensor.dims)} axes, and arrays have at most "
            f"{MOST_AXES_OF_ARRAYS}; take axes of size 1 away"
        )


def _require_all_elements(tensor: onnx.TensorProto) -> None:
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


def beside(model: Path, proto: onnx.ModelProto) -> Path:
    """The folder of the external data of a model's file.

    In the cache of a model hub, the model and its weights are links into one folder of blobs, which
    have names of their own. Then it is that folder, and the references of the model name the blobs,
    in place. Other links to files elsewhere stay, and are refused.
    """
    folder = model.parent
    try:
        real = model.resolve().parent
        if not model.is_symlink() or real.is_relative_to(folder.resolve()):
            return folder
        tensors = list(external_tensors(proto))
        entries = [e for each in tensors for e in each.external_data if e.key == "location"]
        blobs = {e.value: (folder / e.value).resolve(strict=True) for e in entries}
    except (OSError, RuntimeError, ValueError):  # said where the data is checked
        return folder
    if not blobs or not all(blob.is_relative_to(real) for blob in blobs.values()):
        return folder
    for entry in entries:
        entry.value = blobs[entry.value].relative_to(real).as_posix()
    return real


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
            hold(tensor, file.read(reference.size))


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
    offset, size = _number(tensor, entries, "offset") or 0, _bytes_needed(tensor)
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


def _bytes_needed(tensor: onnx.TensorProto) -> int:
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
            f"{subject} is a link that leads outside the model's folder; put the file itself "
            "there, or make the model's file a link into the same folder"
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

_OF_REPLACED = frozenset({"dims", "data_type", "name", "raw_data", "doc_string", "metadata_props"})
"""The fields of tensors that are replaced; those with others are not."""

_SIZES: Mapping[int, int] = {
    onnx.TensorProto.FLOAT: 4,
    onnx.TensorProto.FLOAT16: 2,
    onnx.TensorProto.BFLOAT16: 2,
    onnx.TensorProto.DOUBLE: 8,
}
"""Bytes per element. Integers are not replaced, because proofs use them."""

_LOOKED_FOR = 64
"""To look for so many bytes, and then to compare all, is quicker than to look for all."""


def detached(model: bytes, location: str) -> onnx.ModelProto | None:
    """Replace the large floating-point initializers of the main graph by references.

    Args:
        model: The serialized model.
        location: The location that the references give for these bytes.

    Returns:
        The model with references; None if it has no large weights, already has external data, or
        cannot be parsed. The caller then loads it the regular way.
    """
    try:
        whole = onnx.load_model_from_string(model)
        if any(external_tensors(whole)):
            return None
        require_few_nodes(whole)
        after = 0
        for tensor in whole.graph.initializer:
            size = _bytes_of_floats(tensor)
            elements = tensor.raw_data if size >= LARGE and _is_plain(tensor) else b""
            if elements and len(elements) == size:
                offset = _place_of(elements, model, after)
                after = offset + len(elements)
                tensor.ClearField("raw_data")
                refer(tensor, location, offset, len(elements))
        # A message keeps the memory of what is cleared.
        return onnx.load_model_from_string(whole.SerializeToString()) if after else None
    except Exception:  # noqa: BLE001 - the regular parser reports what is wrong
        return None


def _is_plain(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor has a name, and nothing that is not expected of one with bytes."""
    expected = all(field.name in _OF_REPLACED for field, _ in tensor.ListFields())
    return expected and bool(tensor.name)


def _bytes_of_floats(tensor: onnx.TensorProto) -> int:
    """How many bytes the elements have; 0 if they are no floats, or a size is negative."""
    known = min(tensor.dims, default=0) >= 0
    return _SIZES.get(tensor.data_type, 0) * math.prod(tensor.dims) if known else 0


def _place_of(elements: bytes, model: bytes, after: int) -> int:
    """Where elements, or equal ones, stand in the bytes of a model after those that were found.

    Raises:
        ValueError: They do not.
    """
    likely = model.index(elements[:_LOOKED_FOR], after)
    return likely if model.startswith(elements, likely) else model.index(elements, after)


def hold(tensor: onnx.TensorProto, elements: bytes) -> None:
    """Let a tensor hold its elements, in place of a reference to external data."""
    tensor.raw_data = elements
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")


def refer(tensor: onnx.TensorProto, location: str, offset: int, length: int) -> None:
    """Let a tensor without elements refer to external data."""
    del tensor.external_data[:]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
