"""Which nodes the outputs of a graph depend on."""

from collections.abc import Mapping, Sequence

import onnx

Functions = Mapping[tuple[str, str], onnx.FunctionProto]
"""Model-local functions by domain and name."""


def needed_nodes(
    nodes: Sequence[onnx.NodeProto], wanted: Sequence[str], functions: Functions
) -> frozenset[int]:
    """The positions of the nodes that outputs depend on.

    ONNX Runtime leaves out what only the shape is needed of, where it knows that shape.
    """
    return _needed(nodes, wanted, functions)[0]


def _needed(
    nodes: Sequence[onnx.NodeProto], wanted: Sequence[str], functions: Functions
) -> tuple[frozenset[int], set[str]]:
    """The positions, and the names of all values whose elements are needed."""
    names, needed = set(wanted), set()
    for index in reversed(range(len(nodes))):
        if names.intersection(nodes[index].output):
            needed.add(index)
            names |= _read(nodes[index], functions)
    return frozenset(needed), names


def _read(node: onnx.NodeProto, functions: Functions) -> set[str]:
    """The names of the values whose elements a node reads, in its subgraphs too."""
    if node.op_type in ("Shape", "Size"):
        return set()
    function = functions.get((node.domain, node.op_type))
    if function is not None:
        _, inner = _needed(function.node, function.output, functions)
        given = zip(node.input, function.input, strict=True)
        return {argument for argument, parameter in given if parameter in inner}
    names = set(node.input)
    for body in _subgraphs(node):
        names |= _needed(body.node, [output.name for output in body.output], functions)[1]
    return names


def _subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def operators_within(node: onnx.NodeProto, functions: Functions) -> set[str]:
    """The operator of a node, and those in its subgraphs and in the functions that it calls."""
    function = functions.get((node.domain, node.op_type))
    inner = [each for body in _subgraphs(node) for each in body.node]
    inner += function.node if function is not None else []
    return {node.op_type}.union(*(operators_within(each, functions) for each in inner))
