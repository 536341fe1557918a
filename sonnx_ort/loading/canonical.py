"""Loads a model from any source into one valid, canonical graph."""

from collections.abc import Container, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import onnx
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.declarations import note_declarations
from sonnx_ort.loading.external_data import check_elements, check_external_data
from sonnx_ort.loading.file_traversal import all_graphs, graphs_and_nodes
from sonnx_ort.loading.functions import (
    import_standard_operators,
    inline_enforceable_functions,
    resolve_default_domain,
)
from sonnx_ort.loading.impostors import refuse_impostors
from sonnx_ort.loading.serialization import deserialize
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.validity import check_validity
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS


def densify_declarations(
    proto: onnx.ModelProto,
) -> tuple[onnx.ModelProto, Mapping[str, tuple[str, onnx.SparseTensorProto]]]:
    """Replace sparse initializers and sparse constants by sparse inputs of the main graph.

    A model with sparse tensors violates the profile and is never rewritten; the analysis only needs
    to know where they are used.

    Returns:
        The model itself if it has no sparse tensors, else a copy; and the origin and the tensor of
        each such input by name.

    Raises:
        InvalidModel: A model-local function contains a sparse tensor, or a node has one that is
            not a Constant's.
    """
    for function in proto.functions:
        if _sparse_constants(function) or _has_sparse(function.attribute_proto):
            _refuse_sparse(f"the model-local function '{function.name}'")
    graphs, nodes = graphs_and_nodes(proto)
    for node in nodes:
        known = {"sparse_value"} if node.op_type == "Constant" else frozenset()
        if _has_sparse(a for a in node.attribute if a.name not in known):
            _refuse_sparse(f"{node.op_type} '{node.name}'")
    if not any(graph.sparse_initializer or _sparse_constants(graph) for graph in graphs):
        return proto, {}
    copy = deepcopy(proto)
    origins: dict[str, tuple[str, onnx.SparseTensorProto]] = {}
    for graph in all_graphs(copy):
        for tensor in graph.sparse_initializer:
            _declare_input(copy.graph, tensor.values.name, tensor)
            origins[tensor.values.name] = ("sparse initializer", deepcopy(tensor))
        for node in _sparse_constants(graph):
            _declare_input(copy.graph, node.output[0], _sparse_value(node))
            origins[node.output[0]] = ("sparse constant", deepcopy(_sparse_value(node)))
            graph.node.remove(node)
        del graph.sparse_initializer[:]
    return copy, origins


SPARSE = "sparse"
"""The metadata of an input in the place of a sparse tensor: that tensor, a `SparseTensorProto`."""

_SPARSE_KINDS = (onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS)


def _has_sparse(attributes: Iterable[onnx.AttributeProto]) -> bool:
    return any(attribute.type in _SPARSE_KINDS for attribute in attributes)


def _refuse_sparse(owner: str) -> NoReturn:
    raise InvalidModel(f"{owner} has a sparse tensor, which rule GR1 forbids; store it densely")


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


def _declare_input(graph: onnx.GraphProto, name: str, tensor: onnx.SparseTensorProto) -> None:
    graph.input.append(
        onnx.helper.make_sparse_tensor_value_info(name, tensor.values.data_type, list(tensor.dims))
    )


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A valid model.

    Attributes:
        graph_model: The canonical graph, a copy owned by the caller.
        proto: The given model, with the alias of the default domain resolved; read-only.
        folder: The folder of external data; None if unknown.
        sha256: Hash of the file, or of the serialized model if there is no file.
    """

    graph_model: ir.Model
    proto: onnx.ModelProto
    folder: Path | None
    sha256: str


def load_canonical(
    model: ModelSource | ReadModel, operators: Container[str] = DEFAULT_OPERATORS
) -> LoadedModel:
    """Read a model, validate it, and convert its graph to the canonical form.

    The canonical form imports the default domain as "". Model-local functions are inlined if they
    contain an operator to enforce.

    Args:
        model: A path, the bytes of a file, a model object (not modified), or a model already read.
        operators: The operators of the profile to enforce, by name.

    Raises:
        InvalidModel: The model is not readable or not valid ONNX, or it contains forged enforced
            operators.
    """
    source = read(model)
    proto = resolve_default_domain(source.proto)
    check_external_data(proto, source.folder)
    refuse_impostors(proto)
    check_validity(proto)
    check_elements(proto)
    graph_model = _deserialize(proto, source.folder)
    import_standard_operators(graph_model)
    inline_enforceable_functions(graph_model, operators)
    return LoadedModel(graph_model, proto, source.folder, source.sha256)


def _deserialize(proto: onnx.ModelProto, folder: Path | None) -> ir.Model:
    # Inlining of functions renames tensors in place.
    own = deepcopy(proto) if proto.functions else proto
    dense_proto, sparse = densify_declarations(own)
    model = deserialize(dense_proto)
    note_declarations(dense_proto, model)
    for graph_input in model.graph.inputs:
        found = sparse.get(graph_input.name or "")
        if found is not None:
            graph_input.meta["origin"], graph_input.meta[SPARSE] = found
            # The file may declare the value as a dense one, as an output of the graph.
            graph_input.type = ir.SparseTensorType(ir.DataType(found[1].values.data_type))
    if folder is not None:
        # set_base_dir also covers subgraphs.
        for graph in (model.graph, *(function.graph for function in model.functions.values())):
            ir.external_data.set_base_dir(graph, folder)
    return model
