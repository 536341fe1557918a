"""What session options put in the place of a model's initializers and external data.

ONNX Runtime does not list it. So it is asked: for a name, by adding it a second time to a copy of
the options; for files in memory, by sessions on models that need nothing else.
"""

import functools
import secrets
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import Reference, refer, reference_of
from sonnx_ort.loading.file_traversal import graphs_and_nodes
from sonnx_ort.ort.registration import second_registration_explained
from sonnx_ort.ort.session_options import (
    FATAL,
    WEIGHTS_FOLDER,
    attribute,
    config_entry,
    locked,
    temporary_folder,
)

_OPSETS = [helper.make_opsetid("", 17)]
_IR_VERSION = 8

_SMALLEST_MODEL: bytes = helper.make_model(
    helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "smallest",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])],
    ),
    opset_imports=_OPSETS,
    ir_version=_IR_VERSION,
).SerializeToString()

_UNSET = {"enable_profiling": False, "optimized_model_filepath": "", "log_severity_level": FATAL}
"""Attributes by which a session writes something when it starts."""

_NO_SUCH_INITIALIZER = "Failed to find existing initializer"
_NO_SUCH_FILE = "External data path"


def _started(model: bytes | str, options: onnxruntime.SessionOptions) -> Any:
    """A session on the options as they are, which writes nothing."""
    # Providers of the options warn if others are given.
    providers = None if options.has_providers() else ["CPUExecutionProvider"]
    with second_registration_explained(), locked(options), ExitStack() as restored:
        for name, value in _UNSET.items():
            restored.enter_context(attribute(options, name, value))
        return onnxruntime.InferenceSession(model, options, providers=providers)


def copied(options: onnxruntime.SessionOptions) -> onnxruntime.SessionOptions:
    """Copy session options.

    ONNX Runtime copies the options into each session and returns them: without custom operators,
    the execution providers that were added to them, and files in memory.

    Raises:
        SonnxError: No session starts with them on a model of one node. If they have initializers
            from `add_external_initializers`, sessions start only on models with those.
    """
    kept = {name: getattr(options, name) for name in _UNSET}
    try:
        copy = _started(_SMALLEST_MODEL, options).get_session_options()
    except SonnxError:
        raise
    except Exception as error:
        if _NO_SUCH_INITIALIZER not in str(error):
            raise SonnxError(
                "the session options cannot be examined, because ONNX Runtime starts no session of "
                f"a small model with them: {error}"
            ) from error
        raise SonnxError(
            "the session options replace initializers (add_external_initializers), which sonnx_ort "
            "cannot examine; put them into the model, or give the files of its external data by "
            "add_external_initializers_from_files_in_memory"
        ) from error
    for name, value in kept.items():
        setattr(copy, name, value)
    return copy


class AddedInitializers:
    """The initializers that session options have from `add_initializer`."""

    def __init__(self, options: onnxruntime.SessionOptions | None) -> None:
        """Copy the options; None for some to which nobody can have added anything.

        Raises:
            SonnxError: As for `copied`; or ONNX Runtime does not tell what options have.
        """
        self._copy = None
        if options is not None:
            _require_told()
            self._copy = copied(options)
        self._absent: set[str] = set()

    def require_none(self, names: Iterable[str]) -> None:
        """Require that none of these names is among them.

        Raises:
            SonnxError: One is.
        """
        for name in names:
            if self._has(name):
                raise SonnxError(
                    f"the session options replace '{name}' of the model (add_initializer), but "
                    "the proofs are of the model's own elements. Put the new ones into the "
                    "model, or make it an input of the graph"
                )

    def _has(self, name: str) -> bool:
        """Whether the options have this initializer: then ONNX Runtime refuses another."""
        if self._copy is None or name in self._absent:
            return False
        try:
            self._copy.add_initializer(name, _placeholder())
        except RuntimeError:
            return True
        self._absent.add(name)
        return False


@functools.cache
def _placeholder() -> onnxruntime.OrtValue:
    """A tensor to add; options refer to it."""
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(1, np.uint8))


@functools.cache
def _require_told() -> None:
    """Require that a copy of options with an initializer refuses that name, and no other.

    Raises:
        SonnxError: It does not.
    """
    options = onnxruntime.SessionOptions()
    options.add_initializer("added", _placeholder())
    copy = copied(options)
    copy.add_initializer("other", _placeholder())
    try:
        copy.add_initializer("added", _placeholder())
    except RuntimeError:
        return
    raise SonnxError(
        f"ONNX Runtime {onnxruntime.__version__} does not tell which initializers session options "
        "have; use another version"
    )


def replaceable_names(model: onnx.ModelProto) -> set[str]:
    """The names of initializers, and of results of nodes, which constant folding makes such."""
    graphs, nodes = graphs_and_nodes(model)
    names = {name for node in nodes for name in node.output}
    for graph in graphs:
        names.update(tensor.name for tensor in graph.initializer)
        names.update(sparse.values.name for sparse in graph.sparse_initializer)
    return names - {""}


def holds_files(options: onnxruntime.SessionOptions) -> bool:
    """Whether session options hold files in memory; they may if that is unknown.

    With such options ONNX Runtime reads no external data from other files.
    """
    with temporary_folder() as folder:
        name = secrets.token_hex(16)
        (folder / name).write_bytes(b"\0")
        path = folder / "model.onnx"
        path.write_bytes(_model_of_bytes([Reference("", name, 0, 1)]))
        try:
            _started(str(path), options)
        except SonnxError:
            raise
        except Exception as error:  # noqa: BLE001 - ONNX Runtime has one for each status
            # With some options no session starts.
            copied(options)
            # The file is not in the folder that the options name.
            return not (config_entry(options, WEIGHTS_FOLDER) and _NO_SUCH_FILE in str(error))
        return False


def read_files(
    options: onnxruntime.SessionOptions, tensors: Sequence[onnx.TensorProto]
) -> list[bytes]:
    """The bytes of external data that a session on these options reads.

    Raises:
        SonnxError: It cannot read them.
    """
    references = [reference_of(tensor) for tensor in tensors]
    model = _model_of_bytes([each for each in references if each.size])
    try:
        read = iter(_started(model, options).run(None, {}))
    except Exception as error:
        raise SonnxError(
            "the session options hold files in memory "
            "(add_external_initializers_from_files_in_memory), but not all external data of the "
            f"model: {error}"
        ) from error
    return [next(read).tobytes() if each.size else b"" for each in references]


def _model_of_bytes(references: Sequence[Reference]) -> bytes:
    """A model that gives back the bytes of external data."""
    initializers, outputs = [], []
    for number, reference in enumerate(references):
        name, size = f"t{number}", reference.size
        made = onnx.TensorProto(name=name, data_type=onnx.TensorProto.UINT8, dims=[size])
        refer(made, reference.location, reference.offset, size)
        initializers.append(made)
        outputs.append(helper.make_tensor_value_info(name, made.data_type, [size]))
    graph = helper.make_graph([], "external data", [], outputs, initializers)
    model = helper.make_model(graph, opset_imports=_OPSETS, ir_version=_IR_VERSION)
    content: bytes = model.SerializeToString()
    return content
