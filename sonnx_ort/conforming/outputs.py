"""Outputs of nodes that a file leaves out, or that nothing reads."""

from collections.abc import Container, Mapping

import onnx_ir as ir

from sonnx_ort.analysis.schema_parameters import optional_outputs, undefined_outputs
from sonnx_ort.loading.traversal import ValueNames, every_node, label_of
from sonnx_ort.profile.graph import EDGES, UNREAD


def add_outputs(
    model: ir.Model, names: ValueNames, rules: Container[str], without: Container[str]
) -> Mapping[str, tuple[str, ...]]:
    """Make what nodes of the main graph omit, or give in vain, outputs of it, in place.

    Args:
        model: The model.
        names: Its names.
        rules: The rules to keep: Graph.edges for what is omitted, Graph.unread for what is unread.
        without: The labels of nodes, and the names of unread values, that stay as they are.

    Returns:
        The names of all outputs of each node that left some out, by its label; and the name of each
        unread value that is an output now, by itself.
    """
    given: dict[str, tuple[str, ...]] = {}
    for node in model.graph:
        unread = [v for v in unread_outputs(node) if UNREAD.id in rules and v.name not in without]
        given |= {str(value.name): (str(value.name),) for value in unread}
        left_out = []
        if EDGES.id in rules and label_of(node) not in without:
            left_out = _name_outputs(node, model.opset_imports.get(node.domain, 1), names)
        if left_out:
            given[label_of(node)] = tuple(str(output.name) for output in node.outputs)
        model.graph.outputs.extend([*unread, *left_out])
    return given


def unread_outputs(node: ir.Node) -> list[ir.Value]:
    """The named outputs of a node that nothing reads, if something reads another one."""
    read = [bool(output.uses()) or output.is_graph_output() for output in node.outputs]
    pairs = zip(node.outputs, read, strict=True)
    return [output for output, is_read in pairs if output.name and not is_read] if any(read) else []


def _name_outputs(node: ir.Node, version: int, names: ValueNames) -> list[ir.Value]:
    """Name the outputs that a node omits, and give them."""
    left_out = [
        each
        for each in optional_outputs(node.op_type, version, node.domain)
        if each.position >= len(node.outputs) or not node.outputs[each.position].name
    ]
    if not left_out:
        return []
    node.resize_outputs(max(len(node.outputs), left_out[-1].position + 1))
    for parameter in left_out:
        name = names.fresh(f"{node.outputs[0].name}_{parameter.name.lower()}")
        node.outputs[parameter.position].name = name
    return [node.outputs[parameter.position] for parameter in left_out]


def omit_outputs(model: ir.Model) -> None:
    """Leave out the outputs of nodes that no draft defines and nothing reads, in place."""
    for node in every_node(model.graph):
        undefined = undefined_outputs(
            node.op_type, model.opset_imports.get(node.domain, 1), node.domain
        )
        for parameter in undefined:
            output = (
                node.outputs[parameter.position] if parameter.position < len(node.outputs) else None
            )
            if output is not None and not output.uses() and not output.is_graph_output():
                output.name, output.type, output.shape = "", None, None
        given = [position for position, output in enumerate(node.outputs) if output.name]
        if undefined and given:
            node.resize_outputs(given[-1] + 1)
