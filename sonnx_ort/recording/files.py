"""The SHA-256 of a model's files."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import onnx
from onnx.external_data_helper import ExternalDataInfo

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import external_tensors


def external_files(
    proto: onnx.ModelProto, folder: Path, known: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Digest the files of a model's external data, without loading any of them whole.

    Args:
        proto: The model; its references to external data were checked.
        folder: The folder of the model.
        known: What is known of them already, by location.

    Returns:
        The SHA-256 of each by its location, in the order of the locations.

    Raises:
        SonnxError: One cannot be read.
    """
    return {
        location: known.get(location) or digest(folder / location)
        for location in external_locations(proto)
    }


def external_locations(proto: onnx.ModelProto) -> list[str]:
    """Give the files that a model refers to, as it names them, in order.

    Args:
        proto: The model.
    """
    return sorted({ExternalDataInfo(tensor).location for tensor in external_tensors(proto)})


def digest(path: Path) -> str:
    """Digest a file.

    Args:
        path: The file.

    Returns:
        Its SHA-256, in hexadecimal digits.

    Raises:
        SonnxError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
