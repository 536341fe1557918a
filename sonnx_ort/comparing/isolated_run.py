"""Runs models in a separate process, so that a crash is a result like any other."""

import ctypes
import math
import multiprocessing
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from sonnx_ort.errors import ContractViolation
from sonnx_ort.loading.source import silenced
from sonnx_ort.options import Backend
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.runtime.registration import prepare
from sonnx_ort.runtime.session_options import FATAL, WEIGHTS_FOLDER
from sonnx_ort.runtime.violations import violations_raised, without_ticket

Array = npt.NDArray[Any]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_ort_value(array: Array) -> onnxruntime.OrtValue:
    """Convert an array for ONNX Runtime."""
    if array.dtype != _BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        array.view(np.uint16), onnx.TensorProto.BFLOAT16
    )


def to_array(value: onnxruntime.OrtValue) -> Array | None:
    """Copy a tensor from ONNX Runtime; None if the value is not a tensor."""
    if not value.has_value() or not value.is_tensor():
        return None
    if value.data_type() != "tensor(bfloat16)":
        return np.array(value.numpy())
    size = math.prod(value.shape())
    bits = ctypes.string_at(value.data_ptr(), _BFLOAT16.itemsize * size) if size else b""
    return np.frombuffer(bits, _BFLOAT16).reshape(value.shape()).copy()


_RUNNING = "while running"
"""A phrase in ONNX Runtime's message if a node failed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A run without outputs.

    Attributes:
        reason: Why it ended, as a clause or a message.
        at_a_node: Whether a node of the graph failed, not a step before the first node.
        violated: Whether a rule of the profile was violated.
    """

    reason: str
    at_a_node: bool = True
    violated: bool = False


Results = Mapping[str, Array | None]
"""The outputs by name; None for a value that is not a tensor."""

Outcome = Results | Failed
"""The result of a run."""


class IsolatedRuns:
    """Runs models in a separate process, which is replaced if it dies.

    One process serves many runs, because starting it takes longer than most runs.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> "IsolatedRuns":
        """Start nothing before the first run."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the process; kill it if a run may be in progress."""
        if kind is not None and self._process is not None:
            self._process.kill()
        self._end()

    def run(self, model: bytes, folder: Path | None, feeds: Mapping[str, Array]) -> Outcome:
        """Run a model once, without optimizations.

        The folder is that of the model's external data; None if it has none.

        Returns:
            The outputs, or why the run failed, including the death of the process.
        """
        connection = self._started()
        try:
            connection.send((model, folder, dict(feeds)))
            outcome: Outcome = connection.recv()
        except (EOFError, ConnectionError):
            return _death(self._end())
        return outcome

    def _started(self) -> Connection:
        if self._connection is None:
            self._connection, other = self._context.Pipe()
            self._process = self._context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        return self._connection

    def _end(self) -> int:
        """End the process, if there is one, and return its exit status."""
        if self._connection is None or self._process is None:
            return 0
        self._connection.close()
        self._process.join()
        status = self._process.exitcode or 0
        self._process.close()
        self._connection = self._process = None
        return status


def _death(status: int) -> Failed:
    if status < 0:
        return Failed(f"the process is killed by {signal.Signals(-status).name}")
    return Failed(f"the process ends with status {status}")


def _serve(connection: Connection) -> None:
    """Execute runs until the connection closes."""
    with connection, silenced("sonnx_ort"):
        while True:
            try:
                model, folder, feeds = connection.recv()
            except EOFError:
                return
            connection.send(_outcome(model, folder, feeds))


def _outcome(model: bytes, folder: Path | None, feeds: Mapping[str, Array]) -> Outcome:
    try:
        with violations_raised():
            return _run(model, folder, feeds)
    except ContractViolation as violation:
        return Failed(str(violation), violated=True)
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as error:
        # ONNX Runtime rejects inputs in this way, before any node.
        return Failed(f"ONNX Runtime refuses: {error}", at_a_node=_RUNNING in str(error))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return Failed(f"ONNX Runtime refuses: {error}")


def _run(model: bytes, folder: Path | None, feeds: Mapping[str, Array]) -> Results:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if folder is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, str(folder.resolve()))
    proto = onnx.load_from_string(model)
    if any(entry.domain == DOMAIN for entry in proto.opset_import):
        prepare(options, Backend.PYTHON)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = session.run_with_ort_values(
        names, {name: to_ort_value(array) for name, array in feeds.items()}
    )
    results = {name: to_array(value) for name, value in zip(names, values, strict=True)}
    for node in proto.graph.node:
        # A kernel's last output is a shape, or a ticket in its place, which is another in each run.
        if node.domain == DOMAIN and (shape := results.get(node.output[-1])) is not None:
            results[node.output[-1]] = without_ticket(shape)
    return results
