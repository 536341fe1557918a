"""Undoes native enforcement, as far as the model tells how."""

from collections.abc import Mapping, Sequence
from typing import cast

import onnx
import onnx_ir as ir

from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.rewriting.native.record import ORIGINAL, Original, forget, groups
from sonnx_ort.rewriting.options import Enforcement


def restore(model: ir.Model, enforcement: Enforcement) -> None:
    """Put what groups of nodes took the place of in their place.

    Args:
        model: The model; changed in place.
        enforcement: How it says that it was enforced.

    Raises:
        Exception: What the model says of itself makes no sense, in whatever way.
    """
    found = [(nodes, Original.parse(nodes[-1].metadata_props[ORIGINAL])) for nodes in groups(model)]
    # Nodes were recorded as they read what stands behind the inputs, so that goes last.
    for nodes, original in sorted(found, key=lambda group: group[1].node is None):
        values = _values_of(nodes)
        if original.node is None:
            _restore_guarded(nodes, original, values)
        else:
            _restore_node(nodes, original.node, original, values)
    model.opset_imports[STANDARD_DOMAIN] = enforcement.opset
    forget(model)


def _values_of(nodes: Sequence[ir.Node]) -> dict[str, ir.Value]:
    """What a group reads and gives, by name."""
    values = (value for n in nodes for value in (*n.inputs, *n.outputs) if value is not None)
    return {str(value.name): value for value in values}


def _restore_guarded(
    nodes: Sequence[ir.Node], original: Original, values: Mapping[str, ir.Value]
) -> None:
    for name, guarded in original.inputs:
        value, given = values[name], values[guarded]
        if given.is_graph_output():
            value.shape = given.shape
        ir.convenience.replace_all_uses_with(given, value, replace_graph_outputs=True)
    _graph_of(nodes).remove(nodes, safe=True)


def _restore_node(
    nodes: Sequence[ir.Node],
    proto: onnx.NodeProto,
    original: Original,
    values: Mapping[str, ir.Value],
) -> None:
    old = [values[name] for name in proto.output if name]
    new = {name: ir.Value() for name in proto.output if name}
    node = ir.Node(
        proto.domain,
        proto.op_type,
        [values[name] if name else None for name in proto.input],
        [ir.from_proto(attribute) for attribute in proto.attribute],
        outputs=[new.get(name) or ir.Value(name="") for name in proto.output],
        name=proto.name,
        doc_string=proto.doc_string or None,
        metadata_props={entry.key: entry.value for entry in proto.metadata_props},
    )
    _detach_bodies(nodes)
    ir.convenience.replace_nodes_and_values(
        _graph_of(nodes), nodes[-1], nodes, [node], old, list(new.values())
    )
    for before, after in zip(old, new.values(), strict=True):
        after.metadata_props.update(before.metadata_props)
        after.doc_string = before.doc_string
    for name in original.undeclared:
        new[name].type = None
    for name in original.unshaped:
        new[name].shape = None


def _detach_bodies(nodes: Sequence[ir.Node]) -> None:
    """Let what goes with its node read nothing any more."""
    for body in (body for node in nodes for body in subgraphs_of(node)):
        for node in every_node(body):
            for index in range(len(node.inputs)):
                node.replace_input_with(index, None)


def _graph_of(nodes: Sequence[ir.Node]) -> ir.Graph:
    return cast(ir.Graph, nodes[0].graph)
