"""Whether graphs have the same nodes, however what they give is called."""

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import helper, numpy_helper

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
