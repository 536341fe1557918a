"""The attributes of a node of a file in plain Python."""

from typing import Any

import onnx
from onnx import helper

GRAPHS = frozenset({onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS})
"""The types of attributes that are the bodies of a node."""


def plain_value(attribute: onnx.AttributeProto, errors: str = "strict") -> Any:
    """An attribute as a number, a text, or a list of them; a tensor or a graph as it is.

    Args:
        attribute: The attribute, which refers to no other.
        errors: What happens to a text that is no UTF-8, as for `bytes.decode`.
    """
    value = helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [each.decode(errors=errors) for each in value]
    return value.decode(errors=errors) if attribute.type == onnx.AttributeProto.STRING else value
