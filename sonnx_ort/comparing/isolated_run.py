"""Runs models in a separate process, so that a crash is a result like any other."""

import enum
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal, TypeVar

import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper

from sonnx_ort.backends import Backend
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

Array = npt.NDArray[Any]
Result = TypeVar("Result")


class Level(enum.StrEnum):
    """How far ONNX Runtime optimizes a model."""

    NONE = "none"
    BASIC = "basic"
    EXTENDED = "extended"
    ALL = "all"


LevelChoice = Level | Literal["none", "basic", "extended", "all"]
"""How far ONNX Runtime optimizes, as a caller gives it."""


_Levels = onnxruntime.GraphOptimizationLevel
LEVELS = MappingProxyType(
    {
        Level.NONE: _Levels.ORT_DISABLE_ALL,
        Level.BASIC: _Levels.ORT_ENABLE_BASIC,
        Level.EXTENDED: _Levels.ORT_ENABLE_EXTENDED,
        Level.ALL: _Levels.ORT_ENABLE_ALL,
    }
)
"""The levels of ONNX Runtime."""


CPU = ("CPUExecutionProvider",)

_RUNNING = "while running"
"""A phrase in ONNX Runtime's message if a node failed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A run without outputs.

    Attributes:
        reason: Why it ended, as a clause or a message.
        at_a_node: Whether a node of the graph failed, not a step before the first node.
        violated: Whether a rule of the profile was violated.
        died: Whether it ended the process.
    """

    reason: str
    at_a_node: bool = True
    violated: bool = False
    died: bool = False


Results = Mapping[str, Array | None]
"""The outputs by name; None for a value that is not a tensor."""

Outcome = Results | Failed
"""The result of a run."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How ONNX Runtime runs a model.

    Attributes:
        native: Whether the model is enforced natively, so that some optimizers must be off.
        threads: How many threads compute one operator; 0 leaves it to ONNX Runtime.
        off: The names of optimizers that are switched off.
    """

    level: Level = Level.NONE
    providers: tuple[str, ...] = CPU
    native: bool = False
    threads: int = 0
    off: tuple[str, ...] = ()


UNOPTIMIZED = Settings()


def available(providers: Iterable[str]) -> tuple[str, ...]:
    """Execution providers, all of which ONNX Runtime has here.

    Raises:
        SonnxError: It has not.
    """
    known = onnxruntime.get_available_providers()
    chosen = tuple(providers)
    for name in chosen:
        if name not in known:
            raise SonnxError(
                f"ONNX Runtime has no execution provider '{name}' here; choose from "
                f"{', '.join(known)}"
            )
    return chosen


@dataclass(frozen=True, slots=True)
class _Job:
    """A model to run, or to optimize and give back if there are no feeds."""

    model: bytes
    folder: Path | None
    feeds: Mapping[str, Array] | None
    settings: Settings
    names: tuple[str, ...] = ()


_SERVE = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from sonnx_ort.comparing.isolated_run import serve
serve()
"""
"""What the separate process runs. Unlike multiprocessing, it does not import the user's script."""


