"""Runs models in a separate process, so that a crash is a result like any other."""

import enum
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import numpy.typing as npt
import onnx
import onnxruntime
from onnx import helper

from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.metadata import read_enforcement
from sonnx_ort.errors import BackendUnavailable, ContractViolation, SonnxError
from sonnx_ort.errors.remedies import Advice
from sonnx_ort.loading.file_traversal import all_attributes, all_nodes
from sonnx_ort.loading.pauses import silenced
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.ort.disabled_optimizers import has_minus_zero
from sonnx_ort.ort.feeds import run_on_values, to_array, to_ort_value
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from sonnx_ort.ort.registration import prepare
from sonnx_ort.ort.session_options import FATAL, WEIGHTS_FOLDER, temporary_folder
from sonnx_ort.ort.violations import violations_raised, without_ticket
from sonnx_ort.profile.operator import COMPILED_DOMAIN, DOMAIN
from sonnx_ort.runs.derived_models import has_random_operators
from sonnx_ort.runs.limits import DEFAULT, LimitExceeded, Limits, Watched

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
_LEVELS = {
    Level.NONE: _Levels.ORT_DISABLE_ALL,
    Level.BASIC: _Levels.ORT_ENABLE_BASIC,
    Level.EXTENDED: _Levels.ORT_ENABLE_EXTENDED,
    Level.ALL: _Levels.ORT_ENABLE_ALL,
}

CPU = ("CPUExecutionProvider",)


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
        parallel: Whether nodes that do not need each other run at the same time.
        bound: Whether inputs and outputs are bound before a run.
    """

    level: Level = Level.NONE
    providers: tuple[str, ...] = CPU
    native: bool = False
    threads: int = 0
    off: tuple[str, ...] = ()
    parallel: bool = False
    bound: bool = False


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


_SERVE = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from sonnx_ort.runs.isolated_run import serve
serve()
"""
"""What the separate process runs. Unlike multiprocessing, it does not import the user's script."""


class IsolatedRuns:
    """Runs models in a separate process, which is replaced if it dies.

    One process serves many runs, because starting it takes longer than most runs.
    """

    def __init__(self, limits: Limits = DEFAULT) -> None:
        """Let each run take so much, the start of the process included."""
        self._process: subprocess.Popen[bytes] | None = None
        self.limits = limits

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
        model: onnx.ModelProto,
        feeds: Mapping[str, Array],
        settings: Settings = UNOPTIMIZED,
        names: tuple[str, ...] = (),
        *,
        folder: Path | None = None,
    ) -> Outcome:
        """Run a model once, whose external data, if it has any, is in a folder.

        `names` are the outputs that are wanted; all if there are none.

        Returns:
            The outputs, or why the run failed, including the death of the process.

        Raises:
            BackendUnavailable: It needs a backend that this installation has not.
            LimitExceeded: It takes longer, or more memory, than it may.
            SonnxError: It is too large for another process.
        """
        run = require_serializable(model), folder, dict(feeds), settings, names
        found: Outcome = self._done(_outcome, _run, *run)
        return found

    def optimize(self, model: onnx.ModelProto, settings: Settings) -> onnx.ModelProto | Failed:
        """The model that ONNX Runtime makes of a model without external data, and runs.

        Returns:
            It, or why there is none, including the death of the process.

        Raises:
            LimitExceeded: It takes longer, or more memory, than it may.
        """
        content = self._done(_outcome, _optimized, require_serializable(model), settings)
        return content if isinstance(content, Failed) else onnx.load_from_string(content)

    def call(self, function: Callable[..., Result], *arguments: object) -> Result | Failed:
        """Call a function of a module, for what could end the process.

        Returns:
            Its result, or why there is none: an error, or the death of the process.

        Raises:
            LimitExceeded: It takes longer, or more memory, than it may.
        """
        found: Result | Failed = self._done(_result, function, *arguments)
        return found

    def attempt(self, function: Callable[..., Result], *arguments: object) -> Result | Failed:
        """Call a function of a module that runs a model; its errors of this package are raised.

        Returns:
            Its result, or why there is none: an error of ONNX Runtime, or the death of the process.

        Raises:
            LimitExceeded: It takes longer, or more memory, than it may.
            SonnxError: As the function.
        """
        found = self._done(_attempted, function, *arguments)
        if isinstance(found, SonnxError):
            raise found
        attempted: Result | Failed = found
        return attempted

    def _done(self, function: Callable[..., Any], *arguments: object) -> Any:
        """What a function of this module gives in the other process."""
        process = self._running_process()
        watched = Watched(process, self.limits)
        try:
            with watched:
                _send(partial(function, *arguments), process.stdin)
                done = pickle.load(process.stdout)  # type: ignore[arg-type] # noqa: S301 - of ours
        except (EOFError, ConnectionError, pickle.UnpicklingError):
            done = _death(self._end())
        if watched.exceeded:
            # It may have been killed behind its answer: the next call needs another process.
            self._end()
            raise LimitExceeded(Advice("a run of the model ", watched.exceeded))
        if isinstance(done, BackendUnavailable):
            raise done
        return done

    def _running_process(self) -> subprocess.Popen[bytes]:
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
    """Write an object to the other process."""
    if stream is not None:
        pickle.dump(what, stream)
        stream.flush()


