"""Where the large weights of a session's model lie, so that starting it copies none of them."""

import secrets
from collections.abc import Iterable
from pathlib import Path

import onnx
import onnxruntime
from onnx.external_data_helper import load_external_data_for_tensor

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.detachment import detached
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.runtime.session_options import WEIGHTS_FOLDER, write_weights_apart

_WRITTEN_WITHOUT = 1 << 30
"""Above so many bytes what optimizers derive from the weights could be too large for a graph."""

_NO_DIGEST = ""


class Weights:
    """Weights inside of the graph."""

    apart = False
    """Whether a graph refers to weights that lie elsewhere."""

    def put_into(self, graph: onnx.ModelProto) -> None:
        """Load all weights into a graph.

        Args:
            graph: The enforced model, which is changed.
        """

    def put_needed_into(self, graph: onnx.ModelProto) -> None:
        """Load the weights that ONNX Runtime takes only from within a graph.

        Args:
            graph: The enforced model, which is changed.
        """

    def attach(self, options: onnxruntime.SessionOptions) -> None:
        """Let ONNX Runtime find the weights.

        Args:
            options: Those of one session, which nobody else uses: they cannot be detached again.
        """

    def require_unchanged(self) -> None:
        """Refuse weights that have been changed since the graph was read.

        Raises:
            SonnxError: A file is another, or has been written to.
        """


INSIDE = Weights()
"""All weights are in the graph."""


class WeightsInFolder(Weights):
    """Weights in files of a folder: external data."""

    apart = True

    def __init__(self, folder: Path, graph: onnx.ModelProto) -> None:
        """Note in what state the files are.

        Args:
            folder: The folder.
            graph: The model that refers to the files.
        """
        self._folder = folder.absolute()
        locations = {
            entry.value
            for tensor in external_tensors(graph)
            for entry in tensor.external_data
            if entry.key == "location"
        }
        self._states = {name: _state(self._folder / name) for name in locations}

    def put_into(self, graph: onnx.ModelProto) -> None:
        """Load all weights into a graph."""
        self._load(list(external_tensors(graph)))

    def put_needed_into(self, graph: onnx.ModelProto) -> None:
        """Load what belongs to nodes and their bodies; the others are followed everywhere."""
        initializers = list(graph.graph.initializer)
        followed = set(map(id, initializers))
        self._load([t for t in external_tensors(graph) if id(t) not in followed])

    def attach(self, options: onnxruntime.SessionOptions) -> None:
        """Name the folder in the options."""
        options.add_session_config_entry(WEIGHTS_FOLDER, str(self._folder))
        if sum(state[1] for state in self._states.values() if state) > _WRITTEN_WITHOUT:
            write_weights_apart(options)

    def require_unchanged(self) -> None:
        """Refuse files that have been changed."""
        for name, state in self._states.items():
            if _state(self._folder / name) != state:
                raise _changed(self._folder / name)

    def _load(self, tensors: Iterable[onnx.TensorProto]) -> None:
        for tensor in tensors:
            load_external_data_for_tensor(tensor, str(self._folder))
            _belongs_to_graph(tensor)


class WeightsInMemory(Weights):
    """Weights in the bytes of a serialized model."""

    apart = True

    def __init__(self, content: bytes) -> None:
        """Keep the memory, as long as options may refer to it.

        Args:
            content: The serialized model.
        """
        self._content = content
        # What no file can be called by chance, nor by a model that wants to be taken for this one.
        self._location = f"weights-{secrets.token_hex(16)}"

    def separated(self) -> ReadModel | None:
        """The model, with references to these weights; None if there are none, or in doubt."""
        graph = detached(memoryview(self._content), self._location)
        return None if graph is None else ReadModel(graph, None, _NO_DIGEST)

    def put_into(self, graph: onnx.ModelProto) -> None:
        """Copy all weights into a graph."""
        for tensor in external_tensors(graph):
            place = {entry.key: entry.value for entry in tensor.external_data}
            if place["location"] == self._location:
                start = int(place["offset"])
                tensor.raw_data = self._content[start : start + int(place["length"])]
                _belongs_to_graph(tensor)

    def attach(self, options: onnxruntime.SessionOptions) -> None:
        """Hand the memory to ONNX Runtime, which copies each tensor when it starts a session."""
        options.add_external_initializers_from_files_in_memory(
            [self._location], [self._content], [len(self._content)]
        )


def _belongs_to_graph(tensor: onnx.TensorProto) -> None:
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")


def _state(file: Path) -> tuple[int, int, int] | None:
    """By what a change of a file is seen; None if there is no file."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _changed(path: Path) -> SonnxError:
    return SonnxError(f"'{path}' has changed since the model was read; make a new session")
