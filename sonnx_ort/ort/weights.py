"""Keeps large weights outside the model that a session is made from."""

import os
import secrets
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
import onnxruntime

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import (
    LARGE,
    detached,
    external_tensors,
    hold,
    load_external_data,
    refer,
    reference_of,
)
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.loading.source import LARGEST, ModelSource, ReadModel, read
from sonnx_ort.ort.given_initializers import copied, holds_files, read_files
from sonnx_ort.ort.session_options import WEIGHTS_FOLDER, config_entry, write_weights_externally
from sonnx_ort.profile.operator import OWN_DOMAINS

_WRITTEN_WITHOUT = 1 << 30
"""Above this number of bytes, weights derived by optimizers could exceed the limit of a graph."""


class Weights:
    """Weights in the graph."""

    external = False
    """Whether a graph refers to weights outside it."""

    location = ""
    """The location of all weights, if it is a name that is chosen at random."""

    def put_into(self, graph: onnx.ModelProto) -> None:
        """Load all weights into the graph of a rewritten model."""
        self._load(list(external_tensors(graph)))

    def put_needed_into(self, graph: onnx.ModelProto) -> None:
        """Load the weights of nodes and their subgraphs; references of others work everywhere."""
        initializers = list(graph.graph.initializer)
        followed = set(map(id, initializers))
        self._load([t for t in external_tensors(graph) if id(t) not in followed])

    def attach(self, options: onnxruntime.SessionOptions) -> None:
        """Let ONNX Runtime find the weights.

        Args:
            options: The private options of one session: the weights cannot be detached again.
        """

    def require_unchanged(self) -> None:
        """Reject weights that have changed since the graph was read.

        Raises:
            SonnxError: A file was replaced or written to.
        """

    def _load(self, tensors: Iterable[onnx.TensorProto]) -> None:
        """Put the elements into tensors that refer to them."""


INSIDE = Weights()
"""All weights are in the graph."""


class WeightsInFolder(Weights):
    """Weights in files of a folder: external data."""

    external = True

    def __init__(self, folder: Path, graph: onnx.ModelProto) -> None:
        """Record the state of the files to which the graph refers."""
        self._folder = folder.absolute()
        locations = {reference_of(tensor).location for tensor in external_tensors(graph)}
        self._states = {name: _state(self._folder / name) for name in locations}

    def attach(self, options: onnxruntime.SessionOptions) -> None:
        """Set the folder in the options, unless it is their own."""
        if not config_entry(options, WEIGHTS_FOLDER):
            options.add_session_config_entry(WEIGHTS_FOLDER, str(self._folder))
        if sum(state[1] for state in self._states.values() if state) > _WRITTEN_WITHOUT:
            write_weights_externally(options)

    def require_unchanged(self) -> None:
        """Reject files that have changed."""
        for name, state in self._states.items():
            if _state(self._folder / name) != state:
                path = self._folder / name
                raise SonnxError(
                    f"'{path}' has changed since the model was read; create a new session"
                )

    def _load(self, tensors: Iterable[onnx.TensorProto]) -> None:
        load_external_data(tensors, self._folder)


class WeightsInMemory(Weights):
    """Weights in the memory of this process."""

    external = True

    def __init__(self, content: bytes | bytearray) -> None:
        """Keep the memory, as long as options may refer to it."""
        self._content = content
        # A random name, so that no file has it by chance, and no model can imitate it.
        self.location = f"weights-{secrets.token_hex(16)}"

    def attach(self, options: onnxruntime.SessionOptions) -> None:
        """Pass the memory to ONNX Runtime, which copies each tensor when it starts a session."""
        options.add_external_initializers_from_files_in_memory(
            [self.location], [self._content], [len(self._content)]
        )

    def _load(self, tensors: Iterable[onnx.TensorProto]) -> None:
        for tensor in tensors:
            place = reference_of(tensor)
            if place.location == self.location:
                hold(tensor, bytes(self._content[place.offset : place.offset + place.size]))


