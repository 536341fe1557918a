"""Runs a model node by node, each in a session of its own, so that every result is rounded."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from support.onnx_backend import run_with_any_types
from support.sessions import on_one_thread


def run_node_by_node(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Compute a model without optional values, sequences and bodies that read what is around them.

    Args:
        model: The model.
        feeds: Its inputs by name.
    """
    known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | dict(feeds)
    for node in model.graph.node:
        known.update(zip(node.output, _outputs(model, node, known), strict=True))
    return [known[output.name] for output in model.graph.output]


def _outputs(
    model: onnx.ModelProto, node: onnx.NodeProto, known: Mapping[str, Any]
) -> list[np.ndarray[Any, Any]]:
    read = {name: np.asarray(known[name]) for name in node.input if name}
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)
        )
        for name, array in read.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
    alone = helper.make_model(
        helper.make_graph([node], "alone", inputs, outputs),
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
    )
    session = ort.InferenceSession(alone.SerializeToString(), on_one_thread("none"))
    return run_with_any_types(session, read)
