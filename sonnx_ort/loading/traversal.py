"""Walks a model's protocol buffers, bodies of If, Loop and Scan included."""

from collections.abc import Iterable, Iterator

import onnx


def all_graphs(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The main graph and every graph below it or below a model-local function, at any depth."""
    yield proto.graph
    yield from subgraphs(proto.graph.node)
    for function in proto.functions:
        yield from subgraphs(function.node)


def all_nodes(proto: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Every node of every graph and of every model-local function."""
    for graph in all_graphs(proto):
        yield from graph.node
    for function in proto.functions:
        yield from function.node


def subgraphs(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    """Every graph in an attribute of these nodes, at any depth.

    Args:
        nodes: The nodes of one graph or function.
    """
    pending = [attribute for node in nodes for attribute in node.attribute]
    while pending:
        attribute = pending.pop()
        graphs = list(attribute.graphs)
        if attribute.type == onnx.AttributeProto.GRAPH:
            graphs.append(attribute.g)
        for graph in graphs:
            yield graph
            pending.extend(nested for node in graph.node for nested in node.attribute)
