"""Files of values: their names, and how tensors, text, sequences and maps are written and read.

A tensor is a .npy file; text is an array of numpy's text type. Such a file has no place for the
types of ml_dtypes: numpy writes bfloat16 as two bytes without a type, and others as bytes that fit
several. So each element of one of these others is a record of one byte, named after the type.

What is no tensor is a .npz file, as `numpy.savez` writes it: a sequence has its tensors in their
order, a map has `keys` and `values`, and a sequence of maps has them for each, as `keys_0` and
`values_0`.

Samples are inputs of a model in folders, one for each run.
"""

import hashlib
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.saving import refuse_inputs, writing

Array = npt.NDArray[Any]

Value = Array | list[Any] | dict[Any, Any] | None
"""A tensor, a sequence, a map, or an optional value that is absent."""

_LONGEST = 200
"""How long the name of a file may be, without what file systems and temporary files add."""

_NAMED_TYPES: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(getattr(ml_dtypes, name))
    for name in (
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        *("float4_e2m1fn", "int4", "uint4", "int2", "uint2"),
    )
}
"""The types of ONNX that numpy does not have, but bfloat16; each takes a byte in an array."""

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""The names that Windows reserves, with any extension."""


def file_names(values: Iterable[str]) -> dict[str, str]:
    """The name of the file of each value, without its extension.

    Characters other than ASCII letters, digits, '.', '_' and '-' become '_'. The end of a long name
    becomes a digest of the whole one.

    Raises:
        SonnxError: Two values would have the same file, on systems that ignore capitals too.
    """
    names = {value: _file_name(value) for value in values}
    taken: dict[str, str] = {}
    for value, name in names.items():
        other = taken.setdefault(name.lower(), value)
        if other != value:
            raise SonnxError(
                f"the values '{other}' and '{value}' would have the same file '{name}.npy'; rename "
                "one of them in the model"
            )
    return names


def _file_name(value: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", value)
    if len(name) > _LONGEST:
        digest = hashlib.sha256(value.encode()).hexdigest()[:16]
        return f"{name[: _LONGEST - 17]}_{digest}"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


def place_of(value: Value, folder: Path, name: str) -> Path:
    """The file to which a value of that name is written."""
    return folder / f"{name}{'.npy' if isinstance(value, np.ndarray) else '.npz'}"


def write_value(value: Value, path: Path) -> None:
    """Write a value that is present to a file, completely or not at all.

    Raises:
        SonnxError: The file cannot be written, or cannot hold the value.
    """
    contents = _contents(value)
    try:
        with writing(path) as file:
            if isinstance(contents, np.ndarray):
                np.save(file, contents, allow_pickle=False)
            else:
                np.savez(file, allow_pickle=False, **contents)
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be written: {error.strerror or error}") from error


def new_folder(folder: Path, *, empty: bool = True) -> None:
    """Make a folder if need be.

    Raises:
        SonnxError: It cannot be made, or has to be empty and is not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        used = empty and any(folder.iterdir())
    except OSError as error:
        raise SonnxError(f"'{folder}' cannot be written: {error.strerror or error}") from error
    if used:
        raise SonnxError(f"'{folder}' is not empty; name a new folder")


def write_values(
    values: Mapping[str, Value], folder: Path, used: Iterable[Path] = ()
) -> list[Path]:
    """Write each value to a file of its own in a folder, which is created if needed.

    Returns:
        The files, in the order of the values, without those of absent ones.

    Raises:
        SonnxError: A file cannot be written or is one of those in use, or two values would have the
            same file.
    """
    names = file_names(values)
    present = {name: value for name, value in values.items() if value is not None}
    paths = {name: place_of(value, folder, names[name]) for name, value in present.items()}
    for path in paths.values():
        refuse_inputs(path, used)
    new_folder(folder, empty=False)
    for name, path in paths.items():
        write_value(present[name], path)
    return list(paths.values())


def _contents(value: Value) -> Array | dict[str, Array]:
    """The array of a value, or the arrays of which it consists, by their names in a file."""
    match value:
        case np.ndarray():
            return _plain(value)
        case dict():
            return _arrays_of_map(value)
        case list() if value and all(isinstance(each, dict) for each in value):
            return {
                f"{part}_{number}": array
                for number, each in enumerate(value)
                for part, array in _arrays_of_map(each).items()
            }
        case list() if all(isinstance(each, np.ndarray) for each in value):
            return {f"arr_{number}": _plain(each) for number, each in enumerate(value)}
    raise SonnxError(f"no file holds a value of type {type(value).__name__}")