class IsolatedRuns:
    """Runs models in a separate process, which is replaced if it dies.

    One process serves many runs, because starting it takes longer than most runs.
    """

    def __init__(self, seconds: float = threading.TIMEOUT_MAX) -> None:
        """End what takes longer than so many seconds, the start of the process included."""
        self._process: subprocess.Popen[bytes] | None = None
        self._seconds = seconds

    def __enter__(self) -> "IsolatedRuns":
        """Start nothing before the first run."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the process; kill it if a run may be in progress."""
        if kind is not None and self._process is not None:
            self._process.kill()
        self._end()

    def run(
        self,
        model: bytes,
        folder: Path | None,
        feeds: Mapping[str, Array],
        settings: Settings = UNOPTIMIZED,
        names: tuple[str, ...] = (),
    ) -> Outcome:
        """Run a model once.

        The folder is that of the model's external data; None if it has none. `names` are the
        outputs that are wanted; all if there are none.

        Returns:
            The outputs, or why the run failed, including the death of the process.

        Raises:
            BackendUnavailable: It needs a backend that this installation has not.
        """
        found: Outcome = self._done(_Job(model, folder, dict(feeds), settings, names))
        return found

    def optimize(self, model: bytes, settings: Settings) -> bytes | Failed:
        """The model that ONNX Runtime makes of a model without external data, and runs.

        Returns:
            It, or why there is none, including the death of the process.
        """
        found: bytes | Failed = self._done(_Job(model, None, None, settings))
        return found

    def call(self, function: Callable[..., Result], *arguments: object) -> Result | Failed:
        """Call a function of a module, for what could end the process.

        Returns:
            Its result, or why there is none: an error, or the death of the process.
        """
        found: Result | Failed = self._done(partial(function, *arguments))
        return found

    def _done(self, job: _Job | partial[Any]) -> Any:
        process = self._started()
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, end)
        timer.start()
        try:
            _send(job, process.stdin)
            done = pickle.load(process.stdout)  # type: ignore[arg-type] # noqa: S301 - of ours
        except (EOFError, ConnectionError, pickle.UnpicklingError):
            death = _death(self._end())
            return Failed(f"it takes longer than {self._seconds:g} s") if late.is_set() else death
        finally:
            timer.cancel()
        if isinstance(done, BackendUnavailable):
            raise done
        return done

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = [sys.executable, "-c", _SERVE]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe)  # noqa: S603
            _send(sys.path, self._process.stdin)
        return self._process

    def _end(self) -> int:
        """End the process, if there is one, and return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.communicate()
        return process.returncode


def _send(what: object, stream: IO[bytes] | None) -> None:
    if stream is not None:
        pickle.dump(what, stream)
        stream.flush()


def _death(status: int) -> Failed:
    if status < 0:
        return Failed(f"the process is killed by {signal.Signals(-status).name}", died=True)
    return Failed(f"the process ends with status {status}", died=True)


def serve() -> None:
    """Execute what comes on standard input until it ends, and write the results to standard output.

    What else would be written there, by ONNX Runtime or by Python, goes to standard error.
    """
    sessions = _Sessions()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as results, silenced("sonnx_ort"):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        while True:
            try:
                job: _Job | partial[Any] = pickle.load(sys.stdin.buffer)  # noqa: S301 - of ours
            except EOFError:
                return
            _send(_outcome(job, sessions) if isinstance(job, _Job) else _result(job), results)


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

    def of(self, job: _Job) -> "_Session":
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


def _outcome(job: _Job, sessions: _Sessions) -> Outcome | bytes | BackendUnavailable:
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


def _optimized(job: _Job) -> bytes:
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
    job = _Job(model, folder, None, UNOPTIMIZED)
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
    job = _Job(model, None, None, UNOPTIMIZED)
    numbers = {f"tensor({name.lower()})": n for name, n in onnx.TensorProto.DataType.items()}
    return {
        output.name: helper.make_tensor_type_proto(numbers[output.type], output.shape)
        for output in _start(job, _options(job)).session.get_outputs()
        if output.type in numbers
    }


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
    job = _Job(model, None, None, settings)
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


def _options(job: _Job) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    options.graph_optimization_level = LEVELS[job.settings.level]
    options.intra_op_num_threads = job.settings.threads
    if job.settings.off:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(job.settings.off))
    if job.folder is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, str(job.folder.resolve()))
    return options


def _start(job: _Job, options: onnxruntime.SessionOptions) -> _Session:
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


def _run(job: _Job, feeds: Mapping[str, Array], started: _Session) -> Results:
    names = list(job.names) or [output.name for output in started.session.get_outputs()]
    values = started.session.run_with_ort_values(
        names, {name: to_ort_value(array) for name, array in feeds.items()}
    )
    results = {name: to_array(value) for name, value in zip(names, values, strict=True)}
    for name in started.shapes.intersection(results):
        # A ticket is another in each run.
        if (shape := results[name]) is not None:
            results[name] = without_ticket(shape)
    return results
