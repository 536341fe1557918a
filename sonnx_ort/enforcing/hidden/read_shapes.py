"""Keeps the checks of what only Shapes read.

If ONNX Runtime knows all sizes of a value, it removes what nothing but a Shape of it reads: the
node, all in front of it, and their checks. So where nothing but Shapes reads what a checked node
computes, they read a value whose shape is hidden.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import cast

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.values.declarations import declared_type
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.enforcing.hidden.shapes import LOOP_OF_BFLOAT16, hide_shape
from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.loading.traversal import GraphIndex, nodes_behind, producers, subgraphs_of
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.rule import Status


def values_read_for_shapes(index: GraphIndex, examination: Examination) -> tuple[ir.Value, ...]:
    """The values that only Shapes read, after nodes that a run has to check, sorted by name."""
    checked = {
        examined.ruled.node
        for examined in examination.nodes
        if any(o.rule.in_run and o.status is Status.RUNTIME for o in examined.obligations)
    }
    checked.update(value.node for value in examination.checked_values if value.node is not None)
    nodes = index.nodes
    if not any(_reads_shape(node, 0) for node in nodes):
        return ()
    owners = {body: node for node in nodes for body in subgraphs_of(node)}
    unneeded = checked - _needed(index.graphs[0], nodes, owners)
    return tuple(sorted(_read_after(unneeded, owners), key=lambda value: str(value.name)))


def oldest_opset_to_hide(values: Iterable[ir.Value], facts: Facts) -> int:
    """The oldest opset in which the shapes of values can be hidden."""
    types = {facts.element_type(value) or declared_type(value) for value in values}
    return LOOP_OF_BFLOAT16 if ElementType.BFLOAT16 in types else 1


def hide_from_shapes(values: Iterable[ir.Value], groups: Groups) -> None:
    """Let Shapes read values whose shapes are known only in a run."""
    for value in values:
        nodes, readers = groups.nodes(str(value.name)), tuple(value.uses())
        given = hide_shape(nodes, value)
        given.type = value.type
        producer = cast(ir.Node, value.producer())
        cast(ir.Graph, producer.graph).insert_after(producer, nodes.nodes)
        for node, index in readers:
            if _reads_shape(node, index):
                node.replace_input_with(index, given)
        groups.record_after(nodes, {value: given})


def _needed(
    graph: ir.Graph, nodes: Iterable[ir.Node], owners: dict[ir.Graph, ir.Node]
) -> set[ir.Node]:
    """The nodes whose elements a run needs, or which nothing reads: ONNX Runtime keeps both."""

    def before(node: ir.Node) -> Iterator[ir.Node]:
        read = [v for i, v in enumerate(node.inputs) if not _reads_shape(node, i)]
        yield from producers([*read, *(v for body in subgraphs_of(node) for v in body.outputs)])
        if (owner := owners.get(cast(ir.Graph, node.graph))) is not None:
            yield owner

    return nodes_behind([*producers(graph.outputs), *filter(_is_unread, nodes)], before)


def _read_after(nodes: Collection[ir.Node], owners: dict[ir.Graph, ir.Node]) -> Iterator[ir.Value]:
    """The operands of all Shapes that nodes lead to, each once."""
    found, seen, given = list(nodes), set(nodes), set[ir.Value]()
    while found:
        node = found.pop()
        following = [use.node for output in node.outputs for use in output.uses()]
        if any(output.is_graph_output() for output in node.outputs):
            following += filter(None, [owners.get(cast(ir.Graph, node.graph))])
        for output in node.outputs:
            if output not in given and any(_reads_shape(*use) for use in output.uses()):
                given.add(output)
                yield output
        found += [each for each in dict.fromkeys(following) if each not in seen]
        seen.update(following)


def _is_unread(node: ir.Node) -> bool:
    """Whether nothing reads a node; ONNX Runtime keeps it, unless it is a Shape."""
    read = any(output.uses() or output.is_graph_output() for output in node.outputs)
    return not read and not _reads_shape(node, 0)


def _reads_shape(node: ir.Node, index: int) -> bool:
    return node.op_type == "Shape" and node.domain == STANDARD_DOMAIN and index == 0
