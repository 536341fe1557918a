"""The types of all values of a graph, in the words of the graph library."""

import functools
from collections.abc import Callable, Iterable, Sequence

import onnx
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import type_name, written_type
from sonnx_ort.analysis.values.graph_node import GraphNode, graph_of
from sonnx_ort.facts.schemas import allowed_types
from sonnx_ort.facts.types import (
    Type,
    TypedNode,
    Types,
    element_of,
    tensor_of,
    types_of_operands,
    types_of_results,
)
from sonnx_ort.loading.serialization import deserialize_type
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN


class ValueTypes(Types):
    """The types of values, without what the file declares of others than the model's inputs."""

    def __init__(self, model: ir.Model) -> None:
        """Follow the nodes of a canonical model, which is not modified."""
        versions = model.opset_imports
        main = graph_of(model.graph, versions.get(STANDARD_DOMAIN, 0))
        super().__init__(main, versions, _known_type, {DOMAIN: _types_of_own})

    def type(self, value: ir.Value) -> ir.TypeProtocol | None:
        """The type of a value, without its shape; None if it is unknown."""
        found = self.of(value)
        return None if found is None else _parsed(found)

    def element_type(self, value: ir.Value) -> ir.DataType | None:
        """The element type of a value; None if it is unknown."""
        known = self.type(value)
        return None if known is None else known.dtype

    def may_be_tensor(self, value: ir.Value) -> bool:
        """Whether a value is not known to be a sequence or an optional."""
        known = self.type(value) or value.type
        return type(known) not in (ir.SequenceType, ir.OptionalType)


def _known_type(value: ir.Value) -> Type:
    """The type of an input of the model, or of an initializer."""
    if value.const_value is not None and not value.is_graph_input():
        return tensor_of(type_name(value.const_value.dtype))
    return None if value.type is None else written_type(value.type)


def result_type_of(
    node: ir.Node, version: int, known: Callable[[ir.Value], ir.TypeProtocol | None]
) -> ir.TypeProtocol | None:
    """The type of the first result of a standard operator's node; None if it is unknown.

    Args:
        node: The node.
        version: The version of the standard operators.
        known: The type of an operand, if it is known.
    """
    kinds = [None if value is None else known(value) for value in node.inputs]
    given = [None if kind is None else written_type(kind) for kind in kinds]
    found, *_ = types_of_results(GraphNode(node, version), version, given)
    return None if not found else _parsed(found)


def unsupported_type(
    nodes: Iterable[ir.Node], version: int, known: Callable[[ir.Value], ir.TypeProtocol | None]
) -> str | None:
    """What new nodes of standard operators read that a version of these does not: "Sub of int8".

    Args:
        nodes: The nodes, each after those whose results it reads.
        version: The version of the standard operators.
        known: The type of a value that none of them computes, if it is known.
    """
    types: dict[ir.Value, ir.TypeProtocol | None] = {}

    def type_of(value: ir.Value) -> ir.TypeProtocol | None:
        return types.get(value) or known(value)

    for node in nodes:
        allowed = allowed_types(node.op_type, version, STANDARD_DOMAIN)
        for position, value in enumerate(node.inputs if allowed else ()):
            kind = None if value is None else type_of(value)
            text = None if kind is None else written_type(kind)
            if text and text not in allowed[min(position, len(allowed) - 1)]:
                return f"{node.op_type} of {element_of(text, 'tensor') or text}"
        types[node.outputs[0]] = result_type_of(node, version, type_of)
    return None


def _types_of_own(node: TypedNode) -> Sequence[Type]:
    """The types of the results of a node of our domain."""
    if node.operator[1] == BROADCAST.name:
        return types_of_operands(node)
    # No proof about a model that is not enforced rests on our kernels.
    from sonnx_ort.analysis.values.own_kernels import types_of_kernel

    return types_of_kernel(node)


@functools.cache
def _parsed(text: str) -> ir.TypeProtocol:
    kind = deserialize_type(_proto(text)).type
    if kind is None:
        raise ValueError(f"{text} is no type")
    return kind


def _proto(text: str) -> onnx.TypeProto:
    container, _, inner = text[:-1].partition("(")
    proto = onnx.TypeProto()
    match container:
        case "tensor" | "sparse_tensor":
            declared = getattr(proto, f"{container}_type")
            declared.elem_type = onnx.TensorProto.DataType.Value(inner.upper())
        case "seq":
            proto.sequence_type.elem_type.CopyFrom(_proto(inner))
        case "optional":
            proto.optional_type.elem_type.CopyFrom(_proto(inner))
        case "map":
            keys, _, values = inner.partition(",")
            proto.map_type.key_type = onnx.TensorProto.DataType.Value(keys.upper())
            proto.map_type.value_type.CopyFrom(_proto(values))
    return proto
