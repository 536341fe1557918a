"""Session options that belong to one session, with what the caller's options say."""

import onnx
import onnxruntime
from onnx import helper

from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.profile.domain import DOMAIN
from sonnx_ort.runtime.session_options import attribute, locked

_KNOWN_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft", DOMAIN})
"""Domains that ONNX Runtime or this package brings along."""

_SMALLEST_MODEL: bytes = helper.make_model(
    helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "smallest",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8,
).SerializeToString()


def private_copy(
    options: onnxruntime.SessionOptions, graph: onnx.ModelProto
) -> onnxruntime.SessionOptions | None:
    """Copy session options.

    ONNX Runtime copies the options into each session, and gives them back, but for custom operators
    and the execution providers that were added to them.

    Args:
        options: The options; as they were afterwards.
        graph: The model that is to run with them.

    Returns:
        The copy, on which operators are to be registered again; None if it would lack something
        that the model needs.
    """
    if options.has_providers() or not _domains(graph) <= _KNOWN_DOMAINS:
        return None
    with locked(options):
        profiling = options.enable_profiling
        # Otherwise the session that is made for the copy would begin a file of its own.
        with attribute(options, "enable_profiling", False):
            made = onnxruntime.InferenceSession(
                _SMALLEST_MODEL, options, providers=["CPUExecutionProvider"]
            )
        copy = made.get_session_options()
        copy.enable_profiling = profiling
    return copy


def _domains(graph: onnx.ModelProto) -> set[str]:
    local = {function.domain for function in graph.functions}
    return {node.domain for node in all_nodes(graph)} - local
