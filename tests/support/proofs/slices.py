"""Parts of a graph, cut at values, and whether graphs have the same nodes."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import onnx
from onnx import helper, numpy_helper


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


_SPOKEN = " breaks the "
"""What the name of a guard says, which people are to read."""


def up_to_names(
    nodes: Sequence[onnx.NodeProto], given: Mapping[str, str], *, codes: bool = True
) -> list[object]:
    """What nodes are, but for the names of what they give.

    Args:
        nodes: The nodes.
        given: What the values are that they read and do not give, by name.
        codes: Whether the codes of rules, and the names of guards, count.
    """
    return list(_compared(nodes, given, codes))


def _compared(
    nodes: Sequence[onnx.NodeProto], known: Mapping[str, str], codes: bool
) -> Iterator[object]:
    names = dict(known)
    for number, node in enumerate(nodes):
        read = [names[name] if name else "" for name in node.input]
        names.update((name, f"{number}, {place}") for place, name in enumerate(node.output))
        said = node.name if codes and _SPOKEN in node.name else ""
        told = codes or not any(name.endswith("_code") for name in node.output)
        attributes = [_content(each, names, codes) for each in node.attribute if told]
        yield node.domain, node.op_type, said, read, attributes


def _content(attribute: onnx.AttributeProto, names: Mapping[str, str], codes: bool) -> object:
    if attribute.type == onnx.AttributeProto.GRAPH:
        body = attribute.g
        inner = {value.name: f"given {place}" for place, value in enumerate(body.input)}
        own = names | inner
        return attribute.name, list(_compared(body.node, own, codes)), len(body.output)
    if attribute.type == onnx.AttributeProto.TENSOR:
        tensor = attribute.t
        return attribute.name, tensor.data_type, numpy_helper.to_array(tensor).tolist()
    return attribute.name, helper.get_attribute_value(attribute)
