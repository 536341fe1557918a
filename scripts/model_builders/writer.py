"""The bytes of the bundled files: models, tensors and the manifest."""

import io
import json
import textwrap
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from model_builders.bundle import Bundle
from model_builders.outcome import Array
from sonnx_ort.models import (
    Approximation,
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


class _TensorFile:
    """The tensors of one model that are too large for the manifest; one array is kept once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: dict[str, Array] = {}

    def entries(self, arrays: Mapping[str, Array]) -> dict[str, Any]:
        """Give the manifest's entries of tensors, of which the large ones are kept here."""
        return {name: self._entry(name, array) for name, array in arrays.items()}

    def _entry(self, name: str, array: Array) -> dict[str, Any]:
        if array.size <= LARGEST_IN_JSON:
            return tensor_json.encode(array)
        known = (kept_name for kept_name, kept in self.arrays.items() if kept is array)
        unique = next(known, name if name not in self.arrays else f"{name}_{len(self.arrays)}")
        self.arrays[unique] = array
        return {"file": self.name, "array": unique}

    def content(self) -> bytes:
        """Give the bytes of the file, the same for the same tensors."""
        content = io.BytesIO()
        # Not compressed: compressors differ between installations.
        with zipfile.ZipFile(content, "w") as archive:
            for name, array in self.arrays.items():
                member = zipfile.ZipInfo(f"{name}.npy")
                member.create_system = _UNIX
                with archive.open(member, "w") as file:
                    np.lib.format.write_array(file, array, _NPY_VERSION, allow_pickle=False)
        return content.getvalue()


def contents(bundles: Iterable[Bundle]) -> dict[str, bytes]:
    """Give the bundled files.

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
        tensors = _TensorFile(f"{name}.npz")
        entries.append(_model_entry(bundle, tensors))
        files[f"data/{name}.onnx"] = bundle.model.SerializeToString(deterministic=True)
        if tensors.arrays:
            files[f"data/{tensors.name}"] = tensors.content()
    manifest = {"version": VERSION, "models": entries}
    files["manifest.json"] = f"{_laid_out(manifest)}\n".encode()
    return files


def _model_entry(bundle: Bundle, tensors: _TensorFile) -> dict[str, Any]:
    example = bundle.example
    if len({case.name for case in example.cases}) < len(example.cases):
        raise ValueError(f"two cases of '{example.name}' have one name")
    sources = [asdict(source).items() for source in example.sources]
    return {
        "name": example.name,
        "shows": example.shows,
        "sources": [{key: text for key, text in source if text} for source in sources],
        "cases": [_case_entry(case, tensors) for case in example.cases],
    }


def _case_entry(case: Case, tensors: _TensorFile) -> dict[str, Any]:
    entry = {
        "name": case.name,
        "edition": case.edition.value,
        "broadcast": case.broadcast,
        "operators": case.operators,
        "inputs": tensors.entries(case.inputs),
        "expected": _expectation_entry(case.expected, tensors),
    }
    if case.guarded is not None:
        entry["guarded"] = _expectation_entry(case.guarded, tensors)["violation"]
    return entry


def _expectation_entry(expected: Expectation, tensors: _TensorFile) -> dict[str, Any]:
    match expected:
        case Outputs(values):
            return {"outputs": tensors.entries(values)}
        case Rejection(violations):
            return {"rejected": [asdict(violation) for violation in violations]}
        case RunViolation():
            numbers = expected.values and [tensor_json.encode_number(v) for v in expected.values]
            return {"violation": asdict(expected) | {"values": numbers}}
        case Classification(output, labels, correct):
            entry = {"output": output, **tensors.entries({"labels": labels}), "correct": correct}
            return {"classification": entry}
        case Approximation(values, tolerance):
            entry = {"outputs": tensors.entries(values), "tolerance": tolerance}
            return {"approximation": entry}


def _laid_out(value: object, indent: str = "") -> str:
    """Give JSON: what fits on a line on one line, numbers as running text, else indented."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(indent) + len(flat) <= LINE_LENGTH or not isinstance(value, dict | list):
        return flat
    inner = f"{indent}  "
    if isinstance(value, dict):
        members = [f"{json.dumps(key)}: {_laid_out(value[key], inner)}" for key in value]
    elif any(isinstance(member, dict | list) for member in value):
        members = [_laid_out(member, inner) for member in value]
    else:
        text = textwrap.fill(
            flat, LINE_LENGTH, initial_indent=indent, subsequent_indent=f"{indent} "
        )
        return text.lstrip()
    separator = f",\n{inner}"
    return f"{flat[0]}\n{inner}{separator.join(members)}\n{indent}{flat[-1]}"
