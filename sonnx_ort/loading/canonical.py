"""From any source to one valid, canonical graph."""

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
    """Tell of a part that the graph library reads and does not write, such as a broken text.

    Raises:
        InvalidModel: There is one.
    """
    try:
        yield
    except ir.serde.SerdeError as error:
        raise InvalidModel(f"the model cannot be written: {innermost(error)}") from error


def innermost(error: BaseException) -> str:
    """What an error says that others were raised from.

    Args:
        error: The last of them.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)


_BITS_OF_BYTE = 8
_SHARING_BITS = (2, 4)
_COMPLEX = (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128)
_KNOWN = frozenset(map(int, ir.DataType)) - {onnx.TensorProto.UNDEFINED}


def check_elements(proto: onnx.ModelProto) -> None:
    """Check that every tensor in the file has all of its elements, and no more.

    Args:
        proto: A model that the ONNX checker takes.

    Raises:
        InvalidModel: A tensor has not, or is of an element type that is not known here.
    """
    for tensor in all_tensors(proto):
        if tensor.data_type not in _KNOWN:
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
    return _in_units(count * ir.DataType(element_type).bitwidth)


def _entries(count: int, element_type: int) -> int:
    """Entries of the list that stands for the raw bytes; narrow elements share one."""
    if element_type in _COMPLEX:
        return 2 * count
    if element_type == onnx.TensorProto.STRING:
        return count
    bits = ir.DataType(element_type).bitwidth
    return _in_units(count * bits) if bits in _SHARING_BITS else count


def _in_units(bits: int) -> int:
    return -(-bits // _BITS_OF_BYTE)


def _stored(tensor: onnx.TensorProto) -> int:
    field = onnx.helper.tensor_dtype_to_field(tensor.data_type)
    return len(getattr(tensor, field))


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


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A valid model.

    Attributes:
        graph_model: The canonical graph; a copy that belongs to the caller.
        proto: The model as it was given, save for the alias of the default domain; not to be
            modified.
        folder: Where its external data lies; None if it came without a place.
        sha256: Of its file, or of the serialized model where there was no file.
    """

    graph_model: ir.Model
    proto: onnx.ModelProto
    folder: Path | None
    sha256: str


def load_canonical(
    model: ModelSource | ReadModel, operators: Container[str] = DEFAULT_OPERATORS
) -> LoadedModel:
    """Read a model, check it, and bring its graph into the canonical form.

    The canonical form imports the default domain as "", and has the bodies of model-local
    functions inlined in which an operator occurs that is to be enforced.

    Args:
        model: A path, the bytes of a file, or a model object, which is not modified; or one that
            was read.
        operators: The names of the profile's operators that are to be enforced.

    Returns:
        The model.

    Raises:
        InvalidModel: It is no readable, valid ONNX model, or one that pretends to be enforced.
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
    carried, sparse = densify_declarations(_own(proto))
    try:
        with silenced("onnx_ir"):
            model = ir.from_proto(carried)
    except Exception as error:
        raise InvalidModel(f"the model cannot be read: {innermost(error)}") from error
    for graph_input in model.graph.inputs:
        origin = sparse.get(graph_input.name or "")
        if origin is not None:
            graph_input.meta["origin"] = origin
    if folder is not None:
        # This goes through subgraphs by itself.
        for graph in (model.graph, *(function.graph for function in model.functions.values())):
            ir.external_data.set_base_dir(graph, folder)
    return model


def _own(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy where functions may be inlined: that renames tensors in place."""
    if not proto.functions:
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    return copy
