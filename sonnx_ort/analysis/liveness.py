"""Nodes that contribute to nothing."""

from collections.abc import Sequence

import onnx_ir as ir


def dead_nodes(nodes: Sequence[ir.Node]) -> list[ir.Node]:
    """Find the nodes of which no output contributes to one of the graph.

    Args:
        nodes: All nodes of a model, those of a body behind the node that it belongs to.

    Returns:
        The dead ones, in their order.
    """
    dead: dict[ir.Node, None] = {}
    for node in reversed(nodes):
        readers = [reader for output in node.outputs for reader in output.consumers()]
        given_out = any(output.is_graph_output() for output in node.outputs)
        if not given_out and all(reader in dead for reader in readers):
            dead[node] = None
    return list(reversed(dead))
