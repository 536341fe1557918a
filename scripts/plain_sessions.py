"""Sessions of ONNX Runtime on the CPU, on as many threads as are named, which log nothing."""

from pathlib import Path

import onnx
import onnxruntime

PROVIDERS = ["CPUExecutionProvider"]
_FATAL = 4


def make_options(threads: int = 1, *, optimized: bool = True) -> onnxruntime.SessionOptions:
    """Make the options of a session."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def start(
    model: onnx.ModelProto | Path | str | bytes, options: onnxruntime.SessionOptions | None = None
) -> onnxruntime.InferenceSession:
    """Start a session on a model, a file or its content."""
    if isinstance(model, onnx.ModelProto):
        model = model.SerializeToString()
    return onnxruntime.InferenceSession(model, options or make_options(), providers=PROVIDERS)
