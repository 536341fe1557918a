"""A backend in the sense of the onnx package, which keeps what its last run was given and gave."""

import ctypes
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from sonnx_ort.ort.feeds import to_array, to_ort_value

Start = Callable[[onnx.ModelProto], ort.InferenceSession]
"""Starts a session on a model."""

_UNKNOWN_VERSION = 1000
"""A version of the file format and of the operators that no ONNX Runtime knows."""

_BFLOAT16 = "tensor(bfloat16)"
_EIGHT_BITS = {
    f"tensor({name.replace('_', '').lower()})": (name, number)
    for name, number in onnx.TensorProto.DataType.items()
    if name.startswith("FLOAT8E")
}
"""The floats of eight bits, which ONNX Runtime takes from Python as bytes alone."""


@dataclass(slots=True)
class Trace:
    """What happened last.

    Attributes:
        model: The model that was prepared.
        feeds: The inputs of each run, by name.
        outputs: The outputs of each run.
    """

    model: onnx.ModelProto | None = None
    feeds: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[list[Any]] = field(default_factory=list)


class PreparedModel(BackendRep):  # type: ignore[misc]
    """A session that takes and gives values in the order of the model."""

    def __init__(self, session: ort.InferenceSession, trace: Trace) -> None:
        """Keep a session, and where its runs are written down."""
        self._session = session
        self._trace = trace

    def run(self, inputs: Sequence[Any], **_: Any) -> tuple[Any, ...]:
        """Run the model on values for its first inputs, and give all outputs."""
        names = [declared.name for declared in self._session.get_inputs()]
        # ONNX Runtime takes no scalars of numpy, but arrays without axes.
        given = [np.asarray(v) if isinstance(v, np.generic) else v for v in inputs]
        feeds = dict(zip(names, given, strict=False))
        self._trace.feeds.append(feeds)
        outputs = run_with_any_types(self._session, feeds)
        self._trace.outputs.append(outputs)
        return tuple(outputs)


def run_with_any_types(session: ort.InferenceSession, feeds: Mapping[str, Any]) -> list[Any]:
    """Run a model; types that Python cannot hand over by themselves are no obstacle.

    Args:
        session: The session.
        feeds: Arrays, and what else a model may take, by name.
    """
    types = {declared.name: declared.type for declared in session.get_inputs()}
    values = [*session.get_inputs(), *session.get_outputs()]
    if not any(value.type == _BFLOAT16 or value.type in _EIGHT_BITS for value in values):
        results: list[Any] = session.run(None, dict(feeds))
        return results
    given = {name: _handed_over(np.asarray(value), types[name]) for name, value in feeds.items()}
    return [_taken_back(value) for value in session.run_with_ort_values(None, given)]


def _handed_over(array: np.ndarray[Any, Any], declared: str) -> ort.OrtValue:
    if declared not in _EIGHT_BITS:
        return to_ort_value(array)
    _, number = _EIGHT_BITS[declared]
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint8), number)


def _taken_back(value: ort.OrtValue) -> Any:
    if value.data_type() not in _EIGHT_BITS:
        return to_array(value)
    _, number = _EIGHT_BITS[value.data_type()]
    size = math.prod(value.shape())
    bits = ctypes.string_at(value.data_ptr(), size) if size else b""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(number)
    return np.frombuffer(bits, dtype).reshape(value.shape())


def _refusal(ir_version: int, opset: int) -> str:
    """What ONNX Runtime says of a model of versions that it does not know."""
    nothing = helper.make_graph([], "nothing", [], [])
    imported = [helper.make_opsetid("", opset)]
    made = helper.make_model(nothing, ir_version=ir_version, opset_imports=imported)
    try:
        ort.InferenceSession(made.SerializeToString())
    except Exception as error:  # noqa: BLE001 - the class of ONNX Runtime's own has no public name
        return str(error)
    return ""


@functools.cache
def newest_versions() -> tuple[int, int]:
    """The newest versions of the file format and of the operators that ONNX Runtime knows."""
    of_format = re.search(r"max supported IR version: (\d+)", _refusal(_UNKNOWN_VERSION, 1))
    of_operators = re.search(r"is till opset (\d+)", _refusal(1, _UNKNOWN_VERSION))
    assert of_format is not None
    assert of_operators is not None
    return int(of_format[1]), int(of_operators[1])


def _known_versions(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of versions that ONNX Runtime knows: newer ones are declared to be of the newest.

    What a case expects says whether they mean the same there.
    """
    newest_format, newest_opset = newest_versions()
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = min(model.ir_version, newest_format)
    for imported in copy.opset_import:
        if imported.domain in {"", "ai.onnx"}:
            imported.version = min(imported.version, newest_opset)
    return copy


def backend_of(start: Start, trace: Trace) -> type[Backend]:
    """Make a backend that `onnx.backend.test.runner.Runner` takes.

    Args:
        start: Starts the sessions that it runs models in.
        trace: Where their runs are written down.
    """

    class StartingSessions(Backend):  # type: ignore[misc]
        """Runs models on the CPU."""

        @classmethod
        def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> BackendRep:
            """Start a session on a model, which is checked first."""
            super().prepare(model, device)
            trace.model = _known_versions(model)
            return PreparedModel(start(trace.model), trace)

        @classmethod
        def supports_device(cls, device: str) -> bool:
            """Whether it runs models on a device: on the CPU alone."""
            return device == "CPU"

    return StartingSessions
