"""`register`: adds the custom operators to session options, and switches optimizers off."""

import threading
from collections.abc import Container, Sequence
from pathlib import Path

import onnx
import onnx.parser
import onnxruntime

from sonnx_ort.arguments import checked_arguments
from sonnx_ort.backends import Backend, BackendChoice, choose_backend
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.operator import Optimizer
from sonnx_ort.runtime.session_options import (
    DISABLED_OPTIMIZERS,
    FATAL,
    OPTIMIZERS_OF_GUARDS,
    UNWANTED_OPTIMIZERS,
    register_kernels,
    register_library,
    require_same_results,
    switch_off_optimizers,
    temporary_folder,
)

_REMEDY = "set options.graph_optimization_level to ORT_DISABLE_ALL first"

_proved: set[tuple[Optimizer, ...]] = set()
_libraries_lock = threading.Lock()


def require_effective(optimizers: tuple[Optimizer, ...]) -> None:
    """Require that ONNX Runtime really skips optimizers that are switched off.

    Each is tested with its canary model, at the highest level. An optimizer that this version does
    not have passes. The result is kept only in the memory of the process, because a file could come
    from another version.

    Raises:
        SonnxError: An optimizer acts nevertheless, or the test fails.
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
        optimized = _optimized(canary, options, path)
    except Exception as error:
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} cannot optimize the small model that tests "
            f"whether its graph optimizer {optimizer.name} is switched off: {error}; {_REMEDY}"
        ) from error
    operators = {node.op_type for node in canary.graph.node}
    if _named_nodes(canary, operators) != _named_nodes(optimized, operators):
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} {optimizer.effect}, although its graph "
            f"optimizer {optimizer.name} is switched off by {DISABLED_OPTIMIZERS}; {_REMEDY}"
        )


def _optimized(
    canary: onnx.ModelProto, options: onnxruntime.SessionOptions, path: Path
) -> onnx.ModelProto:
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = FATAL
    # Nothing is run, so threads are not needed.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    onnxruntime.InferenceSession(
        canary.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return onnx.load(path)


def _named_nodes(model: onnx.ModelProto, operators: Container[str]) -> set[tuple[str, str]]:
    nodes = (node for node in model.graph.node if node.name and node.op_type in operators)
    return {(node.op_type, node.name) for node in nodes}


@checked_arguments
def register(
    options: onnxruntime.SessionOptions | None = None, *, backend: BackendChoice = None
) -> onnxruntime.SessionOptions:
    """Register the custom operators of a backend on session options.

    The library of "python" also contains the operators of onnxruntime-extensions, and those that
    the program has defined with `onnx_op`. It can be registered only once.

    Also switches off the graph optimizers of ONNX Runtime that would remove what enforces the
    profile, for models of every backend. Once per process it verifies that they are off, unless the
    options disable all optimizations (`ORT_DISABLE_ALL`). A second call for the same options has no
    further effect.

    Args:
        options: The options to change; new ones by default.
        backend: "python", "compiled", or "native", which has no operators; by default the same
            as `rewrite` takes. A second call with another backend registers its operators too.

    Returns:
        The same options.

    Raises:
        SonnxError: There is no such backend, or its kernels are not built. The options change
            results, such as by flushing denormal numbers to zero. Or onnxruntime-extensions was
            registered on them without the custom operators. Or ONNX Runtime applies an optimizer
            although it is switched off.
    """
    chosen = onnxruntime.SessionOptions() if options is None else options
    _register_operators(chosen, choose_backend(backend), new=options is None)
    _switch_off(chosen, UNWANTED_OPTIMIZERS)
    return chosen


def prepare(options: onnxruntime.SessionOptions, backend: Backend, *, new: bool = False) -> None:
    """Set only those session options that a model of one backend needs.

    A model of the python backend has no Div or Sub, so optimizers of operators can remain on.

    Args:
        options: The options to change.
        backend: The backend.
        new: Whether nobody has set anything of the options, so that there is nothing to refuse.

    Raises:
        SonnxError: As for `register`.
    """
    _register_operators(options, backend, new=new)
    python = backend is Backend.PYTHON
    _switch_off(options, OPTIMIZERS_OF_GUARDS if python else UNWANTED_OPTIMIZERS)


def _switch_off(options: onnxruntime.SessionOptions, optimizers: tuple[Optimizer, ...]) -> None:
    """Switch optimizers off, and verify it if optimization is enabled.

    Raises:
        SonnxError: An optimizer still acts.
    """
    if options.graph_optimization_level != onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL:
        require_effective(optimizers)
    switch_off_optimizers(options, optimizers)


def _register_operators(
    options: onnxruntime.SessionOptions, backend: Backend, *, new: bool
) -> None:
    """Register only the custom operators.

    Raises:
        SonnxError: The options change results, or have the library of the operators already, so
            that they cannot take it.
    """
    if not new:
        require_same_results(options)
    match backend:
        case Backend.PYTHON:
            register_library(options, new=new)
        case Backend.COMPILED:
            register_kernels(options)
        case Backend.NATIVE:
            pass
