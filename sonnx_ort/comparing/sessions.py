"""Sessions of ONNX Runtime in the separate process, which serves `IsolatedRuns`."""

import os
import pickle
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from onnx import helper

from sonnx_ort.backends import Backend
from sonnx_ort.comparing.isolated_run import (
    LEVELS,
    UNOPTIMIZED,
    Array,
    Failed,
    Job,
    Outcome,
    Results,
    Settings,
    send,
)
from sonnx_ort.comparing.prepared_model import has_random_operators
from sonnx_ort.errors import BackendUnavailable, ContractViolation, SonnxError
from sonnx_ort.loading.pauses import silenced
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.profile.operator import COMPILED_DOMAIN, DOMAIN
from sonnx_ort.runtime.feeds import run_on_values, to_array, to_ort_value
from sonnx_ort.runtime.session_options import (
    DISABLED_OPTIMIZERS,
    FATAL,
    WEIGHTS_FOLDER,
    prepare,
    temporary_folder,
)
from sonnx_ort.runtime.violations import violations_raised, without_ticket

_RUNNING = "while running"
"""A phrase in ONNX Runtime's message if a node failed."""


def serve() -> None:
    """Execute what comes on standard input until it ends, and write the results to standard output.

    What else would be written there, by ONNX Runtime or by Python, goes to standard error.
    """
    sessions = _Sessions()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as results, silenced("sonnx_ort"):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        while True:
            try:
                job: Job | partial[Any] = pickle.load(sys.stdin.buffer)  # noqa: S301 - of ours
            except EOFError:
                return
            send(_outcome(job, sessions) if isinstance(job, Job) else _result(job), results)


def _result(call: partial[Any]) -> Any:
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        kind = "" if isinstance(error, SonnxError) else f"{type(error).__name__}: "
        return Failed(f"{kind}{error}")


class _Sessions:
    """The last two sessions, because the body of a loop, or a pair of models, runs many times.

    With random operators each run has its own, which draws from their seeds anew.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], _Session] = {}

    def of(self, job: Job) -> "_Session":
        """A session for a job."""
        key = job.model, job.folder, job.settings
        found = self._kept.pop(key, None)
        if found is None or found.random:
            while len(self._kept) > 1:
                del self._kept[next(iter(self._kept))]
            found = _start(job, _options(job))
        self._kept[key] = found
        return found


@dataclass(frozen=True, slots=True)
class _Session:
    """A session.

    `shapes` has the outputs that are shapes of kernels, or tickets in their place.
    """

    session: onnxruntime.InferenceSession
    shapes: frozenset[str]
    random: bool


def _outcome(job: Job, sessions: _Sessions) -> Outcome | bytes | BackendUnavailable:
    try:
        with violations_raised():
            if job.feeds is None:
                return _optimized(job)
            return _run(job, job.feeds, sessions.of(job))
    except ContractViolation as violation:
        return Failed(str(violation), violated=True)
    except BackendUnavailable as error:
        return error
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as error:
        # ONNX Runtime rejects inputs in this way, before any node.
        return Failed(_refused(error), at_a_node=_RUNNING in str(error))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return Failed(_refused(error))


def _refused(error: Exception) -> str:
    """The reason on one line; the messages of ONNX Runtime have several."""
    return f"ONNX Runtime refuses: {' '.join(str(error).split())}"


def _optimized(job: Job) -> bytes:
    with temporary_folder() as folder:
        options = _options(job)
        path = folder / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        _start(job, options)
        return path.read_bytes()


def profile_of(model: bytes, folder: Path | None, feeds: Mapping[str, Any], place: Path) -> Path:
    """Run a model here, as `IsolatedRuns` does elsewhere, and write ONNX Runtime's profile of it.

    `folder` is that of external data, if there is any, and `place` that of the profile.

    Raises:
        Exception: The model does not run.
    """
    job = Job(model, folder, None, UNOPTIMIZED)
    options = _options(job)
    options.enable_profiling = True
    options.profile_file_prefix = str(place / "profile")
    session = _start(job, options).session
    names = [output.name for output in session.get_outputs()]
    with violations_raised():
        run_on_values(session, names, feeds)
    return Path(session.end_profiling())


def types_of_outputs(model: bytes) -> dict[str, onnx.TypeProto]:
    """The types that ONNX Runtime infers of those outputs of a model that are tensors.

    Raises:
        Exception: The model cannot be loaded.
    """
    job = Job(model, None, None, UNOPTIMIZED)
    numbers = {f"tensor({name.lower()})": n for name, n in onnx.TensorProto.DataType.items()}
    return {
        output.name: helper.make_tensor_type_proto(numbers[output.type], output.shape)
        for output in _start(job, _options(job)).session.get_outputs()
        if output.type in numbers
    }


_AT_ONCE = 2
"""How many nodes run at the same time, on machines with fewer processors too."""

_VERBOSE, _STANDARD_ERROR = 0, 2

_TRIED = re.compile(r"GraphTransformer (\S+) modified: ([01])")
"""What ONNX Runtime's log says of each optimizer that it tries: its name, and whether it acts."""


