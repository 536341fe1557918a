"""The graphs of a file: their bodies, the names of their values, and what they claim of shapes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

import onnx
from onnx import AttributeProto, GraphProto, NodeProto

from sonnx_ort.checker.reading import defined_in
from sonnx_ort.kernel.sizes import Sizes, require


def bodies_of(node: NodeProto) -> list[GraphProto]:
    """The bodies of a node."""
    return [each.g for each in node.attribute if each.type == AttributeProto.GRAPH]


def on_the_way(
    value: str, producers: Mapping[str, NodeProto], known: Set[str] = frozenset()
) -> list[str]:
    """A value and all on which it depends, but for those that are known and what is behind them.

    Inputs and constants have no producer.
    """
    waiting, seen = [value], dict[str, None]()
    while waiting:
        name = waiting.pop()
        if name not in seen and name not in known:
            seen[name] = None
            node = producers.get(name)
            if node is not None:
                waiting += [each.name for body in bodies_of(node) for each in body.output]
                # The shape of a condition decides no shape of a result.
                waiting += filter(None, () if node.op_type == "If" else node.input)
    return list(seen)


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


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for body in bodies_of(node):
            yield from graphs_of(body)


def claimed_shapes(model: onnx.ModelProto) -> dict[str, list[list[int | None]]]:
    """The shapes that a file claims of values, by name; None for a size that it leaves open."""
    claims: dict[str, list[list[int | None]]] = {}
    for graph in graphs_of(model.graph):
        for value in (*graph.value_info, *graph.output, *graph.input):
            if value.type.tensor_type.HasField("shape"):
                dimensions = value.type.tensor_type.shape.dim
                # ONNX Runtime takes a negative size for an open one.
                known = [d.HasField("dim_value") and d.dim_value >= 0 for d in dimensions]
                sizes = zip(dimensions, known, strict=True)
                claim = [d.dim_value if is_known else None for d, is_known in sizes]
                claims.setdefault(value.name, []).append(claim)
    return claims


def require_claim(value: str, claim: Sequence[int | None], shape: Sizes) -> None:
    """Reject a claim that is not established."""
    pairs = zip(claim, shape, strict=False)
    true = len(claim) == len(shape) and all(size in (None, own) for size, own in pairs)
    require(true, f"the file says that '{value}' has the shape {[*claim]}")


Names = Mapping[str, list[str]]
"""The new names of each name, in the order of the file."""


def with_unique_names(model: onnx.ModelProto) -> tuple[onnx.ModelProto, Names]:
    """Rename the values that share a name, but for the first of them.

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
