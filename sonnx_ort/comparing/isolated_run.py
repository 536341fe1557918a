"""Runs models in a separate process, so that a crash is a result like any other."""

import enum
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal, TypeVar

import numpy.typing as npt
import onnxruntime

from sonnx_ort.errors import BackendUnavailable, SonnxError

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


@dataclass(frozen=True, slots=True)
class Job:
    """A model to run, or to optimize and give back if there are no feeds."""

    model: bytes
    folder: Path | None
    feeds: Mapping[str, Array] | None
    settings: Settings
    names: tuple[str, ...] = ()


_SERVE = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from sonnx_ort.comparing.sessions import serve
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
        found: Outcome = self._done(Job(model, folder, dict(feeds), settings, names))
        return found

    def optimize(self, model: bytes, settings: Settings) -> bytes | Failed:
        """The model that ONNX Runtime makes of a model without external data, and runs.

        Returns:
            It, or why there is none, including the death of the process.
        """
        found: bytes | Failed = self._done(Job(model, None, None, settings))
        return found

    def call(self, function: Callable[..., Result], *arguments: object) -> Result | Failed:
        """Call a function of a module, for what could end the process.

        Returns:
            Its result, or why there is none: an error, or the death of the process.
        """
        found: Result | Failed = self._done(partial(function, *arguments))
        return found

    def _done(self, job: Job | partial[Any]) -> Any:
        process = self._started()
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, end)
        timer.start()
        try:
            send(job, process.stdin)
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
            send(sys.path, self._process.stdin)
        return self._process

    def _end(self) -> int:
        """End the process, if there is one, and return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.communicate()
        return process.returncode


def send(what: object, stream: IO[bytes] | None) -> None:
    """Write an object to the other process."""
    if stream is not None:
        pickle.dump(what, stream)
        stream.flush()


def _death(status: int) -> Failed:
    if status < 0:
        return Failed(f"the process is killed by {signal.Signals(-status).name}", died=True)
    return Failed(f"the process ends with status {status}", died=True)
