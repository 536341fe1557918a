"""Keeps large weights out of the graph that a session is made of, wherever they came from."""

import os
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime

from sonnx_ort.loading.detachment import LARGE
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.runtime.private_options import private_copy
from sonnx_ort.runtime.weights import (
    INSIDE,
    Weights,
    WeightsInFolder,
    WeightsInMemory,
)

_TAKES_MEMORY = hasattr(
    onnxruntime.SessionOptions, "add_external_initializers_from_files_in_memory"
)
"""Whether ONNX Runtime takes weights from memory; versions up to 1.23 do not."""


@dataclass(frozen=True, slots=True)
class SeparatedModel:
    """A model for a session.

    Attributes:
        source: The model; its large weights may be references.
        weights: Where they lie.
    """

    source: ModelSource | ReadModel
    weights: Weights


def place(
    weights: Weights, graph: onnx.ModelProto, options: onnxruntime.SessionOptions, *, shared: bool
) -> tuple[Weights, onnxruntime.SessionOptions]:
    """Let a session find the weights of its graph.

    They are put into the graph where its options cannot be copied, and where the optimized model is
    to be saved, which is to have them.

    Args:
        weights: Where they lie now.
        graph: The enforced model, which may be changed.
        options: The session's options.
        shared: Whether somebody else may use the options.

    Returns:
        Where the weights lie, and the options for the session.
    """
    if not weights.apart:
        return weights, options
    saved = bool(options.optimized_model_filepath)
    own = private_copy(options, graph) if shared and not saved else options
    if own is None or saved:
        weights.put_into(graph)
        return INSIDE, options
    weights.put_needed_into(graph)
    weights.attach(own)
    return weights, own


def separate(model: ModelSource) -> SeparatedModel:
    """Find out where the large weights of a model lie, and leave them there.

    Args:
        model: As for `rewrite`; not modified.

    Returns:
        The model; as it was given where it has no large weights, or cannot be read.

    Raises:
        InvalidModel: It has external data, and cannot be read.
    """
    match model:
        case str() | os.PathLike():
            return _separate_file(Path(model)) or SeparatedModel(model, INSIDE)
        case bytes():
            return _separate_bytes(model) or SeparatedModel(model, INSIDE)
        case onnx.ModelProto() if any(map(_is_large, model.graph.initializer)):
            return _separate_object(model) or SeparatedModel(model, INSIDE)
        case _:
            return SeparatedModel(model, INSIDE)


def _separate_file(path: Path) -> SeparatedModel | None:
    try:
        separated = _separate_bytes(path.read_bytes())
    except OSError:
        return None
    if separated is not None:
        return separated
    source = read(path)
    if source.folder is None or not any(external_tensors(source.proto)):
        return SeparatedModel(source, INSIDE)
    return SeparatedModel(source, WeightsInFolder(source.folder, source.proto))


def _separate_bytes(content: bytes) -> SeparatedModel | None:
    if len(content) < LARGE or not _TAKES_MEMORY:
        return None
    weights = WeightsInMemory(content)
    separated = weights.separated()
    return None if separated is None else SeparatedModel(separated, weights)


def _separate_object(model: onnx.ModelProto) -> SeparatedModel | None:
    try:
        content = model.SerializeToString()
    except Exception:  # noqa: BLE001 - the ordinary way says what is wrong with it
        return None
    return _separate_bytes(content)


def _is_large(tensor: onnx.TensorProto) -> bool:
    return bool(tensor.ByteSize() >= LARGE)
