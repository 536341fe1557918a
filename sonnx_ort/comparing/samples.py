"""Samples: inputs of a model in folders, one for each run."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from sonnx_ort.comparing.isolated_run import Array
from sonnx_ort.errors import SonnxError
from sonnx_ort.value_files import file_names, read_value

_PROTO = re.compile(r"input_(\d+)\.pb")
"""The inputs in a folder of ONNX's backend tests."""

_VALUES = {".npy", ".npz"}


def read_samples(folder: Path, inputs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read the samples in a folder: its own, or one of each folder in it.

    A sample has a file for each input: `NAME.npy`, as `audit --save-values` names them, or
    `input_0.pb` and so on, as ONNX's backend tests do. Inputs may be left out.

    Args:
        folder: The folder.
        inputs: The names of the model's inputs, in their order.

    Returns:
        The inputs of each sample by name, by the names of the folders, in their order.

    Raises:
        SonnxError: There is no such folder, or no sample in it, or a file is none of an input.
    """
    try:
        folders = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    except OSError as error:
        raise SonnxError(f"'{folder}' cannot be read: {error.strerror or error}") from error
    found = {place.name or str(place): _read(place, inputs) for place in folders}
    samples = {name: values for name, values in found.items() if values}
    if not samples:
        raise SonnxError(
            f"'{folder}' has no samples; put NAME.npy or input_0.pb for inputs into it, or into a "
            "folder for each sample"
        )
    return samples


def _read(folder: Path, inputs: Sequence[str]) -> dict[str, Any]:
    names = {file: name for name, file in file_names(inputs).items()}
    values: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        number = _PROTO.fullmatch(path.name)
        if number is None and path.suffix not in _VALUES:
            continue
        if number is None:
            name, value = names.get(path.stem, ""), read_value(path)
        else:
            given, value = _tensor(path)
            name = given if given in inputs else dict(enumerate(inputs)).get(int(number[1]), "")
        if not name:
            raise SonnxError(f"'{path}' is none of an input; the inputs are {', '.join(inputs)}")
        values[name] = value
    return values


def _tensor(path: Path) -> tuple[str, Array]:
    """The name and the elements of a tensor."""
    try:
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        return tensor.name, np.asarray(numpy_helper.to_array(tensor))
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise SonnxError(f"'{path}' is not a tensor of ONNX: {error}") from error
