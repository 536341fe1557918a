"""Converts models to the graph library and back, with the types that it does not know.

onnx_ir knows tensors, sparse tensors, sequences and optionals. For another type, such as the map
that a classifier gives, the graph has an optional of its values. The denotation of that holds the
type of the file, which takes its place again when the model is serialized.

How deep a model nests: readers of protocol buffers take messages in at most 100 others. A graph
inside another, as in an If, costs three: its node, the node's attribute, and the graph.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import chain

import onnx
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.file_traversal import all_tensors, bodies_of, graphs_and_nodes
from sonnx_ort.loading.pauses import silenced

_HELD = "sonnx_ort.type:"
"""How the denotation of an optional begins that stands for another type."""

_CHARACTERS = "latin-1"
"""Has one character for each byte."""


def deserialize(proto: onnx.ModelProto) -> ir.Model:
    """Convert a model to the graph library.

    Args:
        proto: The model. It is not modified, but the result shares its tensors if it has no type
            that the library does not know.

    Raises:
        InvalidModel: It cannot be read.
    """
    try:
        with silenced("onnx_ir"):
            return ir.from_proto(_readable(proto))
    except InvalidModel:
        raise
    except Exception as error:
        raise InvalidModel(f"the model cannot be read: {_reason(error)}") from error


def holds_another_type(optional: ir.OptionalType) -> bool:
    """Whether an optional stands for a type that the graph library does not know."""
    return (optional.denotation or "").startswith(_HELD)


def deserialize_type(proto: onnx.TypeProto) -> ir.TypeAndShape:
    """Convert a type to the graph library.

    Args:
        proto: The type; not modified.
    """
    readable = deepcopy(proto)
    _hold(readable)
    return ir.TypeAndShape(
        ir.serde.deserialize_type_proto_for_type(readable),
        ir.serde.deserialize_type_proto_for_shape(readable),
    )


def serialize(model: ir.Model) -> onnx.ModelProto:
    """Convert a model of the graph library.

    Raises:
        InvalidModel: It has a part that onnx_ir reads but cannot write, such as a broken string.
    """
    with serializable():
        proto = ir.to_proto(model)
    restore_types(proto)
    write_metadata_once(proto)
    return proto


def serialize_node(node: ir.Node) -> onnx.NodeProto:
    """Convert a node of the graph library.

    Raises:
        InvalidModel: It has a part that onnx_ir reads but cannot write, such as a broken string.
    """
    with serializable():
        return ir.serde.serialize_node(node)


def write_metadata_once(proto: onnx.ModelProto) -> None:
    """Remove, in place, the second of the two copies of a tensor's metadata that onnx_ir writes."""
    for tensor in all_tensors(proto):
        entries = {entry.key: entry.value for entry in reversed(tensor.metadata_props)}
        if len(entries) < len(tensor.metadata_props):
            del tensor.metadata_props[:]
            for key, value in reversed(entries.items()):
                tensor.metadata_props.add(key=key, value=value)


@contextmanager
def serializable() -> Iterator[None]:
    """Report a part that onnx_ir reads but cannot write, such as a broken string.

    Raises:
        InvalidModel: The block failed to serialize a model.
    """
    try:
        yield
    except ir.serde.SerdeError as error:
        raise InvalidModel(f"the model cannot be written: {_reason(error)}") from error


def restore_types(proto: onnx.ModelProto) -> None:
    """Give a model, in place, the types that the graph library does not know.

    Args:
        proto: The model, serialized by the graph library.
    """
    for declared in layered_types(proto):
        for layer in type_layers(declared):
            if layer.denotation.startswith(_HELD):
                layer.ParseFromString(layer.denotation.removeprefix(_HELD).encode(_CHARACTERS))


def _reason(error: BaseException) -> str:
    """The message of the first error in a chain of causes, with the text that is no text."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, UnicodeDecodeError):
        shown = repr(error.object[:_SHOWN]) + ("..." if len(error.object) > _SHOWN else "")
        return f"{error}; the text is {shown}; write it in UTF-8"
    return str(error)


_SHOWN = 80
"""How many bytes of a text that is not UTF-8 are shown."""


def _readable(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy with only those types that the library knows."""
    layers = [layer for declared in layered_types(proto) for layer in type_layers(declared)]
    if any(layer.denotation.startswith(_HELD) for layer in layers):
        raise InvalidModel(
            f"the denotation of a type begins with '{_HELD}', which has a meaning in this package; "
            "give it another"
        )
    if not any(map(_is_unknown, layers)):
        return proto
    copy = deepcopy(proto)
    for declared in layered_types(copy):
        _hold(declared)
    return copy


