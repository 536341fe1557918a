"""Values of two models that stand at the same place, though their names differ.

Exporters, quantizers and optimizers give other names. The place of a value is the sequence of
operators that leads to it from inputs, constants and values with one name in both models.
"""

import hashlib
from collections.abc import Iterator, Mapping

import onnx

_CONSTANT = "a constant"
_QUANTIZED = "quantized "
_LIMITING = {"Relu", "Clip"}
"""Operators that quantizers leave out, because what they limit is not in the range of integers."""


def by_position(one: onnx.ModelProto, other: onnx.ModelProto) -> dict[str, str]:
    """The values of two models that have other names at the same place.

    Outputs are matched in their order if both models have as many. Then values are that lie at one
    place; several, such as products of one value with several constants, in the order of the nodes
    if there are as many in both. What constants and attributes are does not count.

    Returns:
        The names in the second model by those in the first. No name is in both models.
    """
    graphs = one.graph, other.graph
    first, second = (
        {name: None for node in graph.node for name in node.output if name} for graph in graphs
    )
    found: dict[str, str] = {}
    outputs = [[value.name for value in graph.output] for graph in graphs]
    if len(outputs[0]) == len(outputs[1]):
        own = first.keys() - second, second.keys() - first
        found = {a: b for a, b in zip(*outputs, strict=True) if a in own[0] and b in own[1]}
    shared = {name: f"value {name}" for name in first if name in second}
    shared |= {name: f"value {name}" for name in found}
    also = shared | {b: shared[a] for a, b in found.items()}
    places = _by_place(graphs[0], shared), _by_place(graphs[1], also)
    for place, names in places[0].items():
        others = places[1].get(place, [])
        if len(names) == len(others):
            found |= zip(names, others, strict=True)
    return found


def _by_place(graph: onnx.GraphProto, known: Mapping[str, str]) -> dict[str, list[str]]:
    """The values of a graph that are not known, in the order of the nodes, by their places."""
    found: dict[str, list[str]] = {}
    for name, place in _places(graph, known):
        if name not in known:
            found.setdefault(place, []).append(name)
    return found


def _places(graph: onnx.GraphProto, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The place of each value that a node computes, and does not only pass on."""
    places = {value.name: f"input {value.name}" for value in graph.input}
    places |= {tensor.name: _CONSTANT for tensor in graph.initializer}
    for node in graph.node:
        read = [places.get(name, name) for name in node.input]
        passed = _passed(node.op_type, read)
        for number, name in enumerate(filter(None, node.output)):
            text = repr((node.domain, node.op_type, number, read))
            place = hashlib.sha256(text.encode()).hexdigest()
            places[name] = known.get(name, passed or place)
            if not passed or node.op_type in _LIMITING:
                yield name, place


def _passed(operator: str, read: list[str]) -> str:
    """The place of what an operator passes on, in other numbers if it is quantized, or empty."""
    match operator, read:
        case "Constant", _:
            return _CONSTANT
        case "QuantizeLinear", [place, *_]:
            return _QUANTIZED + place
        case "DequantizeLinear", [place, *_] if place == _CONSTANT or place.startswith(_QUANTIZED):
            return place.removeprefix(_QUANTIZED)
        case _, [place, *_] if operator == "Identity" or operator in _LIMITING:
            return place
    return ""
