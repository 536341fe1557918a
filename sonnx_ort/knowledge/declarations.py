"""What a file declares of values: constants, types and shapes.

A file can declare wrong types and shapes, and ONNX Runtime only warns. So a model can be serialized
without declarations that do not follow from its inputs, constants and operators.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType

import onnx
import onnx_ir as ir

from sonnx_ort.knowledge.loops import loop_of
from sonnx_ort.loading.serialization import restore_types
from sonnx_ort.loading.traversal import all_nodes, bodies_of, every_node, subgraphs_of
from sonnx_ort.profile.operand import Shape
from sonnx_ort.profile.operator import STANDARD_DOMAIN


def constant_tensor(value: ir.Value) -> ir.TensorProtocol | None:
    """The tensor of an initializer or of a Constant.

    An initializer that a graph input can override is not a constant. External data may be large or
    unavailable.

    Returns:
        The tensor; None if the elements may vary, are in external data, or are given twice.
    """
    if value.is_graph_input():
        return None
    node = value.producer()
    tensor = value.const_value if node is None else _produced(node)
    return None if isinstance(tensor, ir.ExternalTensor) else tensor


def _produced(node: ir.Node) -> ir.TensorProtocol | None:
    if (node.domain, node.op_type) != (STANDARD_DOMAIN, "Constant"):
        return None
    attribute = node.attributes.get("value")
    if len(node.attributes) == 1 and attribute is not None and not attribute.is_ref():
        # A faster path: the general one below renames the tensor and checks its protocol.
        tensor: ir.TensorProtocol = attribute.value
        return tensor
    try:
        return ir.convenience.get_const_tensor(node.outputs[0])
    except ValueError:
        # A Constant with two attributes, which ONNX Runtime accepts.
        return None


def declared_type(value: ir.Value) -> str | None:
    """The ONNX name of the declared element type, such as "int32"; None if none is declared."""
    return None if value.dtype is None else type_name(value.dtype)


def type_name(dtype: ir.DataType) -> str:
    """The ONNX name of an element type of onnx_ir."""
    return dtype.name.lower()


def declared_shape(value: ir.Value) -> Shape | None:
    """The declared shape; None if the rank is not declared. A negative size counts as unknown."""
    if value.shape is None:
        return None
    sizes = (d if isinstance(d, int) else d.value for d in value.shape)
    return tuple(None if isinstance(size, int) and size < 0 else size for size in sizes)


# A constant, because each evaluation of a union expression creates a new object.
_CONTAINERS = (ir.SequenceType, ir.OptionalType)


def is_sparse(value: ir.Value) -> bool:
    """Whether the value is declared as a sparse tensor or as a container of sparse tensors."""
    declared: object = value.type
    while isinstance(declared, _CONTAINERS):
        declared = declared.elem_type
    return isinstance(declared, ir.SparseTensorType)


_MAX_BYTES = 1024
"""Larger constants are only declared; no shape is computed from their elements."""

SYMBOL = re.compile(r"[^\W\d]\w*")
"""Dimension names that are symbols; others, such as "?", mean unknown."""


Declarations = Mapping[ir.Value, ir.TypeAndShape]
"""What is declared of values: their types and shapes."""

NOTHING_DECLARED: Declarations = MappingProxyType({})


def declared_of(values: Iterable[ir.Value]) -> Declarations:
    """What the file declares of values; of constants it need not declare anything."""
    return {
        value: ir.TypeAndShape(value.type, value.shape)
        for value in values
        if value.name and value.type is not None and not value.is_initializer()
    }


def without_declarations(model: ir.Model, kept: Declarations = NOTHING_DECLARED) -> onnx.ModelProto:
    """Serialize a model without declared types and shapes that may be wrong.

    Removed are the types of intermediate values, of outputs and of the inputs of subgraphs: a file
    can declare them wrongly, and ONNX Runtime only warns. Initializers that are large or that an
    input can override become inputs. A large Constant keeps its type and shape only. Dimension
    names that are not symbols, such as "?", and negative sizes become unknown. Functions are
    omitted, because their bodies are not analyzed here.

    Args:
        model: The model; not modified.
        kept: What is declared of values in spite of that, other than of the inputs of the model.

    Returns:
        The model with the same nodes in the same order.

    Raises:
        onnx_ir.serde.SerdeError: A part cannot be serialized, such as a broken string.
    """
    proto = onnx.ModelProto(ir_version=model.ir_version)
    for domain, version in model.opset_imports.items():
        proto.opset_import.add(domain=domain, version=version)
    graph = model.graph
    proto.graph.input.extend(_declaration(value, value.type, value.shape) for value in graph.inputs)
    for value in graph.initializers.values():
        if value.const_value is not None and not value.is_graph_input():
            _write_initializer(value, value.const_value, proto.graph)
    proto.graph.node.extend(map(ir.serde.serialize_node, graph))
    proto.graph.output.extend(onnx.ValueInfoProto(name=value.name) for value in graph.outputs)
    _declare_results(graph, proto.graph, kept)
    for body, written_body in bodies_in_pairs(graph, proto.graph):
        _remove_declarations(written_body)
        _declare_inputs(body, written_body, kept)
        _declare_results(body, written_body, kept)
    if model.opset_imports.get(STANDARD_DOMAIN, 0) >= _SPARSE_CONSTANTS:
        for node in all_nodes(proto):
            _drop_elements_of_large(node)
    restore_types(proto)
    return proto


def bodies_in_pairs(
    graph: ir.Graph, proto: onnx.GraphProto
) -> Iterator[tuple[ir.Graph, onnx.GraphProto]]:
    """Each subgraph of a graph at any depth, paired with its serialized form."""
    bodies = (body for node in graph for body in subgraphs_of(node))
    written_bodies = (body for node in proto.node for body in bodies_of(node))
    for body, written in zip(bodies, written_bodies, strict=True):
        yield body, written
        yield from bodies_in_pairs(body, written)


def collected_by_loops(graph: ir.Graph) -> Iterator[ir.Value]:
    """The scan outputs of Loop bodies."""
    for node in every_node(graph):
        iteration = loop_of(node)
        if iteration is not None:
            yield from (value for _, value in iteration.collected if not value.is_initializer())


def _declaration(
    value: ir.Value, declared: ir.TypeProtocol | None, shape: ir.Shape | None
) -> onnx.ValueInfoProto:
    """An input of the main graph, with its known dimensions."""
    known = None if shape is None else ir.Shape([_known(dimension) for dimension in shape])
    return ir.serde.serialize_value(ir.Value(name=value.name, type=declared, shape=known))


def _write_initializer(value: ir.Value, tensor: ir.TensorProtocol, proto: onnx.GraphProto) -> None:
    if isinstance(tensor, ir.ExternalTensor) or tensor.nbytes > _MAX_BYTES:
        declared = ir.TensorType(tensor.dtype)
        proto.input.append(_declaration(value, declared, ir.Shape(tensor.shape.numpy())))
        return
    written = proto.initializer.add()
    ir.serde.serialize_tensor_into(written, tensor)
    # Two initializers can share a tensor, which has only one name.
    written.name = value.name


_SPARSE_CONSTANTS = 11
"""The first version of the standard operators in which a Constant can be sparse."""


def _drop_elements_of_large(node: onnx.NodeProto) -> None:
    """Replace a large Constant by an empty sparse one of the same type and shape."""
    if (node.domain, node.op_type) != (STANDARD_DOMAIN, "Constant"):
        return
    for attribute in node.attribute:
        tensor = attribute.t
        if attribute.name == "value" and tensor.ByteSize() > _MAX_BYTES:
            empty = onnx.SparseTensorProto(dims=tensor.dims)
            empty.values.data_type = tensor.data_type
            attribute.CopyFrom(onnx.helper.make_attribute("sparse_value", empty))


def _remove_declarations(written: onnx.GraphProto) -> None:
    del written.value_info[:]
    inputs = {declared.name for declared in written.input}
    for tensor in [tensor for tensor in written.initializer if tensor.name in inputs]:
        written.initializer.remove(tensor)
    for declared in chain(written.input, written.output):
        declared.ClearField("type")


def _declare_inputs(body: ir.Graph, written: onnx.GraphProto, kept: Declarations) -> None:
    for value, declared in zip(body.inputs, written.input, strict=True):
        if value in kept:
            declared.CopyFrom(_declaration(value, kept[value].type, kept[value].shape))


def _declare_results(graph: ir.Graph, written: onnx.GraphProto, kept: Declarations) -> None:
    """Declare outputs of nodes; where a node's output is the graph's, as the graph's output."""
    if not kept:
        return
    for value, declared in zip(graph.outputs, written.output, strict=True):
        if value in kept:
            declared.CopyFrom(_declaration(value, kept[value].type, kept[value].shape))
    returned = set(graph.outputs)
    results = (value for node in graph for value in node.outputs if value not in returned)
    written.value_info.extend(
        _declaration(value, kept[value].type, kept[value].shape)
        for value in results
        if value in kept
    )


def _known(dimension: int | ir.SymbolicDim) -> int | str | None:
    match dimension:
        case int() if dimension >= 0:
            return dimension
        case ir.SymbolicDim(value=str() as name) if SYMBOL.fullmatch(name):
            return name
    return None