def _death(status: int) -> Failed:
    if status < 0:
        return Failed(f"the process is killed by {signal.Signals(-status).name}", died=True)
    return Failed(f"the process ends with status {status}", died=True)


_RUNNING = "while running"
"""A phrase in ONNX Runtime's message if a node failed."""


def serve() -> None:
    """Execute what comes on standard input until it ends, and write the results to standard output.

    What else would be written there, by ONNX Runtime or by Python, goes to standard error.
    """
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as results, silenced("sonnx_ort"):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        while True:
            try:
                call: partial[Any] = pickle.load(sys.stdin.buffer)  # noqa: S301 - of ours
            except EOFError:
                return
            _send(call(), results)


def _result(function: Callable[..., Any], *arguments: object) -> Any:
    """What a function gives, or its error as `Failed`."""
    try:
        return function(*arguments)
    except SonnxError as error:
        return Failed(error.advice)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return Failed(f"{type(error).__name__}: {error}")


def _attempted(function: Callable[..., Any], *arguments: object) -> Any:
    try:
        return function(*arguments)
    except SonnxError as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return Failed(f"ONNX Runtime refuses: {' '.join(str(error).split())}")


def _outcome(function: Callable[..., Any], *arguments: object) -> Any:
    """The result of a function that runs or optimizes a model."""
    try:
        with violations_raised():
            return function(*arguments)
    except ContractViolation as violation:
        return Failed(str(violation), violated=True)
    except BackendUnavailable as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        # ONNX Runtime rejects inputs before any node.
        rejected = isinstance(error, onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument)
        reason = " ".join(str(error).split())  # its messages have several lines
        at_a_node = _RUNNING in reason or not rejected
        return Failed(f"ONNX Runtime refuses: {reason}", at_a_node=at_a_node)


@dataclass(frozen=True, slots=True)
class _Session:
    """A session.

    `shapes` has the outputs that are shapes of kernels, or tickets in their place.
    """

    session: onnxruntime.InferenceSession
    shapes: frozenset[str]
    random: bool


_kept: dict[tuple[object, ...], _Session] = {}
"""The last two sessions, because the body of a loop, or a pair of models, runs many times."""


def _session(model: bytes, folder: Path | None, settings: Settings) -> _Session:
    """The session that is kept of a model, or a new one; with random operators always new."""
    key = model, folder, settings
    found = _kept.pop(key, None)
    # With random operators each run has its own, which draws from their seeds anew.
    if found is None or found.random:
        while len(_kept) > 1:
            del _kept[next(iter(_kept))]
        found = start_session(model, settings, session_options(folder, settings))
    _kept[key] = found
    return found


