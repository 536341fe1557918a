"""The nodes of an enforced model: which of them run, and by which names the original knows them."""

from collections.abc import Mapping, Set

import onnx
from onnx import GraphProto, NodeProto

from sonnx_ort.checker.graphs import bodies_of, graphs_of
from sonnx_ort.checker.strict_reading import defined_in
from sonnx_ort.guards.zeros import SIGNED


def needed(graph: GraphProto, hidden: Set[str]) -> set[str]:
    """The results of nodes that run because their elements are needed, or nothing reads them.

    ONNX Runtime may know the shape of another result, and then does not run its node.

    `hidden` has the values whose shapes are known only in a run.
    """
    graphs = list(graphs_of(graph))
    nodes = {name: node for each in graphs for node in each.node for name in node.output}
    owners = {
        name: node.output[0]
        for node in nodes.values()
        for body in bodies_of(node)
        for inner in body.node
        for name in inner.output
    }
    read = {name for node in nodes.values() for name in node.input}
    read.update(value.name for each in graphs for value in each.output)
    waiting = [value.name for value in graph.output]
    waiting += [
        name
        for name, node in nodes.items()
        if node.op_type != "Shape" and read.isdisjoint(node.output)
    ]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in found:
            node = nodes[name]
            found.update(node.output)
            known = node.op_type == "Shape" and hidden.isdisjoint(node.input)
            waiting += [] if known else node.input
            waiting += [value.name for body in bodies_of(node) for value in body.output]
            waiting += [owners[name]] if name in owners else []
    return found


def with_original_names(
    model: onnx.ModelProto, values: Set[str]
) -> tuple[onnx.ModelProto, Mapping[str, str]]:
    """Give the results of nodes their names again that what stands after them has taken.

    That is a guard, or sets the signs of zeros.

    Whatever the new names are, the model means the same.

    Returns:
        The model, and the values that are read in place of others.
    """
    nodes = [node for graph in graphs_of(model.graph) for node in graph.node]
    producers = {name: node for node in nodes for name in node.output}
    names: dict[str, str] = {}
    for name in producers.keys() & values:
        given = _named_inside(name, producers)
        if given is not None and given in producers and given not in values:
            names |= {given: name, name: f"{given}'"}
    new = set(names.values())
    defined = {name for graph in graphs_of(model.graph) for name in defined_in(graph)}
    if not names or len(new) < len(names) or not defined.isdisjoint(new - names.keys()):
        return model, {}
    renamed = onnx.ModelProto()
    renamed.CopyFrom(model)
    for graph in graphs_of(renamed.graph):
        for value in (*graph.output, *graph.value_info):
            value.name = names.get(value.name, value.name)
        for node in graph.node:
            for listed in (node.input, node.output):
                listed[:] = [names.get(name, name) for name in listed]
    return renamed, {new: name for name, new in names.items() if new not in names}


def _named_inside(name: str, producers: Mapping[str, NodeProto]) -> str | None:
    """The result that a guard may copy, or that may get signs of zeros, by its name; or None."""
    last = producers[name]
    if last.op_type == "Reshape" and last.input[0].startswith(f"{name}_unchecked"):
        return str(last.input[0])
    for each in last.input if last.op_type in {"Where", "Mul"} else ():
        signed = each in producers and producers[each].op_type in SIGNED
        if signed and each.startswith(f"{name}_result"):
            return str(each)
    return None
