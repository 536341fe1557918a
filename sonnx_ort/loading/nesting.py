"""How deep a model nests: readers of protocol buffers take messages in at most 100 others.

A graph inside another, as in an If, costs three: its node, the node's attribute, and the graph.
"""

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.serialization import layered_types, type_layers
from sonnx_ort.loading.traversal import bodies_of

DEEPEST = 100
"""The depth of messages that readers take."""

_OF_GRAPH = 3
_OF_TYPE = 2
_OF_OTHERS = 12
"""More than all messages around the main graph, and inside the innermost but for types."""


def may_be_too_deep(proto: onnx.ModelProto) -> bool:
    """Whether readers may refuse a model; it is quick, and sure only of one that is not deep."""
    types = max((len(list(type_layers(declared))) for declared in layered_types(proto)), default=0)
    return _OF_GRAPH * nested_graphs(proto) + _OF_TYPE * types + _OF_OTHERS > DEEPEST


def nested_graphs(proto: onnx.ModelProto) -> int:
    """How many graphs are inside one another, as those of an If in a branch of another If."""
    level = [proto.graph.node, *(function.node for function in proto.functions)]
    depth = -1
    while level:
        level = [body.node for nodes in level for node in nodes for body in bodies_of(node)]
        depth += 1
    return depth


def require_readable(proto: onnx.ModelProto) -> None:
    """Check that readers take a model, as deep as it is.

    Raises:
        InvalidModel: It is too deep.
    """
    if may_be_too_deep(proto):
        try:
            onnx.ModelProto.FromString(proto.SerializeToString())
        except Exception as error:
            raise too_deep(proto) from error


def too_deep(proto: onnx.ModelProto) -> InvalidModel:
    """The error for a model that readers refuse."""
    return InvalidModel(
        f"the model nests {nested_graphs(proto)} graphs in one another, as branches of If in "
        f"branches of If, and messages more than {DEEPEST} deep, which no reader of ONNX takes; "
        "nest less"
    )
