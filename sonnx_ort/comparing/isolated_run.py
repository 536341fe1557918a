"""Runs of models in a process of their own, whose death is an outcome like another."""

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
from sonnx_ort.runtime.session_options import WEIGHTS_FOLDER
from sonnx_ort.runtime.violations import violations_raised

Array = npt.NDArray[Any]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_ort_value(array: Array) -> onnxruntime.OrtValue:
    """Hand an array to ONNX Runtime.

    Args:
        array: The array.
    """
    if array.dtype != _BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        array.view(np.uint16), onnx.TensorProto.BFLOAT16
    )


def to_array(value: onnxruntime.OrtValue) -> Array | None:
    """Copy a tensor out of ONNX Runtime.

    Args:
        value: The value.

    Returns:
        The tensor; None for what is no tensor.
    """
    if not value.has_value() or not value.is_tensor():
        return None
    if value.data_type() != "tensor(bfloat16)":
        return np.array(value.numpy())
    size = math.prod(value.shape())
    bits = ctypes.string_at(value.data_ptr(), _BFLOAT16.itemsize * size) if size else b""
    return np.frombuffer(bits, _BFLOAT16).reshape(value.shape()).copy()


_FATAL = 4

_RUNNING = "while running"
"""What ONNX Runtime's message says where a node failed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that gave no outputs.

    Attributes:
        reason: What ended it, as a clause or a message.
        at_a_node: Whether a node of the graph failed, and not what comes before the first one.
        violated: Whether a rule of the profile was broken.
    """

    reason: str
    at_a_node: bool = True
    violated: bool = False


Results = Mapping[str, Array | None]
"""The outputs by name; None for what is no tensor."""

Outcome = Results | Failed
"""What comes of a run."""


class IsolatedRuns:
    """Runs models in a process of its own, and in a new one where that dies.

    A process is started once for many runs, since starting takes longer than most of them.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> "IsolatedRuns":
        """Nothing is started before the first run."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the process; it is killed where a run may be going on."""
        if kind is not None and self._process is not None:
            self._process.kill()
        self._end()

    def run(self, model: bytes, folder: Path | None, feeds: Mapping[str, Array]) -> Outcome:
        """Run a model once, without optimizations.

        Args:
            model: The serialized model.
            folder: Where its external data lies; None if it has none.
            feeds: The inputs by name.

        Returns:
            The outputs, or what ended the run, be it the death of the process.
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
        """End the process, if there is one, and give its exit status."""
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
    """Do runs until nobody asks for another."""
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
        # So it refuses inputs, before any node.
        return Failed(f"ONNX Runtime refuses: {error}", at_a_node=_RUNNING in str(error))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return Failed(f"ONNX Runtime refuses: {error}")


def _run(model: bytes, folder: Path | None, feeds: Mapping[str, Array]) -> Results:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if folder is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, str(folder.resolve()))
    if any(entry.domain == DOMAIN for entry in onnx.load_from_string(model).opset_import):
        prepare(options, Backend.PYTHON)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = session.run_with_ort_values(
        names, {name: to_ort_value(array) for name, array in feeds.items()}
    )
    return {name: to_array(value) for name, value in zip(names, values, strict=True)}
