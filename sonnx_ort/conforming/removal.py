"""Removes from a graph what computes nothing that is read, and what the file claims falsely.

No result depends on either: an output of the graph reads no dead node, a Dropout in the mode of
inference gives back its operand, and ONNX Runtime computes the same whatever shape a file claims of
a value that a node computes: where it finds another one it warns, and keeps its own.
"""

from collections.abc import Container, Sequence

import onnx_ir as ir

from sonnx_ort.knowledge.declarations import constant_tensor, declared_shape, declared_type
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.traversal import defined_values, every_node, subgraphs_of
from sonnx_ort.obligations.findings import dead_nodes
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import Shape, contradict

_TRAINING_MODE = 2
_MASK = 1
_WITHOUT_TRAINING = 7
"""The first version of Dropout that trains only if an input says so, which came with version 12."""


def remove_dead_nodes(graph: ir.Graph) -> None:
    """Remove the nodes that contribute to no output of the graph, in place."""
    # What the subgraphs of a dead node read is dead once that node is gone.
    while dead := dead_nodes(every_node(graph)):
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
    for value in unread(graph):
        if isinstance(value, ir.Value) and value not in unread_before and value.graph is not None:
            del value.graph.initializers[str(value.name)]


def _remove(nodes: Sequence[ir.Node]) -> None:
    """Remove nodes that nothing reads but each other, given in graph order."""
    for node in reversed(nodes):
        if isinstance(node.graph, ir.Graph):
            _detach_bodies(node)
            node.graph.remove(node, safe=True)


def _detach_bodies(node: ir.Node) -> None:
    """Let the nodes in a node's subgraphs read nothing, so that what they read is unread."""
    for inner in (inner for body in subgraphs_of(node) for inner in every_node(body)):
        for position in range(len(inner.inputs)):
            inner.replace_input_with(position, None)


def remove_dropouts(model: ir.Model) -> None:
    """Let readers of a Dropout in the mode of inference read its operand, in place.

    One whose mask is read stays; one that gives an output of the graph becomes an Identity, which
    gives its operand under that name.
    """
    for node in every_node(model.graph):
        if (node.domain, node.op_type) != (STANDARD_DOMAIN, "Dropout") or not _infers(node, model):
            continue
        if any(mask.uses() or mask.is_graph_output() for mask in node.outputs[_MASK:]):
            continue
        operand, result = node.inputs[0], node.outputs[0]
        if operand is None or not isinstance(node.graph, ir.Graph):
            continue
        if result.is_graph_output():
            kept = ir.node("Identity", [operand], outputs=[ir.Value()], name=node.name)
            ir.convenience.replace_nodes_and_values(
                node.graph, node, [node], [kept], [result], [kept.outputs[0]]
            )
        else:
            ir.convenience.replace_all_uses_with(result, operand)
            node.graph.remove(node, safe=True)


def _infers(node: ir.Node, model: ir.Model) -> bool:
    """Whether a Dropout is certainly in the mode of inference."""
    version = model.opset_imports[STANDARD_DOMAIN]
    if version < _WITHOUT_TRAINING:
        return node.attributes.get_int("is_test", 0) != 0
    mode = node.inputs[_TRAINING_MODE] if len(node.inputs) > _TRAINING_MODE else None
    if mode is None:
        return True
    tensor = constant_tensor(mode)
    return tensor is not None and not tensor.numpy().any()


def correct_false_claims(model: ir.Model, facts: Facts) -> None:
    """Replace declared types and shapes that are not what is certain, in place.

    Of the outputs of the model only sizes that no run gives are replaced; they are told by the
    interface to whoever runs the model. ONNX Runtime loads no model with an output of a false type.
    """
    outputs = frozenset(model.graph.outputs)
    for value in defined_values(model.graph):
        if value.is_graph_input():
            continue
        actual, stated = facts.element_type(value), declared_type(value)
        if value not in outputs and None not in (actual, stated) and actual != stated:
            value.type = ir.TensorType(ir.DataType[str(actual).upper()])
        shape, claimed = facts.shape(value), declared_shape(value)
        if shape is not None and contradict(claimed, shape):
            value.shape = ir.Shape(_corrected(shape, claimed))


def _corrected(shape: Shape, claimed: Shape | None) -> list[int | str | None]:
    """The certain sizes, and what is claimed of the others if the rank is right."""
    kept = claimed if claimed is not None and len(claimed) == len(shape) else (None,) * len(shape)
    return [size if isinstance(size, int) else own for size, own in zip(shape, kept, strict=True)]
