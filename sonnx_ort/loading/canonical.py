"""Loads a model from any source into one valid, canonical graph."""

import math
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir
from onnx.external_data_helper import uses_external_data

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.functions import inline_enforceable_functions
from sonnx_ort.loading.opset import import_standard_operators, resolve_default_domain
from sonnx_ort.loading.source import ModelSource, ReadModel, read, silenced
from sonnx_ort.loading.traversal import all_graphs, all_tensors
from sonnx_ort.loading.validity import check_validity, refuse_impostors
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS


@contextmanager
def serializable() -> Iterator[None]:
    """Report a part that onnx_ir reads but cannot write, such as a broken string.

    Raises:
        InvalidModel: The block failed to serialize a model.
    """
    try:
        yield
    except ir.serde.SerdeError as error:
        raise InvalidModel(f"the model cannot be written: {innermost(error)}") from error


def innermost(error: BaseException) -> str:
    """The message of the first error in a chain of causes."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)


_BITS_OF_BYTE = 8
_PACKED_BITS = (2, 4)
_COMPLEX = (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128)
_KNOWN_TYPES = frozenset(map(int, ir.DataType)) - {onnx.TensorProto.UNDEFINED}


def check_elements(proto: onnx.ModelProto) -> None:
    """Check that the size of every tensor in the file matches its shape.

    The model has to have passed the ONNX checker.

    Raises:
        InvalidModel: A size does not match, or an element type is unknown here.
    """
    for tensor in all_tensors(proto):
        if tensor.data_type not in _KNOWN_TYPES:
            raise InvalidModel(
                f"tensor '{tensor.name}' has the element type {tensor.data_type}, which this "
                "installation does not know; upgrade onnx and onnx-ir, or export the model again"
            )
        if not uses_external_data(tensor):
            _check(tensor)


def _check(tensor: onnx.TensorProto) -> None:
    if any(size < 0 for size in tensor.dims):
        raise InvalidModel(f"tensor '{tensor.name}' has a negative size: {list(tensor.dims)}")
    count = math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        needed, stored, unit = _bytes(count, tensor.data_type), len(tensor.raw_data), "bytes"
    else:
        needed, stored, unit = _entries(count, tensor.data_type), _stored(tensor), "entries"
    if needed != stored:
        raise InvalidModel(
            f"tensor '{tensor.name}' of shape {list(tensor.dims)} needs {needed} {unit}, and the "
            f"file has {stored}; export the model again"
        )


def _bytes(count: int, element_type: int) -> int:
    if element_type == onnx.TensorProto.STRING:
        raise InvalidModel("a tensor of strings holds raw bytes, which ONNX does not allow")
    return _whole_bytes(count * ir.DataType(element_type).bitwidth)


def _entries(count: int, element_type: int) -> int:
    """Length of the list that replaces raw bytes; narrow elements share an entry."""
    if element_type in _COMPLEX:
        return 2 * count
    if element_type == onnx.TensorProto.STRING:
        return count
    bits = ir.DataType(element_type).bitwidth
    return _whole_bytes(count * bits) if bits in _PACKED_BITS else count


def _whole_bytes(bits: int) -> int:
    return -(-bits // _BITS_OF_BYTE)


def _stored(tensor: onnx.TensorProto) -> int:
    field = onnx.helper.tensor_dtype_to_field(tensor.data_type)
    return len(getattr(tensor, field))


def densify_declarations(
    proto: onnx.ModelProto,
) -> tuple[onnx.ModelProto, Mapping[str, str]]:
    """Replace sparse initializers and sparse constants by sparse inputs of the main graph.

    A model with sparse tensors violates the profile and is never rewritten; the analysis only needs
    to know where they are used.

    Returns:
        The model itself if it has no sparse tensors, else a copy; and the origin of each such input
        by name.

    Raises:
        InvalidModel: A model-local function contains a sparse constant.
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
    dense_proto, sparse = densify_declarations(_inlinable(proto))
    try:
        with silenced("onnx_ir"):
            model = ir.from_proto(dense_proto)
    except Exception as error:
        raise InvalidModel(f"the model cannot be read: {innermost(error)}") from error
    for graph_input in model.graph.inputs:
        origin = sparse.get(graph_input.name or "")
        if origin is not None:
            graph_input.meta["origin"] = origin
    if folder is not None:
        # set_base_dir also covers subgraphs.
        for graph in (model.graph, *(function.graph for function in model.functions.values())):
            ir.external_data.set_base_dir(graph, folder)
    return model


def _inlinable(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy if functions may be inlined, because that renames tensors in place."""
    if not proto.functions:
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    return copy
