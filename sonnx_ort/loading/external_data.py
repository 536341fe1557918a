"""Checks references to tensors outside the model's file before anyone follows them."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_tensors


def external_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor of the model whose elements lie in another file."""
    yield from filter(uses_external_data, all_tensors(proto))


def check_external_data(proto: onnx.ModelProto, folder: Path | None) -> None:
    """Check that external data lies inside the model's folder, and all of it is there.

    Args:
        proto: The model.
        folder: The folder of the model's file; None skips what needs the files themselves.

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
        raise InvalidModel(
            f"tensor '{tensor.name}': its external data has no usable offset and length; export "
            "the model again"
        ) from error


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