def _state(file: Path) -> tuple[int, int, int] | None:
    """What reveals a change of a file; None if there is no file."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


_TAKES_MEMORY = hasattr(
    onnxruntime.SessionOptions, "add_external_initializers_from_files_in_memory"
)
"""Whether ONNX Runtime takes weights from memory; versions up to 1.23 do not."""


@dataclass(frozen=True, slots=True)
class SeparatedModel:
    """A model for a session.

    Attributes:
        source: The model; its large weights may be references.
        weights: The location of the weights.
        whole: The model as it was given, if its weights were inside.
    """

    source: ReadModel
    weights: Weights
    whole: ModelSource | None = None


def place(
    weights: Weights, graph: onnx.ModelProto, options: onnxruntime.SessionOptions, *, shared: bool
) -> tuple[Weights, onnxruntime.SessionOptions]:
    """Let a session find the weights of its graph.

    The weights are put into the graph if the options cannot be copied, or if the optimized model is
    to be saved with them.

    `shared` is whether others may use the options.

    Returns:
        The new location of the weights, and the options for the session.
    """
    if not weights.external:
        return weights, options
    saved = bool(options.optimized_model_filepath)
    own = private_copy(options, graph) if shared and not saved else options
    if own is None or saved:
        weights.put_into(graph)
        return INSIDE, options
    weights.put_needed_into(graph)
    weights.attach(own)
    return weights, own


def separate(
    model: ModelSource, options: onnxruntime.SessionOptions | None = None
) -> SeparatedModel:
    """Find the large weights of a model, and replace them by references.

    External data is where ONNX Runtime finds it: in the memory of the session options, in the
    folder that they name, beside the model, or in the working directory.

    Args:
        model: As for `rewrite`; not modified.
        options: Those of the session.

    Returns:
        The model; unchanged if it has no large weights.

    Raises:
        InvalidModel: It cannot be read.
        SonnxError: The options have only a part of its external data in memory.
    """
    content = _content(model)
    if len(content) >= LARGE and _TAKES_MEMORY:
        inside = WeightsInMemory(content)
        graph = detached(content, inside.location)
        if graph is not None:
            return SeparatedModel(ReadModel(graph, None, ""), inside, whole=model)
    source = read(model)
    if not any(external_tensors(source.proto)):
        return SeparatedModel(source, INSIDE)
    folder = source.folder
    if options is not None:
        if _TAKES_MEMORY and holds_files(options):
            return _copied_from_memory(source, options)
        named = config_entry(options, WEIGHTS_FOLDER)
        folder = Path(named) if named else folder
    weights = WeightsInFolder(folder or Path.cwd(), source.proto)
    return SeparatedModel(replace(source, folder=folder), weights)


def _content(model: ModelSource) -> bytes:
    """The serialized model; empty if it has no large weights or cannot be read."""
    try:
        match model:
            case str() | os.PathLike():
                path = Path(model)
                return path.read_bytes() if LARGE <= path.stat().st_size <= LARGEST else b""
            case bytes():
                return model
            case onnx.ModelProto() if any(t.ByteSize() >= LARGE for t in model.graph.initializer):
                content: bytes = model.SerializeToString()
                return content
    except Exception:  # noqa: BLE001 - the ordinary way says what is wrong with it
        return b""
    return b""


def _copied_from_memory(source: ReadModel, options: onnxruntime.SessionOptions) -> SeparatedModel:
    """The model with external data in a copy of what its options hold in memory."""
    proto = deepcopy(source.proto)
    tensors = list(external_tensors(proto))
    content = bytearray()
    weights = WeightsInMemory(content)
    for tensor, elements in zip(tensors, read_files(options, tensors), strict=True):
        refer(tensor, weights.location, len(content), len(elements))
        content += elements
        if not elements:
            # ONNX Runtime reads nothing from the end of a file.
            hold(tensor, b"")
    return SeparatedModel(ReadModel(proto, None, source.sha256), weights)


_KNOWN_DOMAINS = OWN_DOMAINS | {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
"""The domains of ONNX Runtime and of this package."""


def private_copy(
    options: onnxruntime.SessionOptions, graph: onnx.ModelProto
) -> onnxruntime.SessionOptions | None:
    """Copy session options.

    ONNX Runtime copies the options into each session and returns them, without custom operators and
    the execution providers that were added to them.

    Returns:
        The copy, on which operators must be registered again; None if it would lack something that
        the model needs.
    """
    if options.has_providers() or not _domains(graph) <= _KNOWN_DOMAINS:
        return None
    return copied(options)


def _domains(graph: onnx.ModelProto) -> set[str]:
    """The domains of its nodes, but for those of its own functions."""
    local = {function.domain for function in graph.functions}
    return {node.domain for node in all_nodes(graph)} - local