def layered_types(proto: onnx.ModelProto) -> Iterator[onnx.TypeProto]:
    """Every type that a model declares of a value, or has as an attribute, but plain tensors."""
    return (
        kind for kind in _all_types(proto) if kind.denotation or not kind.HasField("tensor_type")
    )


def _all_types(proto: onnx.ModelProto) -> Iterator[onnx.TypeProto]:
    graphs, nodes = graphs_and_nodes(proto)
    for graph in graphs:
        for value in chain(graph.input, graph.output, graph.value_info):
            yield value.type
    attributes = [attribute for node in nodes for attribute in node.attribute]
    for function in proto.functions:
        yield from (value.type for value in function.value_info)
        attributes += function.attribute_proto
    for attribute in attributes:
        if attribute.HasField("tp"):
            yield attribute.tp
        yield from attribute.type_protos


def type_layers(declared: onnx.TypeProto) -> Iterator[onnx.TypeProto]:
    """A type, the type of its elements or values, and so on."""
    while True:
        yield declared
        match declared.WhichOneof("value"):
            case "sequence_type":
                declared = declared.sequence_type.elem_type
            case "optional_type":
                declared = declared.optional_type.elem_type
            case "map_type":
                declared = declared.map_type.value_type
            case _:
                return


def _is_unknown(layer: onnx.TypeProto) -> bool:
    return layer.WhichOneof("value") in ("map_type", "opaque_type")


def _hold(declared: onnx.TypeProto) -> None:
    """Replace, in place, what the library does not know, the innermost first."""
    for layer in reversed(list(type_layers(declared))):
        if _is_unknown(layer):
            held = layer.SerializeToString().decode(_CHARACTERS)
            values = onnx.TypeProto()
            if layer.HasField("map_type"):
                values.CopyFrom(layer.map_type.value_type)
                _drop_shape(values)
            else:
                values.tensor_type.elem_type = onnx.TensorProto.UNDEFINED
            layer.optional_type.elem_type.CopyFrom(values)
            layer.denotation = _HELD + held


def _drop_shape(values: onnx.TypeProto) -> None:
    """Remove the shape of a map's values, which is not that of the map."""
    for layer in type_layers(values):
        for field in ("tensor_type", "sparse_tensor_type"):
            if layer.HasField(field):
                getattr(layer, field).ClearField("shape")


DEEPEST = 100
"""The depth of messages that readers take."""

_OF_GRAPH = 3
_OF_TYPE = 2
_OF_OTHERS = 12
"""More than all messages around the main graph, and inside the innermost but for types."""


def may_be_too_deep(proto: onnx.ModelProto) -> bool:
    """Whether readers may refuse a model; it is quick, and sure only of one that is not deep."""
    types = max((len(list(type_layers(declared))) for declared in layered_types(proto)), default=0)
    return _OF_GRAPH * nested_graphs(proto) + _OF_TYPE * types + _OF_OTHERS > DEEPEST


def nested_graphs(proto: onnx.ModelProto) -> int:
    """How many graphs are inside one another, as those of an If in a branch of another If."""
    level = [proto.graph.node, *(function.node for function in proto.functions)]
    depth = -1
    while level:
        level = [body.node for nodes in level for node in nodes for body in bodies_of(node)]
        depth += 1
    return depth


def require_readable(proto: onnx.ModelProto) -> None:
    """Check that readers take a model, as deep as it is.

    Raises:
        InvalidModel: It is too deep.
    """
    if may_be_too_deep(proto):
        try:
            onnx.ModelProto.FromString(proto.SerializeToString())
        except Exception as error:
            raise too_deep(proto) from error


def too_deep(proto: onnx.ModelProto) -> InvalidModel:
    """The error for a model that readers refuse."""
    return InvalidModel(
        f"the model nests {nested_graphs(proto)} graphs in one another, such as If in branches of "
        f"If. No reader of ONNX takes messages that are more than {DEEPEST} deep; nest less"
    )


def require_serializable(proto: onnx.ModelProto) -> bytes:
    """Serialize a model, or say why that cannot be.

    Raises:
        SonnxError: It is larger than one message can be.
    """
    try:
        content: bytes = proto.SerializeToString()
    except Exception as error:
        raise SonnxError(
            f"the model is too large for one message of 2 GiB ({error}); "
            "keep its tensors as external data and use rewrite_file"
        ) from error
    return content