def acting_optimizers(model: bytes, settings: Settings) -> tuple[str, ...]:
    """The optimizers that change a model, in the order in which they first do.

    Only the log of a session names them.

    Raises:
        SonnxError: It does not.
        Exception: ONNX Runtime makes no session.
    """
    job = Job(model, None, None, settings)
    options = _options(job)
    options.log_severity_level = _VERBOSE
    with tempfile.TemporaryFile() as log:
        kept = os.dup(_STANDARD_ERROR)
        os.dup2(log.fileno(), _STANDARD_ERROR)
        try:
            _start(job, options)
        finally:
            os.dup2(kept, _STANDARD_ERROR)
            os.close(kept)
        log.seek(0)
        tried = _TRIED.findall(log.read().decode(errors="replace"))
    if not tried:
        version = onnxruntime.__version__
        raise SonnxError(f"the log of ONNX Runtime {version} does not name its optimizers")
    return tuple(dict.fromkeys(name for name, acts in tried if acts == "1"))


def _options(job: Job) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    options.graph_optimization_level = LEVELS[job.settings.level]
    options.intra_op_num_threads = job.settings.threads
    if job.settings.parallel:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = _AT_ONCE
    if job.settings.off:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(job.settings.off))
    if job.folder is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, str(job.folder.resolve()))
    return options


def _start(job: Job, options: onnxruntime.SessionOptions) -> _Session:
    proto = onnx.load_from_string(job.model)
    if any(node.domain == COMPILED_DOMAIN for node in all_nodes(proto)):
        prepare(options, Backend.COMPILED)
    elif any(entry.domain == DOMAIN for entry in proto.opset_import):
        prepare(options, Backend.PYTHON)
    elif job.settings.native:
        prepare(options, Backend.NATIVE)
    providers = list(job.settings.providers)
    session = onnxruntime.InferenceSession(job.model, options, providers=providers)
    kernels = (node for node in proto.graph.node if node.domain == DOMAIN)
    shapes = frozenset(node.output[-1] for node in kernels)
    return _Session(session, shapes, has_random_operators(proto))


def _run(job: Job, feeds: Mapping[str, Array], started: _Session) -> Results:
    names = list(job.names) or [output.name for output in started.session.get_outputs()]
    given = {name: to_ort_value(array) for name, array in feeds.items()}
    if job.settings.bound:
        values = _run_bound(started.session, names, given)
    else:
        values = started.session.run_with_ort_values(names, given)
    results = {name: to_array(value) for name, value in zip(names, values, strict=True)}
    for name in started.shapes.intersection(results):
        # A ticket is another in each run.
        if (shape := results[name]) is not None:
            results[name] = without_ticket(shape)
    return results


def _run_bound(
    session: onnxruntime.InferenceSession,
    names: Iterable[str],
    given: Mapping[str, onnxruntime.OrtValue],
) -> list[onnxruntime.OrtValue]:
    binding = session.io_binding()
    for name, value in given.items():
        binding.bind_ortvalue_input(name, value)
    for name in names:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    found: list[onnxruntime.OrtValue] = binding.get_outputs()
    return found
