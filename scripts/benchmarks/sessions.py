"""Makes the sessions ready that are timed."""

from typing import Any, Protocol

import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from benchmarks.plain_kernel import in_plain_domain
from benchmarks.turns import Run
from benchmarks.workload import Feeds, Setting, make_model
from sonnx_ort import InferenceSession, register, rewrite

# Imports register the operators of both domains, which has to happen before the first session.
from sonnx_ort.custom_ops.registration import LIBRARY_PATH

_PROVIDERS = ["CPUExecutionProvider"]


class Session(Protocol):
    """The part of a session that is timed."""

    def run(self, output_names: None, feeds: Feeds, /) -> Any:
        """Compute all outputs."""
        ...


def start_original(setting: Setting, feeds: Feeds) -> Run:
    """Make the model as it is ready in ONNX Runtime.

    Args:
        setting: What the model is.
        feeds: Its inputs.
    """
    return _run_of(_session(make_model(setting), _options(setting)), feeds)


def start_rewritten(setting: Setting, feeds: Feeds, *, backend: str) -> Run:
    """Make the rewritten model ready in ONNX Runtime.

    Args:
        setting: What the model is.
        feeds: Its inputs.
        backend: What enforces the rules.
    """
    model = rewrite(make_model(setting).SerializeToString(), backend=backend)
    return _run_of(_session(model, register(_options(setting))), feeds)


def start_own(setting: Setting, feeds: Feeds, *, backend: str) -> Run:
    """Make the model ready in `sonnx_ort.InferenceSession`.

    Args:
        setting: What the model is.
        feeds: Its inputs.
        backend: What enforces the rules.
    """
    session = InferenceSession(
        make_model(setting), _options(setting), backend=backend, providers=_PROVIDERS
    )
    return _run_of(session, feeds)


def start_plain_kernel(setting: Setting, feeds: Feeds) -> Run:
    """Make the model ready with the kernel that anyone would write first in Python.

    Args:
        setting: What the model is.
        feeds: Its inputs.
    """
    options = _options(setting)
    options.register_custom_ops_library(LIBRARY_PATH)
    return _run_of(_session(in_plain_domain(make_model(setting)), options), feeds)


def start_reference(setting: Setting, feeds: Feeds) -> Run:
    """Make the model ready in the reference evaluator of ONNX, which numpy computes.

    Args:
        setting: What the model is.
        feeds: Its inputs.
    """
    return _run_of(ReferenceEvaluator(make_model(setting)), feeds)


def _session(model: onnx.ModelProto, options: onnxruntime.SessionOptions) -> Session:
    session: Session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=_PROVIDERS
    )
    return session


def _options(setting: Setting) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setting.threads
    return options


def _run_of(session: Session, feeds: Feeds) -> Run:
    return lambda: session.run(None, feeds)
