"""`register`: session options that know the custom operators."""

import threading
import weakref

import onnxruntime

from sonnx_ort.profile.optimizer import Optimizer
from sonnx_ort.rewriting.options import Backend
from sonnx_ort.runtime.optimization.canaries import require_effective
from sonnx_ort.runtime.session_options import (
    OPTIMIZERS_OF_GUARDS,
    UNWANTED_OPTIMIZERS,
    require_exact_arithmetic,
    switch_off_optimizers,
)

_registered: "weakref.WeakSet[onnxruntime.SessionOptions]" = weakref.WeakSet()
_lock = threading.Lock()


def register(
    options: onnxruntime.SessionOptions | None = None,
) -> onnxruntime.SessionOptions:
    """Register the custom operators on session options.

    Also switches off the graph optimizers that undo enforcement, in models of every backend, and
    proves once in a process that they are off; where the options switch all optimization off
    (`ORT_DISABLE_ALL`) there is nothing to prove. Calling it twice on one object is harmless.

    Args:
        options: The options to change; new ones by default.

    Returns:
        The same options.

    Raises:
        SonnxError: The options flush denormal numbers to zero, which changes results, or ONNX
            Runtime optimizes what an optimizer would that is switched off.
    """
    chosen = onnxruntime.SessionOptions() if options is None else options
    _register_operators(chosen)
    _switch_off(chosen, UNWANTED_OPTIMIZERS)
    return chosen


def prepare(options: onnxruntime.SessionOptions, backend: Backend) -> None:
    """Set on session options what a model of one backend needs, and no more.

    A native model needs no custom operators. In one of the python backend no optimizer finds a Div
    or Sub; what it does to other operators stays.

    Args:
        options: The options to change.
        backend: What enforces the model.

    Raises:
        SonnxError: As for `register`.
    """
    match backend:
        case Backend.PYTHON:
            _register_operators(options)
            _switch_off(options, OPTIMIZERS_OF_GUARDS)
        case Backend.NATIVE:
            require_exact_arithmetic(options)
            _switch_off(options, UNWANTED_OPTIMIZERS)


def _switch_off(options: onnxruntime.SessionOptions, optimizers: tuple[Optimizer, ...]) -> None:
    """Switch optimizers off, and prove it where there is any optimization.

    Args:
        options: The options to change.
        optimizers: The optimizers.

    Raises:
        SonnxError: An optimizer acts all the same.
    """
    if options.graph_optimization_level != onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL:
        require_effective(optimizers)
    switch_off_optimizers(options, optimizers)


def _register_operators(options: onnxruntime.SessionOptions) -> None:
    """Register the custom operators, and nothing else.

    Args:
        options: The options to change.

    Raises:
        SonnxError: The options flush denormal numbers to zero, which changes results.
    """
    # Imported late: it loads onnxruntime-extensions, and torch where that is installed.
    from sonnx_ort.custom_ops.registration import LIBRARY_PATH  # noqa: PLC0415

    require_exact_arithmetic(options)
    with _lock:
        if options not in _registered:
            options.register_custom_ops_library(LIBRARY_PATH)
            _registered.add(options)
