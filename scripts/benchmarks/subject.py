"""What is compared: the ways to run a model. All of them run the same one on the same inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import onnx
import onnxruntime

from benchmarks.plain_kernel import in_plain_domain
from sonnx_ort import InferenceSession, register, rewrite

# Imports register the operators of both domains, which has to happen before the first session.
from sonnx_ort.custom_ops.registration import LIBRARY_PATH

NATIVE = "native"
SONNX = "sonnx"
PLAIN = "plain"

_PROVIDERS = ["CPUExecutionProvider"]


class Session(Protocol):
    """The part of a session that is measured."""

    def run(self, output_names: None, input_feed: Mapping[str, Any]) -> Any:
        """Compute all outputs."""
        ...


Start = Callable[[onnx.ModelProto, onnxruntime.SessionOptions], Session]
"""Starts a session on a model of standard operators, with options that the session may change."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One way to run a model.

    Attributes:
        title: What the tables call it.
        start: Starts its session.
        exact: Whether its results have to be those of the native operator.
    """

    title: str
    start: Start
    exact: bool = True


def _native(model: onnx.ModelProto, options: onnxruntime.SessionOptions) -> Session:
    return _session(model, options)


def _sonnx(model: onnx.ModelProto, options: onnxruntime.SessionOptions) -> Session:
    return _session(rewrite(model.SerializeToString()), register(options))


def _sonnx_session(model: onnx.ModelProto, options: onnxruntime.SessionOptions) -> Session:
    session: Session = InferenceSession(model, options, providers=_PROVIDERS)
    return session


def _plain(model: onnx.ModelProto, options: onnxruntime.SessionOptions) -> Session:
    options.register_custom_ops_library(LIBRARY_PATH)
    return _session(in_plain_domain(model), options)


def _session(model: onnx.ModelProto, options: onnxruntime.SessionOptions) -> Session:
    session: Session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=_PROVIDERS
    )
    return session


SUBJECTS: Mapping[str, Subject] = {
    NATIVE: Subject("native Div", _native),
    SONNX: Subject("sonnx::Div", _sonnx),
    "session": Subject("InferenceSession", _sonnx_session),
    PLAIN: Subject("plain @onnx_op", _plain, exact=False),
}
"""The subjects by name, in the order in which they take turns. A new one is one more entry."""
