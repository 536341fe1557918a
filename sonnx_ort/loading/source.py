"""Reads a model from any source."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.external_data import check_references
from sonnx_ort.loading.foreign_files import described
from sonnx_ort.loading.nesting import require_readable
from sonnx_ort.loading.serialization import write_metadata_once
from sonnx_ort.reading import content_of

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
        InvalidModel: The file does not exist or is not an ONNX model, or what it says about
            external data is wrong.
    """
    if isinstance(model, ReadModel):
        return model
    made = _read(model)
    check_references(made.proto)
    return made


def _read(model: ModelSource) -> ReadModel:
    match model:
        case onnx.ModelProto():
            require_readable(model)
            return ReadModel(model, None, _digest(_content(model)))
        case ir.Model():
            proto = _serialize(model)
            return ReadModel(proto, _external_folder(model), _digest(_content(proto)))
        case bytes() | bytearray() | memoryview():
            content = bytes(model)
            return ReadModel(_parse(content), None, _digest(content))
    path = Path(model)
    content = _file(path)
    return ReadModel(_parse_file(path, content), path.parent, _digest(content))


def _serialize(model: ir.Model) -> onnx.ModelProto:
    try:
        proto = ir.to_proto(model)
    except Exception as error:
        raise InvalidModel(f"the onnx_ir.Model cannot be serialized: {error}") from error
    write_metadata_once(proto)
    return proto


def _content(proto: onnx.ModelProto) -> bytes:
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


def _parse(content: bytes) -> onnx.ModelProto:
    if len(content) > LARGEST:
        raise InvalidModel("the bytes are not an ONNX model: they are more than 2 GiB")
    return _parsed(content, "the bytes are")


def _parse_file(path: Path, content: bytes) -> onnx.ModelProto:
    if len(content) > LARGEST:
        raise InvalidModel(f"'{path}' is not an ONNX model: it is larger than 2 GiB")
    return _parsed(content, f"'{path}' is", _TEXTS.get_format_from_file_extension(path.suffix))


_TEXTS = onnx.serialization.registry
"""Knows the endings of files that hold a model as text."""

LARGEST = (1 << 31) - 1
"""The largest number of bytes that a message of protocol buffers has."""


def _file(path: Path) -> bytes:
    """The bytes of a file, but one more than a model can have at most."""
    try:
        return content_of(path, LARGEST + 1, wanted="the model's file")
    except SonnxError as error:
        raise InvalidModel(str(error)) from error


def _parsed(content: bytes, subject: str, form: str | None = None) -> onnx.ModelProto:
    try:
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
