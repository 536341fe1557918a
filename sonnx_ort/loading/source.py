"""Reads a model from any source."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel

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
        InvalidModel: The file does not exist or is not an ONNX model.
        TypeError: The argument has another type.
    """
    match model:
        case ReadModel():
            return model
        case onnx.ModelProto():
            return ReadModel(model, None, _digest(_content(model)))
        case ir.Model():
            proto = _serialize(model)
            return ReadModel(proto, _external_folder(model), _digest(_content(proto)))
        case bytes() | bytearray() | memoryview():
            content = bytes(model)
            return ReadModel(_parse(content), None, _digest(content))
        case str() | os.PathLike():
            path = Path(model)
            return ReadModel(_parse_file(path), path.parent, _digest(path.read_bytes()))
        case _:
            raise TypeError(
                "a model is a path, bytes, an onnx.ModelProto or an onnx_ir.Model, "
                f"not {type(model).__name__}"
            )


def _serialize(model: ir.Model) -> onnx.ModelProto:
    try:
        return ir.to_proto(model)
    except Exception as error:
        raise InvalidModel(f"the onnx_ir.Model cannot be serialized: {error}") from error


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
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:
        raise InvalidModel(
            f"the bytes are not a complete ONNX model ({len(content)} bytes: {error})"
        ) from error
    if not proto.HasField("graph"):
        raise InvalidModel("the bytes are not a complete ONNX model: there is no graph")
    return proto


LARGEST = (1 << 31) - 1
"""The largest number of bytes that a message of protocol buffers has."""


def _parse_file(path: Path) -> onnx.ModelProto:
    try:
        too_large = path.stat().st_size > LARGEST
        proto = onnx.ModelProto() if too_large else onnx.load_model(path, load_external_data=False)
    except FileNotFoundError as error:
        raise InvalidModel(f"there is no file '{path}'") from error
    except IsADirectoryError as error:
        raise InvalidModel(f"'{path}' is a folder; give the model's file") from error
    except OSError as error:
        raise InvalidModel(f"'{path}' cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise InvalidModel(
            f"'{path}' is not a complete ONNX model ({error}); export it again"
        ) from error
    if too_large:
        raise InvalidModel(f"'{path}' is not an ONNX model: it is larger than 2 GiB")
    if not proto.HasField("graph"):
        raise InvalidModel(
            f"'{path}' is not a complete ONNX model (there is no graph); export it again"
        )
    return proto
