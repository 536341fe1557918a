"""The bytes of the bundled files: models, tensors and the manifest."""

import io
import json
import textwrap
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from model_builders.bundle import Array, Bundle
from sonnx_ort.models import (
    Case,
    Classification,
    Expectation,
    Outputs,
    Rejection,
    RunViolation,
    tensor_json,
)
from sonnx_ort.models.manifest import VERSION

LARGEST_IN_JSON = 40
"""Tensors of more elements than this go into a file of their model's."""

LINE_LENGTH = 100

_UNIX = 3
_NPY_VERSION = (1, 0)


class TensorFile:
    """The tensors of one model that are too large for the manifest; equal ones are kept once.

    Attributes:
        name: The name of the file.
        arrays: The tensors by name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: dict[str, Array] = {}

    def entry(self, name: str, array: Array) -> dict[str, Any]:
        """Give the manifest's entry of a tensor, which is kept here if it is large."""
        if array.size <= LARGEST_IN_JSON:
            return tensor_json.encode(array)
        for kept_name, kept in self.arrays.items():
            if kept is array:
                return {"file": self.name, "array": kept_name}
        unique = name if name not in self.arrays else f"{name}_{len(self.arrays)}"
        self.arrays[unique] = array
        return {"file": self.name, "array": unique}

    def entries(self, arrays: Mapping[str, Array]) -> dict[str, Any]:
        """Give the manifest's entries of several tensors."""
        return {name: self.entry(name, array) for name, array in arrays.items()}

    def content(self) -> bytes:
        """Give the bytes of the file, the same for the same tensors."""
        content = io.BytesIO()
        # Not compressed: compressors differ between installations.
        with zipfile.ZipFile(content, "w") as archive:
            for name, array in self.arrays.items():
                member = zipfile.ZipInfo(f"{name}.npy")
                member.create_system = _UNIX
                archive.writestr(member, _npy(array))
        return content.getvalue()


def _npy(array: Array) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, _NPY_VERSION, allow_pickle=False)
    return content.getvalue()


def contents(bundles: Iterable[Bundle]) -> dict[str, bytes]:
    """Give the bundled files.

    Args:
        bundles: The models.

    Returns:
        The content of each file by its path below `models/`.

    Raises:
        ValueError: Two models, or two cases of one model, have one name.
    """
    files: dict[str, bytes] = {}
    entries = []
    for bundle in bundles:
        name = bundle.example.name
        if f"data/{name}.onnx" in files:
            raise ValueError(f"two models are called '{name}'")
        tensors = TensorFile(f"{name}.npz")
        entries.append(_model_entry(bundle, tensors))
        files[f"data/{name}.onnx"] = bundle.model.SerializeToString(deterministic=True)
        if tensors.arrays:
            files[f"data/{tensors.name}"] = tensors.content()
    manifest = {"version": VERSION, "models": entries}
    files["manifest.json"] = ("\n".join(_lines(manifest)) + "\n").encode()
    return files


def _model_entry(bundle: Bundle, tensors: TensorFile) -> dict[str, Any]:
    example = bundle.example
    if len({case.name for case in example.cases}) < len(example.cases):
        raise ValueError(f"two cases of '{example.name}' have one name")
    return {
        "name": example.name,
        "shows": example.shows,
        "sources": [_without_nones(asdict(source)) for source in example.sources],
        "cases": [_case_entry(case, tensors) for case in example.cases],
    }


def _case_entry(case: Case, tensors: TensorFile) -> dict[str, Any]:
    return {
        "name": case.name,
        "edition": case.edition.value,
        "broadcast": case.broadcast,
        "inputs": tensors.entries(case.inputs),
        "expected": _expectation_entry(case.expected, tensors),
    }


def _expectation_entry(expected: Expectation, tensors: TensorFile) -> dict[str, Any]:
    match expected:
        case Outputs(values):
            return {"outputs": tensors.entries(values)}
        case Rejection(violations):
            return {"rejected": [asdict(violation) for violation in violations]}
        case RunViolation():
            return {"violation": asdict(expected)}
        case Classification(output, labels, correct):
            labels_entry = tensors.entry("labels", labels)
            return {
                "classification": {"output": output, "labels": labels_entry, "correct": correct}
            }


def _without_nones(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}


def _lines(value: object, indent: str = "") -> Iterator[str]:
    """Lay JSON out: what fits on a line on one line, numbers as running text, else indented."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(indent) + len(flat) <= LINE_LENGTH or not isinstance(value, dict | list):
        yield indent + flat
    elif isinstance(value, dict):
        members = [(f"{json.dumps(key)}: ", member) for key, member in value.items()]
        yield from _block("{", members, "}", indent)
    elif any(isinstance(member, dict | list) for member in value):
        yield from _block("[", [("", member) for member in value], "]", indent)
    else:
        yield from textwrap.wrap(
            flat, LINE_LENGTH, initial_indent=indent, subsequent_indent=indent + " "
        )


def _block(
    opening: str, members: Sequence[tuple[str, object]], closing: str, indent: str
) -> Iterator[str]:
    yield indent + opening
    for number, (label, member) in enumerate(members, start=1):
        first, *rest = _lines(member, indent + "  ")
        lines = [indent + "  " + label + first.lstrip(), *rest]
        lines[-1] += "," if number < len(members) else ""
        yield from lines
    yield indent + closing
