"""Reads a model from any source, and says what a file is that is none."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx.parser
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.external_data import beside, check_references
from sonnx_ort.loading.growth import require_few_nodes
from sonnx_ort.loading.names import require_readable_names
from sonnx_ort.loading.serialization import require_readable, write_metadata_once
from sonnx_ort.loading.text_files import content_of

_EXPORT = "export the model to ONNX"
_UNPACK = "unpack it, and give the model that it contains"
_CONVERTED = "give the ONNX model from which it was made, or convert it to ONNX"

_BEGINNINGS: Mapping[tuple[int, bytes], str] = {
    (0, b"version https://git-lfs.github.com/spec/"): (
        "a pointer of Git LFS, and no model; get the model with `git lfs pull`"
    ),
    (0, b"\x1f\x8b"): f"compressed by gzip; {_UNPACK}",
    (0, b"BZh"): f"compressed by bzip2; {_UNPACK}",
    (0, b"\xfd7zXZ\0"): f"compressed by xz; {_UNPACK}",
    (0, b"\x28\xb5\x2f\xfd"): f"compressed by Zstandard; {_UNPACK}",
    (0, b"\x04\x22\x4d\x18"): f"compressed by LZ4; {_UNPACK}",
    (0, b"7z\xbc\xaf\x27\x1c"): f"an archive of 7-Zip; {_UNPACK}",
    (0, b"PK\x03\x04"): (
        f"a zip archive; {_UNPACK}, or, if it is a file of PyTorch or Keras, {_EXPORT}"
    ),
    (257, b"ustar"): f"an archive of tar; {_UNPACK}",
    (4, b"ORTM"): "a model in the format of ONNX Runtime (.ort); give the ONNX model that it is of",
    (4, b"TFL3"): f"a model of TensorFlow Lite; {_CONVERTED}",
    (0, b"\x89HDF\r\n\x1a\n"): f"a file of HDF5, as Keras writes; {_EXPORT}",
    (0, b"\x93NUMPY"): "an array of numpy; give the model's file",
    (0, b"GGUF"): f"a model in the format GGUF; {_CONVERTED}",
    (0, b"PAR1"): "a table in the format Parquet; give the model's file",
    (0, b"\x7fELF"): "a program or a library; give the model's file",
    (0, b"%PDF"): "a document in the format PDF; give the model's file",
    (8, b'{"'): f"a file of safetensors, which has weights alone; {_EXPORT}",
}
"""What files have at a position, and what they are."""

_PICKLE = "a pickle, as PyTorch and scikit-learn write; export the model to ONNX"
_HTML = "a page of HTML, such as a login or an error, and no model; download the model itself"
_TEXT_FORMATS = (
    "text; give a model in the binary form of ONNX, or end the name of its text with .onnxtxt, "
    ".textproto or .json"
)


def described(content: bytes) -> str:
    """Say what bytes are that are no ONNX model, and what to do; empty if that is not known."""
    if not content.strip(b"\0"):
        kind = "empty" if not content else "filled with zeros, as after an interrupted copy"
        return f"{kind}; copy or export the model again"
    for (at, beginning), kind in _BEGINNINGS.items():
        if content.startswith(beginning, at):
            return kind
    return next((kind for fits, kind in _FURTHER.items() if fits(content[:_LOOKED_AT])), "")


_LOOKED_AT = 1024


def _is_pickle(content: bytes) -> bool:
    return content[:1] == b"\x80" and content[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _is_html(content: bytes) -> bool:
    beginning = content.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return beginning.startswith((b"<!doctype html", b"<html", b"<head", b"<!--"))


def _is_text(content: bytes) -> bool:
    """Whether all is printable: a message of protocol buffers has other bytes at once."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in "\t\r\n" for character in text)


_FURTHER: Mapping[Callable[[bytes], bool], str] = {
    _is_pickle: _PICKLE,
    _is_html: _HTML,
    _is_text: _TEXT_FORMATS,
}
"""What else files are that fit."""


ModelSource = str | os.PathLike[str] | bytes | onnx.ModelProto | ir.Model
"""The types in which a model can be given."""