def _optimized(model: bytes, settings: Settings) -> bytes:
    with temporary_folder() as folder:
        options = session_options(None, settings)
        path = folder / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        start_session(model, settings, options)
        return path.read_bytes()


def profile_of(model: bytes, folder: Path | None, feeds: Mapping[str, Any], place: Path) -> Path:
    """Run a model here, as `IsolatedRuns` does elsewhere, and write ONNX Runtime's profile of it.

    `folder` is that of external data, if there is any, and `place` that of the profile.

    Raises:
        Exception: The model does not run.
    """
    options = session_options(folder, UNOPTIMIZED)
    options.enable_profiling = True
    options.profile_file_prefix = str(place / "profile")
    session = start_session(model, UNOPTIMIZED, options).session
    names = [output.name for output in session.get_outputs()]
    with violations_raised():
        run_on_values(session, names, feeds)
    return Path(session.end_profiling())


def types_of_outputs(model: bytes) -> dict[str, onnx.TypeProto]:
    """The types that ONNX Runtime infers of those outputs of a model that are tensors.

    Raises:
        Exception: The model cannot be loaded.
    """
    numbers = {f"tensor({name.lower()})": n for name, n in onnx.TensorProto.DataType.items()}
    return {
        output.name: helper.make_tensor_type_proto(numbers[output.type], output.shape)
        for output in _session(model, None, UNOPTIMIZED).session.get_outputs()
        if output.type in numbers
    }


_AT_ONCE = 2
"""How many nodes run at the same time, on machines with fewer processors too."""


def session_options(folder: Path | None, settings: Settings) -> onnxruntime.SessionOptions:
    """Options of a session for a model whose external data, if there is any, is in a folder."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    options.graph_optimization_level = _LEVELS[settings.level]
    options.intra_op_num_threads = settings.threads
    if settings.parallel:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = _AT_ONCE
    if settings.off:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(settings.off))
    if folder is not None:
        options.add_session_config_entry(WEIGHTS_FOLDER, str(folder.resolve()))
    return options


def start_session(
    model: bytes, settings: Settings, options: onnxruntime.SessionOptions
) -> _Session:
    """Start a session here, in the process that runs models."""
    proto = onnx.load_from_string(model)
    backend = _backend_of(proto, settings)
    if backend is not None:
        claim = read_enforcement({entry.key: entry.value for entry in proto.metadata_props})
        prepare(
            options,
            backend,
            rests_on_numbers=claim is not None and claim.rests_on_numbers,
            has_minus_zero=has_minus_zero(all_attributes(proto)),
        )
    session = onnxruntime.InferenceSession(model, options, providers=list(settings.providers))
    kernels = (node for node in proto.graph.node if node.domain == DOMAIN)
    shapes = frozenset(node.output[-1] for node in kernels)
    return _Session(session, shapes, has_random_operators(proto))


def _backend_of(proto: onnx.ModelProto, settings: Settings) -> Backend | None:
    """What enforces a model; None if nothing does."""
    if any(node.domain == COMPILED_DOMAIN for node in all_nodes(proto)):
        return Backend.COMPILED
    if any(entry.domain == DOMAIN for entry in proto.opset_import):
        return Backend.PYTHON
    return Backend.NATIVE if settings.native else None


def _run(
    model: bytes,
    folder: Path | None,
    feeds: Mapping[str, Array],
    settings: Settings,
    wanted: tuple[str, ...],
) -> Results:
    """Run a model in this process; tickets are removed from shapes."""
    started = _session(model, folder, settings)
    names = wanted or tuple(output.name for output in started.session.get_outputs())
    given = {name: to_ort_value(array) for name, array in feeds.items()}
    if settings.bound:
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
