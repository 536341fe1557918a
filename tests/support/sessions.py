"""Options of the sessions that tests start."""

from typing import Any

import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.ort.disabled_optimizers import names_needed_off
from sonnx_ort.ort.registration import prepare

_Level = ort.GraphOptimizationLevel
LEVELS = {
    "none": _Level.ORT_DISABLE_ALL,
    "basic": _Level.ORT_ENABLE_BASIC,
    "extended": _Level.ORT_ENABLE_EXTENDED,
    "all": _Level.ORT_ENABLE_ALL,
}
"""The levels of optimization, the lowest one first."""


ALL_OFF = tuple(names_needed_off(rests_on_numbers=True, has_minus_zero=True))
"""The optimizers that must not act on some rewritten model."""


def quiet() -> ort.SessionOptions:
    """Session options that keep ONNX Runtime's own messages off standard error."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return options


def on_one_thread(level: str = "all") -> ort.SessionOptions:
    """Quiet session options on one thread, at a level of optimization."""
    options = quiet()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = LEVELS[level]
    return options


def enforced(
    model: onnx.ModelProto, backend: str, level: str = "none", **choices: Any
) -> sonnx_ort.InferenceSession:
    """Our session on one thread, at a level of optimization, that enforces all operators."""
    choices = {"operators": "all,-Graph", "backend": backend, **choices}
    return sonnx_ort.InferenceSession(model, on_one_thread(level), **choices)


def set_for(backend: str, level: str) -> ort.SessionOptions:
    """Options on one thread that our own sessions would set for what a backend made."""
    options = on_one_thread(level)
    prepare(options, Backend(backend), rests_on_numbers=True, has_minus_zero=True)
    return options
