"""Puts nodes in the place of one, so that nothing else in the graph notices."""

from collections.abc import Mapping, Sequence

import onnx_ir as ir


def replace_node(
    node: ir.Node, nodes: Sequence[ir.Node], values: Mapping[ir.Value, ir.Value]
) -> None:
    """Put nodes in the place of one, and values in the place of its outputs.

    Args:
        node: The node to replace.
        nodes: The nodes that replace it, in order.
        values: What they give for each of its outputs that anything can read.
    """
    for old, new in values.items():
        new.metadata_props.update(old.metadata_props)
        new.doc_string = old.doc_string
        new.meta.update(old.meta)
    graph = node.graph
    if graph is None:
        raise ValueError(f"node '{node.name}' belongs to no graph")
    ir.convenience.replace_nodes_and_values(
        graph, node, [node], nodes, list(values), list(values.values())
    )
