"""Proves by small models that optimizers are off: ONNX Runtime ignores names it does not know."""

import threading
from collections.abc import Sequence
from pathlib import Path

import onnx
import onnx.parser
import onnxruntime

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.optimizer import Optimizer
from sonnx_ort.runtime.optimization.temporary_folder import temporary_folder
from sonnx_ort.runtime.session_options import DISABLED_OPTIMIZERS, switch_off_optimizers

_FATAL_ONLY = 4

_REMEDY = "set options.graph_optimization_level to ORT_DISABLE_ALL first"

_proved: set[tuple[Optimizer, ...]] = set()
_lock = threading.Lock()


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
    with _lock:
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
