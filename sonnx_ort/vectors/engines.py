"""Engines that compute models: ONNX Runtime, plain and enforced, ONNX's reference, and others.

Any class without arguments that has a method `run` is an engine:

    class Mine:
        def run(self, model: bytes, feeds: Mapping[str, Array]) -> Sequence[Array]:
            ...

What it raises counts as a refusal. An engine runs in a process of its own, which it may end.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from sonnx_ort.backends import Backend
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.ort.feeds import run_on_values
from sonnx_ort.ort.session import InferenceSession
from sonnx_ort.ort.session_options import FATAL
from sonnx_ort.profile.options import Edition
from sonnx_ort.runs.isolated_run import CPU, available

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]


class Engine(Protocol):
    """Computes models."""

    def run(self, model: bytes, feeds: Feeds) -> Sequence[Array]:
        """Compute the outputs of a model, in their order; an error is a refusal."""
        ...


Run = Callable[[Feeds], Sequence[Array]]


class _Loading:
    """An engine that loads a model once for all runs that follow each other."""

    def __init__(self, load: Callable[[bytes], Run]) -> None:
        self._load = load
        self._loaded: tuple[bytes, Run] | None = None

    def run(self, model: bytes, feeds: Feeds) -> Sequence[Array]:
        if self._loaded is None or self._loaded[0] != model:
            self._loaded = None
            self._loaded = model, self._load(model)
        return self._loaded[1](feeds)


def _outputs(session: onnxruntime.InferenceSession, feeds: Feeds) -> list[Array]:
    names = [output.name for output in session.get_outputs()]
    return [*run_on_values(session, names, feeds).values()]


def _started(start: Callable[..., onnxruntime.InferenceSession], model: bytes, **said: Any) -> Run:
    """Start a session; gives what runs it on inputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    return partial(_outputs, start(model, options, **said))


def _reference(model: bytes) -> Run:
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - takes long to import

    evaluator = ReferenceEvaluator(onnx.ModelProto.FromString(model))

    def run(feeds: Feeds) -> list[Array]:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [np.asarray(each) for each in evaluator.run(None, dict(feeds))]

    return run


NODES, GRAPHS = "profile,-Graph", "profile"
"""The rules that cases of nodes are held to, for which what a file declares is no matter, and those
of graphs."""

NAMES = ("onnxruntime", "onnx.reference", "sonnx_ort", *(f"sonnx_ort:{b}" for b in Backend))
"""The engines that need no class of a user."""


def engine(name: str, edition: Edition = Edition.TYPED, operators: str = NODES) -> Engine:
    """Start an engine.

    It is one of `NAMES`, `onnxruntime:PROVIDER`, or `module:Class`; an enforced model is held to
    the edition and the rules of these operators.

    Raises:
        SonnxError: There is none of this name.
    """
    match name.partition(":"):
        case "onnxruntime", _, provider:
            chosen = available([provider] if provider else CPU)
            plain = onnxruntime.InferenceSession
            return _Loading(partial(_started, plain, providers=chosen))
        case "onnx.reference", "", "":
            return _Loading(_reference)
        case "sonnx_ort", _, backend if not backend or backend in list(Backend):
            held = partial(_started, InferenceSession, edition=edition, operators=operators)
            return _Loading(partial(held, backend=backend or None))
        case module, ":", attribute if attribute and module != "sonnx_ort":
            return _of_user(module, attribute)
    raise SonnxError(
        f"there is no engine '{name}'{did_you_mean(name, NAMES)}; the engines are "
        f"{', '.join(NAMES)}, onnxruntime:PROVIDER and module:Class"
    )


def _of_user(module: str, attribute: str) -> Engine:
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as Python itself does
    try:
        made: Engine = getattr(importlib.import_module(module), attribute)()
    except Exception as error:
        raise SonnxError(
            f"the engine '{module}:{attribute}' cannot be started: {type(error).__name__}: {error}"
        ) from error
    if not callable(getattr(made, "run", None)):
        raise SonnxError(f"the engine '{module}:{attribute}' has no method run(model, feeds)")
    return made


@cache
def started(name: str, edition: Edition, operators: str) -> Engine:
    """The engine of a name, which is started once in a process."""
    return engine(name, edition, operators)


def start(name: str, edition: Edition, operators: str) -> None:
    """Start an engine, to see whether that is possible."""
    started(name, edition, operators)


def outcome(
    name: str, edition: Edition, operators: str, model: bytes, feeds: Feeds
) -> list[Array] | str:
    """The outputs that an engine computes, or why it refuses."""
    try:
        return [np.asarray(each) for each in started(name, edition, operators).run(model, feeds)]
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is a refusal
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