@dataclass(frozen=True, slots=True)
class ReadModel:
    """A model as read, before any validation.

    Attributes:
        proto: The model; external data is only referenced.
        folder: The folder of external data; None if unknown.
        sha256: Hash of the file, or of the serialized model if there is no file.
    """

    proto: onnx.ModelProto
    folder: Path | None
    sha256: str


def read(model: ModelSource | ReadModel) -> ReadModel:
    """Read a model without its external data.

    A model object is not modified, and a `ReadModel` is returned unchanged.

    Raises:
        InvalidModel: The file does not exist or is not an ONNX model, what it says about external
            data is wrong, a name is not UTF-8, or its functions stand for very many nodes.
    """
    if isinstance(model, ReadModel):
        return model
    made = _read_model(model)
    check_references(made.proto)
    require_readable_names(made.proto)
    require_few_nodes(made.proto)
    return made


def _read_model(model: ModelSource) -> ReadModel:
    match model:
        case onnx.ModelProto():
            require_readable(model)
            return ReadModel(model, None, _digest(_serialized(model)))
        case ir.Model():
            proto = _serialize(model)
            return ReadModel(proto, _external_folder(model), _digest(_serialized(proto)))
        case bytes() | bytearray() | memoryview():
            content = bytes(model)
            if len(content) > LARGEST:
                raise InvalidModel("the bytes are not an ONNX model: they are more than 2 GiB")
            return ReadModel(_parsed(content, "the bytes are"), None, _digest(content))
    path = Path(model)
    content = _file(path)
    _require_size(path, len(content))
    form = _TEXTS.get_format_from_file_extension(path.suffix.lower())
    proto = _parsed(content, f"'{path}' is", form)
    return ReadModel(proto, beside(path, proto), _digest(content))


def _serialize(model: ir.Model) -> onnx.ModelProto:
    try:
        proto = ir.to_proto(model)
    except Exception as error:
        raise InvalidModel(f"the onnx_ir.Model cannot be serialized: {error}") from error
    write_metadata_once(proto)
    return proto


def _serialized(proto: onnx.ModelProto) -> bytes:
    try:
        content: bytes = proto.SerializeToString(deterministic=True)
    except Exception as error:
        raise InvalidModel(
            f"the model cannot be serialized ({error}); if it is larger than 2 GiB, store its "
            "tensors as external data"
        ) from error
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _external_folder(model: ir.Model) -> Path | None:
    for value in model.graph.initializers.values():
        if isinstance(value.const_value, ir.ExternalTensor):
            return Path(value.const_value.base_dir)
    return None


_TEXTS = onnx.serialization.registry
"""Knows the endings of files that hold a model as text."""

LARGEST = (1 << 31) - 1
"""The largest number of bytes that a message of protocol buffers has."""


def _require_size(path: Path, size: int) -> None:
    if size > LARGEST:
        raise InvalidModel(f"'{path}' is not an ONNX model: it is larger than 2 GiB")


def _file(path: Path) -> bytes:
    """The bytes of a file, but one more than a model can have at most."""
    # What is wrong with other files is said where they are read.
    with contextlib.suppress(OSError, ValueError):
        if path.is_file():
            _require_size(path, path.stat().st_size)
    try:
        return content_of(path, LARGEST + 1, wanted="the model's file")
    except SonnxError as error:
        raise InvalidModel(str(error)) from error


def _parsed(content: bytes, subject: str, form: str | None = None) -> onnx.ModelProto:
    """The model in some bytes; raises with what they are if they have none."""
    try:
        if form == "onnxtxt":
            # The serializer of onnx warns that the format is experimental, and does the same.
            proto = onnx.parser.parse_model(content.decode("utf-8"))
        else:
            proto = onnx.load_model_from_string(content, form or "protobuf")
        reason = "" if proto.HasField("graph") else "there is no graph"
    except Exception as error:  # noqa: BLE001 - each form of text has errors of its own
        reason = str(error)
    if not reason:
        return proto
    if foreign := described(content):
        raise InvalidModel(f"{subject} {foreign}")
    raise InvalidModel(
        f"{subject} not a complete ONNX model ({len(content):,} bytes: {reason}); copy or export "
        "it again"
    )
