"""Puts nodes in the place of one, so that nothing else in the graph notices."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.judgement import Status
from sonnx_ort.rewriting.standard_nodes import StandardNodes

RULES = "sonnx_ort.rules"
"""The key in a node's metadata under which the ids of the rules stand that bind it."""

PROVED = "sonnx_ort.proved"
"""The key under which those of them stand that hold in every run."""

Uses = Mapping[ir.Value, Sequence[tuple[ir.Node, int]]]
"""For each value the nodes that read it, and the positions at which they do."""


def uses_of(values: Iterable[ir.Value]) -> Uses:
    """Find what reads values now.

    Args:
        values: The values.
    """
    return {value: tuple(value.uses()) for value in values}


def put_behind_inputs(
    graph: ir.Graph, uses: Uses, nodes: Sequence[ir.Node], behind: Mapping[ir.Value, ir.Value]
) -> None:
    """Let what reads inputs read what new nodes make of these.

    Args:
        graph: The main graph, which gets the nodes.
        uses: What read the inputs before there were the nodes.
        nodes: The nodes, in order.
        behind: What they give for each input.
    """
    for value, made in behind.items():
        made.type = value.type
        for node, index in uses[value]:
            node.replace_input_with(index, made)
    graph.insert_before(graph[0], nodes)


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
    ir.convenience.replace_nodes_and_values(
        cast(ir.Graph, node.graph), node, [node], nodes, list(values), list(values.values())
    )


def record_rules(node: ir.Node, examined: ExaminedNode) -> None:
    """Write down which rules an enforced node keeps, and which need no check.

    For people and their tools; nothing here relies on it.

    Args:
        node: The node that takes the place of the examined one.
        examined: The examined one.
    """
    own = [o for o in examined.obligations if o.operator == examined.target.operator.name]
    proved = (o.rule.id for o in own if o.status is Status.PROVED)
    node.metadata_props[RULES] = " ".join(o.rule.id for o in own)
    node.metadata_props[PROVED] = " ".join(proved)


def computed(
    nodes: StandardNodes, examined: ExaminedNode, operands: Sequence[ir.Value]
) -> ir.Value:
    """Let the node itself compute, on other operands.

    Args:
        nodes: Takes the new node.
        examined: The node; its attributes that ask for broadcasting are taken away.
        operands: What it reads now in the places of its operands, without those left out.

    Returns:
        The result.

    Raises:
        SonnxError: The node has further outputs that something may read.
    """
    original, result = examined.target.node, nodes.value("result")
    if any(output.name for output in original.outputs[1:]):
        target = examined.target
        raise SonnxError(
            f"{target.operator.name} '{target.label}' has further outputs, with which it cannot be "
            "enforced; export the model for inference"
        )
    drop_legacy_attributes(examined)
    given = iter(operands)
    node = ir.node(
        original.op_type,
        [None if value is None else next(given) for value in original.inputs],
        outputs=[result],
        name=original.name,
        doc_string=original.doc_string,
        metadata_props=original.metadata_props,
    )
    node.attributes.update(original.attributes)
    record_rules(node, examined)
    nodes.nodes.append(node)
    return result


def drop_legacy_attributes(examined: ExaminedNode) -> None:
    """Take away what asks for broadcasting, which the version that the model gets does not know.

    Args:
        examined: The node.
    """
    attributes = examined.target.node.attributes
    for name in [name for name in attributes if name not in examined.target.further_attributes]:
        del attributes[name]
