"""Carries sparse tensors into the graph, which has no place for them, as what they are."""

from collections.abc import Mapping

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_graphs


def densify_declarations(
    proto: onnx.ModelProto,
) -> tuple[onnx.ModelProto, Mapping[str, str]]:
    """Declare sparse initializers and sparse constants as sparse inputs of the main graph.

    A model with sparse tensors breaks the profile and is never rewritten; its graph only has to
    tell the analysis where they are used.

    Args:
        proto: The model; not modified.

    Returns:
        The model itself if it has none of them, else a copy that has inputs instead; and for each
        such input by name where it came from.

    Raises:
        InvalidModel: A model-local function holds a sparse constant.
    """
    for function in proto.functions:
        if _sparse_constants(function):
            raise InvalidModel(
                f"the model-local function '{function.name}' holds a sparse tensor, which GR1 does "
                "not allow; store it densely"
            )
    if not any(graph.sparse_initializer or _sparse_constants(graph) for graph in all_graphs(proto)):
        return proto, {}
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    origins: dict[str, str] = {}
    for graph in list(all_graphs(copy)):
        for tensor in graph.sparse_initializer:
            _declare(copy.graph, tensor.values.name, tensor)
            origins[tensor.values.name] = "sparse initializer"
        for node in _sparse_constants(graph):
            _declare(copy.graph, node.output[0], _sparse_value(node))
            origins[node.output[0]] = "sparse constant"
            graph.node.remove(node)
        del graph.sparse_initializer[:]
    return copy, origins


def _sparse_constants(graph: onnx.GraphProto | onnx.FunctionProto) -> list[onnx.NodeProto]:
    return [
        node
        for node in graph.node
        if node.op_type == "Constant" and any(a.name == "sparse_value" for a in node.attribute)
    ]


def _sparse_value(node: onnx.NodeProto) -> onnx.SparseTensorProto:
    (attribute,) = (a for a in node.attribute if a.name == "sparse_value")
    tensor: onnx.SparseTensorProto = attribute.sparse_tensor
    return tensor


def _declare(graph: onnx.GraphProto, name: str, tensor: onnx.SparseTensorProto) -> None:
    graph.input.append(
        onnx.helper.make_sparse_tensor_value_info(name, tensor.values.data_type, list(tensor.dims))
    )
