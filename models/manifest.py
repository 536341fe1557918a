"""The bundled models: their files, and the manifest with their expected results."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.errors import SonnxError
from sonnx_ort.models import tensor_json
from sonnx_ort.models.example import (
    Approximation,
    Case,
    Citation,
    Classification,
    Example,
    Expectation,
    Outputs,
    Rejection,
    RunViolation,
    StaticViolation,
)
from sonnx_ort.profile.options import Broadcasting, Edition


def names() -> tuple[str, ...]:
    """The names of all bundled models, in the order of the manifest."""
    return tuple(entry.name for entry in examples())


def path(name: str) -> Path:
    """The file of a bundled model.

    Args:
        name: One of `names()`.

    Raises:
        SonnxError: There is no model of that name; the message lists those that exist.
    """
    return DATA / f"{example(name).name}.onnx"


def load(name: str) -> onnx.ModelProto:
    """Read a bundled model.

    Args:
        name: One of `names()`.

    Raises:
        SonnxError: There is no model of that name; the message lists those that exist.
    """
    return onnx.load_model(path(name))


VERSION = 2
"""The version of the manifest's format that this code reads."""

DATA = Path(__file__).parent / "data"
"""The folder of the models and of tensors that are too large for the manifest."""

MANIFEST = Path(__file__).parent / "manifest.json"
"""The manifest."""

Array = npt.NDArray[Any]
Entry = Mapping[str, Any]


@functools.cache
def examples() -> tuple[Example, ...]:
    """All bundled models, in the order of the manifest; their arrays are read-only.

    Raises:
        SonnxError: This code does not read the version of the manifest.
    """
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    if manifest["version"] != VERSION:
        raise SonnxError(
            f"the manifest of the bundled models has version {manifest['version']}, but this "
            f"code reads version {VERSION}; install sonnx_ort again"
        )
    return tuple(_example(entry) for entry in manifest["models"])


def example(name: str) -> Example:
    """One bundled model.

    Args:
        name: One of `names()`.

    Raises:
        SonnxError: There is no model of that name; the message lists those that exist.
    """
    for entry in examples():
        if entry.name == name:
            return entry
    existing = ", ".join(entry.name for entry in examples())
    raise SonnxError(f"there is no bundled model '{name}'; choose from {existing}")


def _example(entry: Entry) -> Example:
    return Example(
        name=entry["name"],
        shows=entry["shows"],
        sources=tuple(Citation(**source) for source in entry["sources"]),
        cases=tuple(_case(case) for case in entry["cases"]),
    )


def _case(entry: Entry) -> Case:
    return Case(
        name=entry["name"],
        edition=Edition(entry["edition"]),
        broadcast=Broadcasting(entry["broadcast"]),
        operators=entry["operators"],
        inputs=_tensors(entry["inputs"]),
        expected=_expectation(entry["expected"]),
        guarded=_run_violation(entry["guarded"]) if "guarded" in entry else None,
    )


def _expectation(entry: Entry) -> Expectation:
    match entry:
        case {"outputs": outputs}:
            return Outputs(_tensors(outputs))
        case {"rejected": violations}:
            return Rejection(tuple(StaticViolation(**violation) for violation in violations))
        case {"violation": violation}:
            return _run_violation(violation)
        case {"classification": classification}:
            labels = _tensor(classification["labels"])
            return Classification(classification["output"], labels, classification["correct"])
        case {"approximation": approximation}:
            return Approximation(_tensors(approximation["outputs"]), approximation["tolerance"])
        case _:
            raise SonnxError(f"the manifest expects what this code does not know: {entry}")


def _run_violation(entry: Entry) -> RunViolation:
    index, values = entry["index"], entry["values"]
    return RunViolation(
        rule=entry["rule"],
        operator=entry["operator"],
        node=entry["node"],
        shapes=tuple(tuple(shape) for shape in entry["shapes"]),
        index=None if index is None else tuple(index),
        values=None if values is None else tuple(map(tensor_json.decode_number, values)),
    )


def _tensors(entries: Mapping[str, Entry]) -> dict[str, Array]:
    return {name: _tensor(entry) for name, entry in entries.items()}


def _tensor(entry: Entry) -> Array:
    if "file" not in entry:
        return tensor_json.decode(entry)
    with np.load(DATA / entry["file"]) as arrays:
        array: Array = arrays[entry["array"]]
    array.flags.writeable = False
    return array
