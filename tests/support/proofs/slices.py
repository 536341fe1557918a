"""Parts of a graph, cut at values."""

from collections.abc import Collection

import onnx


def computing(
    model: onnx.ModelProto, wanted: Collection[str], given: Collection[str] = ()
) -> onnx.ModelProto:
    """A model with those nodes alone that compute some of its values.

    Args:
        model: The model.
        wanted: The names of the values.
        given: The names of values that count as inputs.
    """
    names = set(wanted)
    nodes = []
    for node in reversed(model.graph.node):
        made = set(node.output)
        if names & made and not made & set(given):
            nodes.append(node)
            names.update(node.input)
    part = onnx.ModelProto()
    part.CopyFrom(model)
    del part.graph.node[:]
    part.graph.node.extend(reversed(nodes))
    return part


def depending(model: onnx.ModelProto, given: Collection[str]) -> set[str]:
    """The values that are computed from some values, and these."""
    names = set(given)
    for node in model.graph.node:
        if names & set(node.input):
            names.update(node.output)
    return names
