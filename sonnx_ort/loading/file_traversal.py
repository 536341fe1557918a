"""Traverses a model as its file has it, in protobuf: graphs, nodes, tensors, names."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import onnx


def all_graphs(proto: onnx.ModelProto) -> list[onnx.GraphProto]:
    """The main graph and every graph below it or below a model-local function, at any depth."""
    graphs = [proto.graph, *subgraphs(proto.graph.node)]
    for function in proto.functions:
        graphs += subgraphs(function.node)
    return graphs


def all_nodes(proto: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Every node of every graph and of every model-local function."""
    return graphs_and_nodes(proto)[1]


def all_attributes(proto: onnx.ModelProto) -> Iterator[onnx.AttributeProto]:
    """Every attribute of every node, and what functions take for those that a call leaves out."""
    return _attributes(proto, all_nodes(proto))


def _attributes(
    proto: onnx.ModelProto, nodes: Iterable[onnx.NodeProto]
) -> Iterator[onnx.AttributeProto]:
    of_functions = (
        attribute for function in proto.functions for attribute in function.attribute_proto
    )
    return chain(of_functions, (attribute for node in nodes for attribute in node.attribute))


def graphs_and_nodes(proto: onnx.ModelProto) -> tuple[list[onnx.GraphProto], list[onnx.NodeProto]]:
    """What `all_graphs` and `all_nodes` give, in one walk."""
    graphs = all_graphs(proto)
    return graphs, [node for owner in chain(graphs, proto.functions) for node in owner.node]


def nodes_within(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """These nodes of one graph or function, and every node in their subgraphs at any depth."""
    return [*nodes, *(node for graph in subgraphs(nodes) for node in graph.node)]


def all_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor: initializers, those in attributes, and the parts of sparse ones."""
    graphs, nodes = graphs_and_nodes(proto)
    for graph in graphs:
        yield from graph.initializer
        yield from _values_and_indices(graph.sparse_initializer)
    for attribute in _attributes(proto, nodes):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        if attribute.HasField("sparse_tensor"):
            yield from _values_and_indices([attribute.sparse_tensor])
        yield from _values_and_indices(attribute.sparse_tensors)


def _values_and_indices(tensors: Iterable[onnx.SparseTensorProto]) -> Iterator[onnx.TensorProto]:
    for tensor in tensors:
        yield tensor.values
        yield tensor.indices


def subgraphs(nodes: Iterable[onnx.NodeProto]) -> list[onnx.GraphProto]:
    """Every graph in an attribute of these nodes of one graph or function, at any depth."""
    found: list[onnx.GraphProto] = []
    pending: list[Iterable[onnx.NodeProto]] = [nodes]
    while pending:
        bodies = [graph for node in pending.pop() for graph in bodies_of(node)]
        found += bodies
        pending += [graph.node for graph in bodies]
    return found


def bodies_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The graphs in the attributes of a node such as If or Loop."""
    bodies: list[onnx.GraphProto] = []
    for attribute in node.attribute:
        kind = attribute.type
        if kind == onnx.AttributeProto.GRAPH:
            bodies.append(attribute.g)
        elif kind == onnx.AttributeProto.GRAPHS:
            bodies += attribute.graphs
    return bodies


Pending = list[tuple[onnx.NodeProto, frozenset[str]]]
"""Nodes that are still to be looked at, each with the names that are defined around it."""


def names_needed(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads, also in its subgraphs, but for those that these define."""
    return _names_needed([(node, frozenset())])


def nodes_needed(nodes: Sequence[onnx.NodeProto], results: Iterable[str]) -> list[onnx.NodeProto]:
    """The nodes of a graph that some values need, in order: their producers, and theirs in turn."""
    producers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needed, pending = set[int](), list(results)
    while pending:
        index = producers.get(pending.pop())
        if index is not None and index not in needed:
            needed.add(index)
            pending += names_needed(nodes[index])
    return [nodes[index] for index in sorted(needed)]


def names_captured(body: onnx.GraphProto) -> Iterator[str]:
    """The names that a subgraph reads and does not define."""
    pending: Pending = []
    yield from _outputs_of(body, frozenset(), pending)
    yield from _names_needed(pending)


def _names_needed(pending: Pending) -> Iterator[str]:
    while pending:
        node, known = pending.pop()
        yield from (name for name in node.input if name and name not in known)
        for body in bodies_of(node):
            yield from _outputs_of(body, known, pending)


def _outputs_of(body: onnx.GraphProto, known: frozenset[str], pending: Pending) -> Iterator[str]:
    """The outputs of a subgraph that it does not define; its nodes become pending."""
    inside = known | frozenset(_defined_names(body))
    yield from (value.name for value in body.output if value.name not in inside)
    pending += [(node, inside) for node in body.node]


def _defined_names(body: onnx.GraphProto) -> Iterable[str]:
    made = (name for node in body.node for name in node.output)
    sparse = (tensor.values.name for tensor in body.sparse_initializer)
    return chain((value.name for value in (*body.input, *body.initializer)), sparse, made)
