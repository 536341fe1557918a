"""Traverses a model and the subgraphs of If, Loop and Scan: graphs, nodes, values."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import onnx
import onnx_ir as ir

_GRAPH_TYPES = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


def all_graphs(proto: onnx.ModelProto) -> list[onnx.GraphProto]:
    """The main graph and every graph below it or below a model-local function, at any depth."""
    graphs = [proto.graph, *subgraphs(proto.graph.node)]
    for function in proto.functions:
        graphs += subgraphs(function.node)
    return graphs


def all_nodes(proto: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Every node of every graph and of every model-local function."""
    return graphs_and_nodes(proto)[1]


def graphs_and_nodes(proto: onnx.ModelProto) -> tuple[list[onnx.GraphProto], list[onnx.NodeProto]]:
    """What `all_graphs` and `all_nodes` give, in one walk."""
    graphs = all_graphs(proto)
    return graphs, [node for owner in chain(graphs, proto.functions) for node in owner.node]


def nodes_within(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """These nodes of one graph or function, and every node in their subgraphs at any depth."""
    return [*nodes, *(node for graph in subgraphs(nodes) for node in graph.node)]


def all_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor: initializers, those in attributes, and the parts of sparse ones."""
    graphs, nodes = graphs_and_nodes(proto)
    for graph in graphs:
        yield from graph.initializer
        yield from _parts(graph.sparse_initializer)
    of_functions = (
        attribute for function in proto.functions for attribute in function.attribute_proto
    )
    of_nodes = (attribute for node in nodes for attribute in node.attribute)
    for attribute in chain(of_functions, of_nodes):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        if attribute.HasField("sparse_tensor"):
            yield from _parts([attribute.sparse_tensor])
        yield from _parts(attribute.sparse_tensors)


def _parts(tensors: Iterable[onnx.SparseTensorProto]) -> Iterator[onnx.TensorProto]:
    for tensor in tensors:
        yield tensor.values
        yield tensor.indices


def subgraphs(nodes: Iterable[onnx.NodeProto]) -> list[onnx.GraphProto]:
    """Every graph in an attribute of these nodes of one graph or function, at any depth."""
    found: list[onnx.GraphProto] = []
    pending: list[Iterable[onnx.NodeProto]] = [nodes]
    while pending:
        bodies = [graph for node in pending.pop() for graph in bodies_of(node)]
        found += bodies
        pending += [graph.node for graph in bodies]
    return found


def bodies_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The graphs in the attributes of a node such as If or Loop."""
    bodies: list[onnx.GraphProto] = []
    for attribute in node.attribute:
        kind = attribute.type
        if kind == onnx.AttributeProto.GRAPH:
            bodies.append(attribute.g)
        elif kind == onnx.AttributeProto.GRAPHS:
            bodies += attribute.graphs
    return bodies


def every_node(graph: ir.Graph | ir.Function) -> list[ir.Node]:
    """Every node of a graph or function and of its subgraphs, each before the nodes inside it.

    onnx_ir offers the same, but takes more than twice as long.
    """
    return _nodes_and_bodies(graph)[0]


def every_graph(graph: ir.Graph) -> list[ir.Graph]:
    """A graph and its subgraphs, each before those inside it."""
    return [graph, *_nodes_and_bodies(graph)[1]]


def _nodes_and_bodies(graph: ir.Graph | ir.Function) -> tuple[list[ir.Node], list[ir.Graph]]:
    """Every node at any depth, and all subgraphs in the order of the nodes that have them."""
    nodes: list[ir.Node] = []
    bodies: list[ir.Graph] = []
    for node in graph:
        nodes.append(node)
        if node.attributes.data and (own := subgraphs_of(node)):
            bodies += own
            for body in own:
                inside, deeper = _nodes_and_bodies(body)
                nodes += inside
                bodies += deeper
    return nodes, bodies


def subgraphs_of(node: ir.Node) -> Sequence[ir.Graph]:
    """The subgraphs of a node such as If or Loop."""
    # `data`, because a view of the attributes takes most of the time.
    attributes = node.attributes.data.values()
    for attribute in attributes:
        if attribute.type in _GRAPH_TYPES:
            return [body for attribute in attributes for body in subgraphs_in(attribute)]
    return ()


def subgraphs_in(attribute: ir.Attr) -> tuple[ir.Graph, ...]:
    """The subgraphs in one attribute of a node; none for a reference to a function's attribute."""
    if attribute.is_ref():
        return ()
    match attribute.type:
        case ir.AttributeType.GRAPH:
            return (attribute.as_graph(),)
        case ir.AttributeType.GRAPHS:
            return tuple(attribute.as_graphs())
        case _:
            return ()


def label_of(node: ir.Node | onnx.NodeProto) -> str:
    """The name of a node in messages: its own, or that of its first output that has one."""
    if node.name:
        return str(node.name)
    outputs: Iterable[str | None] = (
        node.output if isinstance(node, onnx.NodeProto) else (value.name for value in node.outputs)
    )
    return f"(output {next(filter(None, outputs), 'none')})"


def in_words(node: ir.Node | onnx.NodeProto) -> str:
    """The operator and the label of a node."""
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f"{operator} '{label_of(node)}'"


class ValueNames:
    """The names of all values and nodes of a model; creates new, unused names."""

    def __init__(self, model: ir.Model) -> None:
        """Collect the names, including those in subgraphs."""
        self._uses = Counter(value.name for value in defined_values(model.graph))
        self._nodes = {node.name for node in every_node(model.graph)}
        self._numbers: Counter[str] = Counter()
        self._node_numbers: Counter[str] = Counter()

    def repeated(self, name: str | None) -> bool:
        """Whether more than one value has this name."""
        return self._uses[name] > 1

    def fresh(self, name: str) -> str:
        """Reserve a value name and return it, with a number appended if it is taken."""
        candidate = name
        while candidate in self._uses:
            self._numbers[name] += 1
            candidate = f"{name}_{self._numbers[name] + 1}"
        self._uses[candidate] += 1
        return candidate

    def fresh_for_node(self, name: str) -> str:
        """Reserve a node name and return it, with a number appended if it is taken.

        ONNX Runtime rejects a graph in which two nodes have the same name.
        """
        candidate = name
        while candidate in self._nodes:
            self._node_numbers[name] += 1
            candidate = f"{name} ({self._node_numbers[name] + 1})"
        self._nodes.add(candidate)
        return candidate


def defined_values(graph: ir.Graph) -> list[ir.Value]:
    """Every value that a graph or its subgraphs define: inputs, initializers, node outputs.

    The order is the same for two graphs with the same nodes.
    """
    nodes, bodies = _nodes_and_bodies(graph)
    values = [value for node in nodes for value in node.outputs]
    for inner in (graph, *bodies):
        # An initializer can also be an input.
        values += dict.fromkeys(chain(inner.inputs, inner.initializers.values()))
    return values


Pending = list[tuple[onnx.NodeProto, frozenset[str]]]
"""Nodes that are still to be looked at, each with the names that are defined around it."""


def names_needed(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads, also in its subgraphs, but for those that these define."""
    return _names_needed([(node, frozenset())])


def nodes_needed(nodes: Sequence[onnx.NodeProto], results: Iterable[str]) -> list[onnx.NodeProto]:
    """The nodes of a graph that some values need, in order: their producers, and theirs in turn."""
    producers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needed, pending = set[int](), list(results)
    while pending:
        index = producers.get(pending.pop())
        if index is not None and index not in needed:
            needed.add(index)
            pending += names_needed(nodes[index])
    return [nodes[index] for index in sorted(needed)]


def names_captured(body: onnx.GraphProto) -> Iterator[str]:
    """The names that a subgraph reads and does not define."""
    pending: Pending = []
    yield from _outputs_of(body, frozenset(), pending)
    yield from _names_needed(pending)


def _names_needed(pending: Pending) -> Iterator[str]:
    while pending:
        node, known = pending.pop()
        yield from (name for name in node.input if name and name not in known)
        for body in bodies_of(node):
            yield from _outputs_of(body, known, pending)


def _outputs_of(body: onnx.GraphProto, known: frozenset[str], pending: Pending) -> Iterator[str]:
    """The outputs of a subgraph that it does not define; its nodes become pending."""
    inside = known | frozenset(_defined(body))
    yield from (value.name for value in body.output if value.name not in inside)
    pending += [(node, inside) for node in body.node]


def _defined(body: onnx.GraphProto) -> Iterable[str]:
    made = (name for node in body.node for name in node.output)
    sparse = (tensor.values.name for tensor in body.sparse_initializer)
    return chain((value.name for value in (*body.input, *body.initializer)), sparse, made)
