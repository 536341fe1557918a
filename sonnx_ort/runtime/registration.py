"""`register`: the custom operators on session options, with optimizers switched off."""

import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

import onnx
import onnx.parser
import onnxruntime

from sonnx_ort.errors import SonnxError
from sonnx_ort.options import Backend
from sonnx_ort.profile.operator import Optimizer
from sonnx_ort.runtime.session_options import (
    DISABLED_OPTIMIZERS,
    OPTIMIZERS_OF_GUARDS,
    UNWANTED_OPTIMIZERS,
    require_exact_arithmetic,
    switch_off_optimizers,
    temporary_folder,
)

_FATAL_ONLY = 4

_REMEDY = "set options.graph_optimization_level to ORT_DISABLE_ALL first"

_proved: set[tuple[Optimizer, ...]] = set()
_libraries_lock = threading.Lock()


def require_effective(optimizers: tuple[Optimizer, ...]) -> None:
    """Require that ONNX Runtime really leaves optimizers out when all of them are switched off.

    Each has to spare its canary, at the highest level. One that is not in this version does so
    too, whatever it is called. What is proved is kept for the process, in memory: a file could be
    of another version.

    Args:
        optimizers: The optimizers.

    Raises:
        SonnxError: One acts all the same, or it cannot be found out.
    """
    with _libraries_lock:
        if optimizers in _proved:
            return
        with temporary_folder() as folder:
            for number, optimizer in enumerate(optimizers):
                _require_spared(optimizer, optimizers, folder / f"{number}.onnx")
        _proved.add(optimizers)


def _require_spared(optimizer: Optimizer, off: Sequence[Optimizer], path: Path) -> None:
    canary = onnx.parser.parse_model(optimizer.canary)
    options = onnxruntime.SessionOptions()
    switch_off_optimizers(options, off)
    try:
        left = _optimized(canary, options, path)
    except Exception as error:
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} cannot optimize the model that shows whether "
            f"its graph optimizer {optimizer.name} is switched off: {error}; {_REMEDY}"
        ) from error
    if not _named_nodes(canary) <= _named_nodes(left):
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} {optimizer.effect}, although its graph "
            f"optimizer {optimizer.name} is switched off by {DISABLED_OPTIMIZERS}; {_REMEDY}"
        )


def _optimized(
    canary: onnx.ModelProto, options: onnxruntime.SessionOptions, path: Path
) -> onnx.ModelProto:
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = _FATAL_ONLY
    # Nothing is run, so that threads would be made for nothing.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    onnxruntime.InferenceSession(
        canary.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return onnx.load(path)


def _named_nodes(model: onnx.ModelProto) -> set[tuple[str, str]]:
    return {(node.op_type, node.name) for node in model.graph.node if node.name}


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
