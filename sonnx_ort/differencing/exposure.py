"""Makes the values between nodes outputs, of a model or of its first nodes."""

from collections.abc import Iterator

import onnx

from sonnx_ort.loading.traversal import all_nodes


def names_of_results(node: onnx.NodeProto) -> Iterator[str]:
    """The names of the values that a node computes.

    Args:
        node: The node.
    """
    return filter(None, node.output)


def exposed(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """Copy a model's first nodes, with every value that they compute as an output.

    Values inside subgraphs cannot be outputs, nor can those inside functions.

    Args:
        model: The model; not modified.
        count: How many nodes of its graph are kept.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    del graph.node[count:]
    # What the file declares of a value need not be so; ONNX Runtime finds the types itself.
    graph.ClearField("value_info")
    graph.ClearField("output")
    for node in graph.node:
        for name in names_of_results(node):
            graph.output.add(name=name)
    return copy


def count_inner_nodes(model: onnx.ModelProto) -> int:
    """Count the nodes whose values cannot be outputs: those in subgraphs and functions.

    Args:
        model: The model.
    """
    return sum(1 for _ in all_nodes(model)) - len(model.graph.node)
