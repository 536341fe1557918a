"""Brings external data to where a rewritten model looks for it."""

import enum
import filecmp
import os
import shutil
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.rewriting.whole_file import replacing


class Transfer(enum.StrEnum):
    """What becomes of external data that a target's folder lacks."""

    COPY = "copy"
    LINK = "link"
    REFERENCE = "reference"


def missing_external_data(
    proto: onnx.ModelProto, source_folder: Path, target_folder: Path
) -> list[tuple[Path, Path]]:
    """The files that a model refers to and its new folder lacks.

    Args:
        proto: The model.
        source_folder: The folder that has them.
        target_folder: The folder that the model is written to.

    Returns:
        For each file where it is, and where it has to be.

    Raises:
        SonnxError: Another file is in the place of one.
    """
    locations = sorted({ExternalDataInfo(tensor).location for tensor in external_tensors(proto)})
    missing = []
    for location in locations:
        origin, place = source_folder / location, target_folder / location
        if not place.exists():
            missing.append((origin, place))
        elif not (place.samefile(origin) or filecmp.cmp(origin, place, shallow=False)):
            raise SonnxError(
                f"'{place}' is in the place of the model's external data and is another file; "
                "write the model to another folder"
            )
    return missing


def transfer_file(origin: Path, place: Path, transfer: Transfer) -> None:
    """Copy or link a file; it appears whole or not at all.

    Args:
        origin: The file.
        place: Where it has to be; its folder is made if need be.
        transfer: Whether to copy or to link it.

    Raises:
        OSError: It cannot be written, or not linked across file systems.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    if transfer is Transfer.LINK:
        os.link(origin, place)
        return
    with replacing(place) as temporary:
        shutil.copyfile(origin, temporary)
