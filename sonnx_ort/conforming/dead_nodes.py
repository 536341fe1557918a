"""Removes what computes nothing that is read: no output of the graph reads a dead node."""

from collections.abc import Container, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.findings import dead_nodes
from sonnx_ort.loading.traversal import every_node, subgraphs_of


def remove_dead_nodes(graph: ir.Graph, kept: Container[ir.Node] = ()) -> None:
    """Remove the nodes that contribute to no output of the graph, in place.

    What `kept` contains stays, with all that it reads.
    """
    # What the subgraphs of a dead node read is dead once that node is gone.
    while dead := dead_nodes(every_node(graph), kept):
        _remove(dead)


def unread(graph: ir.Graph) -> frozenset[ir.Node | ir.Value]:
    """The nodes and initializers that contribute to no output of the graph."""
    nodes = every_node(graph)
    bodies = (body for node in nodes for body in subgraphs_of(node))
    stored = (value for inner in (graph, *bodies) for value in inner.initializers.values())
    return frozenset(dead_nodes(nodes)) | {
        v for v in stored if not (v.uses() or v.is_graph_output() or v.is_graph_input())
    }


def remove_unread(graph: ir.Graph, unread_before: Container[ir.Node | ir.Value]) -> None:
    """Remove the nodes and initializers that nothing reads any more, in place.

    What nothing read before stays: it is not for a change of another kind to remove it.
    """
    _remove(dead_nodes(every_node(graph), unread_before))
    remove_unread_initializers(graph, unread_before)


def remove_unread_initializers(
    graph: ir.Graph, unread_before: Container[ir.Node | ir.Value] = ()
) -> None:
    """Remove the initializers that nothing reads, and that something read before, in place."""
    for value in unread(graph):
        if isinstance(value, ir.Value) and value not in unread_before and value.graph is not None:
            del value.graph.initializers[str(value.name)]


def _remove(nodes: Sequence[ir.Node]) -> None:
    """Remove nodes that nothing reads but each other, given in graph order."""
    for node in reversed(nodes):
        if isinstance(node.graph, ir.Graph):
            detach_bodies(node)
            node.graph.remove(node, safe=True)


def detach(node: ir.Node) -> None:
    """Let a node that is in no graph read nothing, and so its subgraphs."""
    detach_bodies(node)
    _detach(node)


def detach_bodies(node: ir.Node) -> None:
    """Let the nodes in a node's subgraphs read nothing, so that what they read is unread."""
    for inner in (inner for body in subgraphs_of(node) for inner in every_node(body)):
        _detach(inner)


def _detach(node: ir.Node) -> None:
    for position in range(len(node.inputs)):
        node.replace_input_with(position, None)
