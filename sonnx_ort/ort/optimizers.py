"""The optimizers of ONNX Runtime that must be off, and that they are."""

import threading
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import onnx
import onnx.parser
import onnxruntime

from sonnx_ort.errors import SonnxError
from sonnx_ort.ort.canaries import OPTIMIZERS_OF_NUMBERS
from sonnx_ort.ort.disabled_optimizers import (
    OPTIMIZERS_OF_ZEROS,
    UNWANTED_OPTIMIZERS,
    Optimizer,
    names_needed_off,
    names_of,
)
from sonnx_ort.ort.session_options import FATAL, config_entry, temporary_folder

DISABLED_OPTIMIZERS = "optimization.disable_specified_optimizers"
"""The config key for optimizers to skip, separated by ";"."""


def switch_off_optimizers(options: onnxruntime.SessionOptions, names: Iterable[str]) -> None:
    """Switch optimizers off by their names, in addition to those that are already off."""
    off = [name for name in config_entry(options, DISABLED_OPTIMIZERS).split(";") if name]
    missing = [name for name in names if name not in off]
    if missing:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join([*off, *missing]))


def disabled_optimizers(options: onnxruntime.SessionOptions, more: Iterable[str]) -> list[str]:
    """Those that options switch off, and more: the argument of a session replaces the entry."""
    off = config_entry(options, DISABLED_OPTIMIZERS).split(";")
    return list(dict.fromkeys(name for name in (*off, *more) if name))


_DISABLE_ALL = "set options.graph_optimization_level to ORT_DISABLE_ALL first"

_proved: set[tuple[Optimizer, ...]] = set()
_proved_lock = threading.Lock()


def require_effective(
    optimizers: tuple[Optimizer, ...], names: Sequence[str] | None = None
) -> None:
    """Require that ONNX Runtime really skips optimizers that are switched off.

    Each is tested with its canary model, at the highest level. An optimizer that this version does
    not have passes. The result is kept only in the memory of the process, because a file could come
    from another version.

    Args:
        optimizers: The optimizers.
        names: The names of all that are off; by default theirs.

    Raises:
        SonnxError: An optimizer acts nevertheless, or the test fails.
    """
    with _proved_lock:
        if optimizers in _proved:
            return
        off = names_of(optimizers) if names is None else names
        with temporary_folder() as folder:
            for number, optimizer in enumerate(optimizers):
                _require_spared(optimizer, off, folder / f"{number}.onnx")
        _proved.add(optimizers)


def _require_spared(optimizer: Optimizer, off: Sequence[str], path: Path) -> None:
    canary = onnx.parser.parse_model(optimizer.canary)
    options = onnxruntime.SessionOptions()
    switch_off_optimizers(options, off)
    try:
        optimized = _optimized(canary, options, path)
    except Exception as error:
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} cannot optimize the small model that tests "
            f"whether its graph optimizer {optimizer.name} is switched off: {error}; {_DISABLE_ALL}"
        ) from error
    operators = {node.op_type for node in canary.graph.node}
    if _named_nodes(canary, operators) != _named_nodes(optimized, operators):
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} {optimizer.effect}, although its graph "
            f"optimizer {optimizer.name} is switched off by {DISABLED_OPTIMIZERS}; {_DISABLE_ALL}"
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


def require_off(
    options: onnxruntime.SessionOptions, *, rests_on_numbers: bool, has_minus_zero: bool
) -> None:
    """Switch off the optimizers that must not act on a rewritten model, and verify it.

    Nothing is verified where nothing is optimized.

    Args:
        options: The options to change.
        rests_on_numbers: Whether something is proved of it by floats that a kernel computes.
        has_minus_zero: Whether an attribute of it is -0.

    Raises:
        SonnxError: An optimizer still acts.
    """
    names = names_needed_off(rests_on_numbers=rests_on_numbers, has_minus_zero=has_minus_zero)
    optimizers = UNWANTED_OPTIMIZERS
    optimizers += OPTIMIZERS_OF_NUMBERS if rests_on_numbers else ()
    optimizers += OPTIMIZERS_OF_ZEROS if has_minus_zero else ()
    if options.graph_optimization_level != onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL:
        require_effective(optimizers, names)
    switch_off_optimizers(options, names)
