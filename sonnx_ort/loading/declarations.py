"""What a file declares of one value in several places.

A graph may list an input among its outputs, with another shape, and a subgraph may declare a value
of the graph around it. ONNX Runtime takes each for true where it stands: of an input it holds what
the input says, and in the subgraph it computes a Shape of what the subgraph says. The graph library
keeps one declaration of a value, and of an input the one that is not held.
"""

from collections.abc import Iterable, Iterator, Mapping

import onnx
import onnx_ir as ir

from sonnx_ort.loading.serialization import deserialize_type
from sonnx_ort.loading.traversal import every_graph, subgraphs_in

_ELSEWHERE = "declared elsewhere"
"""The metadata of a value with the shapes that a file declares of it in other places."""


def declared_elsewhere(values: Iterable[ir.Value]) -> dict[ir.Value, list[ir.Shape]]:
    """The shapes that a file declares of values beside their own, of those that have any."""
    return {value: value.meta[_ELSEWHERE] for value in values if _ELSEWHERE in value.meta}


def forget_elsewhere(value: ir.Value) -> None:
    """Forget them, because no model that is written has them."""
    value.meta.pop(_ELSEWHERE, None)


def note_declarations(proto: onnx.ModelProto, model: ir.Model) -> None:
    """Give inputs of graphs their own declarations, and keep further ones of all values, in place.

    Args:
        proto: The model as its file has it.
        model: The same, as the graph library has read it.
    """
    functions = {(f.domain, f.name, f.overload): f for f in proto.functions}
    owners: list[tuple[onnx.GraphProto | onnx.FunctionProto, ir.Graph]] = [
        (proto.graph, model.graph),
        *((functions[each.identifier()], each.graph) for each in model.functions.values()),
    ]
    for declared, graph in owners:
        named: dict[str, list[ir.Value]] = {}
        for inner in every_graph(graph):
            for value in _defined(inner):
                named.setdefault(str(value.name), []).append(value)
        _note(declared, graph, {}, named)


def _note(
    declared: onnx.GraphProto | onnx.FunctionProto,
    graph: ir.Graph,
    outer: Mapping[str, ir.Value],
    named: Mapping[str, list[ir.Value]],
) -> None:
    """Note the declarations of a graph and of the subgraphs in it.

    Args:
        declared: The graph as its file has it.
        graph: The graph.
        outer: The values of the graphs around it, by name.
        named: All values, by name.
    """
    scope = {**outer, **{str(value.name): value for value in _defined(graph)}}
    entries = [*declared.value_info]
    if isinstance(declared, onnx.GraphProto):
        _restore_inputs(declared, graph, is_body=bool(outer))
        entries += declared.output
    for entry in entries:
        # What is declared of a value that is not in sight is taken for any of its name.
        values = [scope[entry.name]] if entry.name in scope else named.get(entry.name, [])
        for value in values:
            _note_entry(entry, value)
    for body, inner in _bodies(declared.node, graph):
        _note(body, inner, scope, named)


def _restore_inputs(declared: onnx.GraphProto, graph: ir.Graph, *, is_body: bool) -> None:
    """Give inputs that are outputs, too, the types and shapes that are declared of the inputs.

    A Scan needs the declared shape of what its body returns, where the input has none.
    """
    returned = {entry.name for entry in declared.output}
    for entry, value in zip(declared.input, graph.inputs, strict=True):
        if entry.name in returned:
            own = deserialize_type(entry.type)
            if own.shape is not None or not is_body:
                value.type, value.shape = own.type, own.shape


def _note_entry(entry: onnx.ValueInfoProto, value: ir.Value) -> None:
    """Keep a declared shape of a value if it is another one than its own."""
    if entry.type.tensor_type.HasField("shape"):
        shape = ir.serde.deserialize_type_proto_for_shape(entry.type)
        if shape is not None and shape != value.shape:
            value.meta.setdefault(_ELSEWHERE, []).append(shape)


def _bodies(
    nodes: Iterable[onnx.NodeProto], graph: ir.Graph
) -> Iterator[tuple[onnx.GraphProto, ir.Graph]]:
    """The subgraphs of nodes, as the file has them and as they were read."""
    for node, made in zip(nodes, graph, strict=True):
        for attribute in node.attribute:
            bodies = [attribute.g] if attribute.HasField("g") else [*attribute.graphs]
            if bodies:
                read = subgraphs_in(made.attributes[attribute.name])
                yield from zip(bodies, read, strict=True)


def _defined(graph: ir.Graph) -> Iterator[ir.Value]:
    """The values that a graph defines itself."""
    yield from graph.inputs
    yield from graph.initializers.values()
    for node in graph:
        yield from node.outputs
