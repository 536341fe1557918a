"""The sessions that are compared: a model as it is, and rewritten, with the same options."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import onnxruntime

from real_models.outputs import Outputs
from sonnx_ort import register, rewrite

_FATAL = 4


class Session(Protocol):
    """The part of a session that is used."""

    def run(self, output_names: None, input_feed: Mapping[str, Any]) -> Outputs:
        """Compute all outputs."""
        ...


def original_session(path: Path, *, optimized: bool, enforcing: bool = False) -> Session:
    """Start a session on a model as it is.

    Args:
        path: The model.
        optimized: Whether ONNX Runtime may optimize the graph.
        enforcing: Whether to set the options that a rewritten model needs, too.
    """
    options = _options(optimized=optimized)
    return _session(path, register(options) if enforcing else options)


def rewritten_session(path: Path, backend: str, *, optimized: bool) -> Session:
    """Start a session on a model after `rewrite` with `broadcast="explicit"`.

    Args:
        path: The model.
        backend: What enforces the rules.
        optimized: Whether ONNX Runtime may optimize the graph.

    Raises:
        SonnxError: As for `rewrite`.
    """
    model = rewrite(path, broadcast="explicit", backend=backend)
    return _session(model.SerializeToString(), register(_options(optimized=optimized)))


def _session(model: Path | bytes, options: onnxruntime.SessionOptions) -> Session:
    session: Session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"]
    )
    return session


def _options(*, optimized: bool) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = _FATAL
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options
