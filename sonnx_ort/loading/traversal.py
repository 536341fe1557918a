"""Traverses a loaded model and the subgraphs of If, Loop and Scan: graphs, nodes, values."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import onnx
import onnx_ir as ir

_GRAPH_TYPES = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


@dataclass(frozen=True, slots=True)
class GraphIndex:
    """What a graph and its subgraphs have, from one walk.

    An edit that adds or removes a node or a value makes it stale; `index_of` makes another one.
    What computes and what reads a value, the value says itself.

    Attributes:
        graphs: The graph and its subgraphs, each before those inside it.
        nodes: Their nodes, each before the nodes inside it.
        values: What they define: inputs, initializers, outputs of nodes.
    """

    graphs: Sequence[ir.Graph]
    nodes: Sequence[ir.Node]
    values: Sequence[ir.Value]


def index_of(graph: ir.Graph) -> GraphIndex:
    """Walk a graph and its subgraphs.

    The order of the values is the same for two graphs with the same nodes.
    """
    nodes, bodies = _nodes_and_bodies(graph)
    graphs = [graph, *bodies]
    values = [value for node in nodes for value in node.outputs]
    for inner in graphs:
        # An initializer can also be an input.
        values += dict.fromkeys(chain(inner.inputs, inner.initializers.values()))
    return GraphIndex(graphs, nodes, values)


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
        # A call for each node would take longer than this loop.
        for attribute in node.attributes.data.values():
            if attribute.type in _GRAPH_TYPES:
                own = subgraphs_of(node)
                bodies += own
                for body in own:
                    inside, deeper = _nodes_and_bodies(body)
                    nodes += inside
                    bodies += deeper
                break
    return nodes, bodies


def bodies_by_node(graph: ir.Graph) -> dict[ir.Node, Sequence[ir.Graph]]:
    """The nodes of a graph and of its subgraphs that have subgraphs themselves, with these."""
    found = ((node, subgraphs_of(node)) for node in every_node(graph) if node.attributes.data)
    return {node: bodies for node, bodies in found if bodies}


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


def producers(values: Iterable[ir.Value | None]) -> Iterator[ir.Node]:
    """The nodes that compute values; None stands for an operand that is omitted."""
    return (node for v in values if v is not None and (node := v.producer()) is not None)


def nodes_behind(
    nodes: Iterable[ir.Node], before: Callable[[ir.Node], Iterable[ir.Node]]
) -> set[ir.Node]:
    """Some nodes, those that `before` gives of each of them, and of each of these in turn."""
    found: set[ir.Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += before(node)
    return found


def live_nodes(graph: ir.Graph) -> set[ir.Node]:
    """The nodes that an output of a graph depends on; ONNX Runtime removes the others."""

    def before(node: ir.Node) -> Iterator[ir.Node]:
        inside = (value for body in subgraphs_of(node) for value in body.outputs)
        return producers([*node.inputs, *inside])

    return nodes_behind(producers(graph.outputs), before)


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


def defined_values(graph: ir.Graph) -> Sequence[ir.Value]:
    """Every value that a graph or its subgraphs define: inputs, initializers, node outputs.

    The order is that of `index_of`.
    """
    return index_of(graph).values