def _arrays_of_map(value: Mapping[Any, Any]) -> dict[str, Array]:
    parts = {"keys": list(value), "values": list(value.values())}
    return {part: _plain(np.array(entries)) for part, entries in parts.items()}


def _plain(array: Array) -> Array:
    """An array that numpy writes without pickling, and from whose file its type is known."""
    if array.dtype.name in _NAMED_TYPES:
        return array.view([(array.dtype.name, np.uint8)])
    if array.dtype.kind != "O":
        return array
    text = np.array(array, np.str_)
    if not np.array_equal(text.astype(object), array):
        raise SonnxError("text that ends in NUL cannot be written: .npy files lose that end")
    return text


def _typed(array: Array) -> Array:
    """The array that `_plain` made another one of."""
    name = array.dtype.names[0] if array.dtype.names else ""
    is_plain = name in _NAMED_TYPES and array.dtype == [(name, np.uint8)]
    return array.view(_NAMED_TYPES[name]) if is_plain else array


def read_value(path: Path, *, mapped: bool = False) -> Value:
    """Read a value that `write_value`, `numpy.save` or `numpy.savez` wrote.

    Args:
        path: The file.
        mapped: Whether numbers are read only when they are needed.

    Raises:
        SonnxError: There is no such file, or it has no complete value.
    """
    try:
        # numpy.load accepts other formats with a warning.
        if not zipfile.is_zipfile(path):
            return _typed(_read_array(path, mapped=mapped))
        with np.load(path, allow_pickle=False) as archive:
            return _value_of_parts({name: _typed(array) for name, array in archive.items()})
    except FileNotFoundError as error:
        raise SonnxError(f"there is no file '{path}'") from error
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise SonnxError(
            f"'{path}' is not a complete .npy file of numbers or text; write it with numpy.save"
        ) from error


def _read_array(path: Path, *, mapped: bool) -> Array:
    with path.open("rb") as file:
        if not mapped:
            read: Array = np.lib.format.read_array(file, allow_pickle=False)
            return read
    return np.lib.format.open_memmap(path, mode="r")


def _value_of_parts(parts: Mapping[str, Array]) -> Value:
    if set(parts) == {"keys", "values"}:
        return _map(parts["keys"], parts["values"])
    if any(name.startswith("keys_") for name in parts):
        return [
            _map(parts[f"keys_{number}"], parts[f"values_{number}"])
            for number in range(len(parts) // 2)
        ]
    return [parts[f"arr_{number}"] for number in range(len(parts))]


def _map(keys: Array, values: Array) -> dict[Any, Any]:
    return dict(zip(keys.tolist(), values.tolist(), strict=True))


_PROTO = re.compile(r"input_(\d+)\.pb")
"""The inputs in a folder of ONNX's backend tests."""

_VALUES = {".npy", ".npz"}


def read_samples(folder: Path, inputs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read the samples in a folder: its own, or one of each folder in it.

    A sample has a file for each input: `NAME.npy`, as `audit --save-values` names them, or
    `input_0.pb` and so on, as ONNX's backend tests do. Inputs may be omitted.

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
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise SonnxError(f"'{folder}' cannot be read: {reason}") from error
    found = {place.name or str(place): _read_values(place, inputs) for place in folders}
    samples = {name: values for name, values in found.items() if values}
    if not samples:
        raise SonnxError(
            f"'{folder}' has no samples; put NAME.npy or input_0.pb for inputs into it, or into a "
            "folder for each sample"
        )
    return samples


def _read_values(folder: Path, inputs: Sequence[str]) -> dict[str, Any]:
    names = {file: name for name, file in file_names(inputs).items()}
    values: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        number = _PROTO.fullmatch(path.name)
        if number is None and path.suffix not in _VALUES:
            continue
        if number is None:
            name, value = names.get(path.stem, ""), read_value(path)
        else:
            given, value = read_tensor(path)
            name = given if given in inputs else dict(enumerate(inputs)).get(int(number[1]), "")
        if not name:
            raise SonnxError(f"'{path}' is none of an input; the inputs are {', '.join(inputs)}")
        values[name] = value
    return values


def read_tensor(path: Path) -> tuple[str, Array]:
    """The name and the elements of a tensor of ONNX.

    Raises:
        SonnxError: The file cannot be read, or is none.
    """
    try:
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        return tensor.name, np.asarray(numpy_helper.to_array(tensor))
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except Exception as error:
        raise SonnxError(f"'{path}' is not a tensor of ONNX: {error}") from error
