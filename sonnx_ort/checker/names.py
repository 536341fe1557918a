"""Gives every value of a model a name of its own, where bodies beside each other share names."""

from collections import Counter
from collections.abc import Mapping

import onnx
from onnx import GraphProto

from sonnx_ort.checker.node import bodies_of, graphs_of
from sonnx_ort.checker.reading import defined_in

Names = Mapping[str, list[str]]
"""The new names of each name, in the order of the file."""


def with_unique_names(model: onnx.ModelProto) -> tuple[onnx.ModelProto, Names]:
    """Rename the values that share a name, but for the first of them.

    Args:
        model: The model; it is not changed.

    Returns:
        The model, or a copy if values had to be renamed; and the names of all values.
    """
    count = Counter(name for graph in graphs_of(model.graph) for name in defined_in(graph))
    names: dict[str, list[str]] = {}
    if max(count.values(), default=0) > 1:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        _rename(copy.graph, {}, names, {*count})
        return copy, names
    return model, {name: [name] for name in count}


def _rename(
    graph: GraphProto, outer: Mapping[str, str], names: dict[str, list[str]], taken: set[str]
) -> None:
    scope = {**outer}
    for name in defined_in(graph):
        new = name
        while name in names and new in taken:
            new = f"{new}'"
        taken.add(new)
        names.setdefault(name, []).append(new)
        scope[name] = new
    for value in (*graph.input, *graph.initializer, *graph.output, *graph.value_info):
        value.name = scope.get(value.name, value.name)
    for tensor in graph.sparse_initializer:
        tensor.values.name = scope[tensor.values.name]
    for node in graph.node:
        for values in (node.input, node.output):
            values[:] = [scope.get(name, name) for name in values]
        for body in bodies_of(node):
            _rename(body, scope, names, taken)
