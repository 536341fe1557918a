"""A node of a graph, and what is certain of its operands, as rules of facts read it.

The checker of certificates has another such view, of protos; `analysis/ruled_nodes.py` tells how
the profile sees a node.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor, type_name, written_type
from sonnx_ort.facts.catalog import operator_version, verified_rule
from sonnx_ort.facts.iterations import Iteration, loop_of
from sonnx_ort.facts.node import MAX_ELEMENTS, REFERENCE, Graph, Node, Rules
from sonnx_ort.facts.operators import ELEMENTWISE, PRODUCTS, REDUCTIONS
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.facts.sizes import Bounds, PartialSizes, Sizes
from sonnx_ort.facts.types import tensor_of
from sonnx_ort.loading.traversal import subgraphs_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN


def _of_no_known_type(_: ir.Value) -> None:
    return None


class Known(Protocol):
    """What is certain of the values of a model."""

    @property
    def shared(self) -> frozenset[str]:
        """The symbols that several axes of the model's inputs are declared with."""

    @property
    def reads_weights(self) -> bool:
        """Whether large constants may be read."""

    def known_or_none(self, kind: str, value: ir.Value) -> Any:
        """The type, shape, elements, bounds or interval of a value; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is certain of values, as it is given.

    Attributes:
        shapes: The certain shapes of values.
        contents: The certain elements of vectors and scalars of sizes.
        shared: The symbols that several axes of the model's inputs are declared with.
        element_type: Gives the ONNX name of the type of a value if it is certain.
        bounds: The intervals of integers that are narrower than their type.
        intervals: The intervals of floats.
        reads_weights: Whether large constants may be read.
    """

    shapes: Mapping[ir.Value, Sizes] = field(default_factory=dict)
    contents: Mapping[ir.Value, PartialSizes] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    element_type: Callable[[ir.Value], str | None] = _of_no_known_type
    bounds: Mapping[ir.Value, Bounds] = field(default_factory=dict)
    intervals: Mapping[ir.Value, Interval] = field(default_factory=dict)
    reads_weights: bool = False

    def known_or_none(self, kind: str, value: ir.Value) -> Any:
        """What is certain of a value; None if nothing is."""
        match kind:
            case "type":
                return self.element_type(value)
            case "shape":
                return self.shapes.get(value)
            case "elements":
                return self.contents.get(value)
        return (self.bounds if kind == "bounds" else self.intervals).get(value)


NOTHING = Held()


class GraphNode(Node):
    """A node of a graph, as it is when this is made.

    Attributes:
        node: The node.
        opset: The version of the standard operators that its model imports.
        facts: What is certain of values.
    """

    __slots__ = ("facts", "node", "opset")

    def __init__(self, node: ir.Node, opset: int, facts: Known = NOTHING) -> None:
        """Read a node.

        Args:
            node: The node.
            opset: The version of the standard operators that its model imports.
            facts: What is certain of values.
        """
        version = operator_version(node.op_type, opset)
        outputs = [value if value.name else None for value in node.outputs]
        kind, inputs, known = (node.domain, node.op_type, version), node.inputs, facts.known_or_none
        super().__init__(*kind, inputs, outputs, fact=known)
        self.node = node
        self.opset = opset
        self.facts = facts

    def _read_bodies(self) -> Sequence[Graph]:
        bodies = subgraphs_of(self.node) if self.node.attributes else ()
        return [graph_of(body, self.opset, self.facts) for body in bodies]

    @property
    def is_verified(self) -> bool:
        """Whether rules are verified for its operator, its version and its attributes."""
        return verified_rule(self) is not None

    @property
    def shared(self) -> frozenset[str]:
        """Symbols that several axes of inputs share, which ONNX Runtime does not check."""
        return self.facts.shared

    def attributes(self) -> Iterator[tuple[str, Any]]:
        """The names and values of its attributes."""
        for name, attribute in self.node.attributes.data.items():  # a view takes longer
            yield name, REFERENCE if attribute.is_ref() else attribute.value

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or the default if it is omitted."""
        attribute = self.node.attributes.data.get(name)
        return default if attribute is None else attribute.value

    def constant(self, index: int) -> npt.NDArray[Any] | None:
        """The elements of an operand that is a small constant."""
        value = self.operand(index)
        return None if value is None else small_constant(value)

    def weights(self, index: int) -> npt.NDArray[Any] | None:
        """The elements of an operand that is a constant, if large ones may be read."""
        value = self.operand(index)
        tensor = constant_tensor(value) if value is not None and self.facts.reads_weights else None
        return None if tensor is None else tensor.numpy()

    def source(self, index: int) -> "GraphNode | None":
        """The node of a standard operator whose first result is an operand."""
        value: ir.Value | None = self.operand(index)
        producer = None if value is None else value.producer()
        if (
            producer is None
            or producer.domain != STANDARD_DOMAIN
            or value is not producer.outputs[0]
        ):
            return None
        return GraphNode(producer, self.opset, self.facts)

    def tensor(self, name: str) -> npt.NDArray[Any] | None:
        """The elements of an attribute that is a tensor, and of what a Constant holds."""
        if self.node.op_type == "Constant":
            tensor: object = constant_tensor(self.node.outputs[0])
        else:
            tensor = self.attribute(name)
        return tensor.numpy() if isinstance(tensor, ir.TensorProtocol) else None

    def held_type(self, name: str) -> str | None:
        """The type that an attribute is, or that of the tensor that it is."""
        attribute = self.node.attributes.data.get(name)
        if attribute is None or attribute.is_ref():
            return None
        if attribute.type is ir.AttributeType.TENSOR:
            return tensor_of(type_name(attribute.value.dtype))
        kind = attribute.value.type if isinstance(attribute.value, ir.TypeAndShape) else None
        return None if kind is None else written_type(kind)

    def is_free(self, index: int) -> bool:
        """Whether an operand is an input of the model or a small constant."""
        value = self.operand(index)
        return value is not None and (value.is_graph_input() or small_constant(value) is not None)

    def held_shape(self) -> Sizes | None:
        """The shape of the tensor that a Constant holds."""
        tensor = constant_tensor(self.node.outputs[0])
        return None if tensor is None else tuple(int(size) for size in tensor.shape.numpy())


def graph_of(graph: ir.Graph, opset: int, facts: Known = NOTHING) -> Graph:
    """A graph, as rules and the engine read it."""
    stored = graph.initializers.values()
    return Graph(
        list(graph.inputs),
        [value for value in stored if value.const_value is not None and not value.is_graph_input()],
        [GraphNode(node, opset, facts) for node in graph],
        list(graph.outputs),
    )


def loops_in(nodes: Iterable[ir.Node]) -> Iterator[Iteration]:
    """The Loops among some nodes."""
    for node in nodes:
        if node.domain == STANDARD_DOMAIN and node.op_type == "Loop":
            found = loop_of(GraphNode(node, 1))
            if found is not None:
                yield found


def collected_by_loops(nodes: Iterable[ir.Node]) -> Iterator[ir.Value]:
    """The scan outputs of the bodies of Loops among some nodes."""
    for loop in loops_in(nodes):
        yield from (value for _, value in loop.collected if not value.is_initializer())


def rule_for(node: ir.Node, opset: int) -> Rules | None:
    """The verified rule for the shapes of a node's results; None if there is none.

    Args:
        node: The node.
        opset: The version of the standard operators that its model imports.
    """
    return verified_rule(GraphNode(node, opset)) if node.domain == STANDARD_DOMAIN else None


def reads_elements_of(node: ir.Node) -> Sequence[int]:
    """The positions of the inputs whose elements every output of a node depends on.

    ONNX Runtime cannot remove these dependencies. Excluded are a Shape's input, whose shape may be
    known before a run, the ratio of a Dropout, and inputs that only give a type.
    """
    if node.op_type not in _COMPUTED:
        return ()
    return range(len(node.inputs)) if node.op_type in ELEMENTWISE else (0,)


_COMPUTED = (ELEMENTWISE.keys() | PRODUCTS.keys() | REDUCTIONS.keys()) - {"Dropout"}


def small_constant(value: ir.Value) -> npt.NDArray[Any] | None:
    """The elements of a constant; None if it is not constant or too large."""
    tensor = constant_tensor(value)
    return None if tensor is None or tensor.size > MAX_ELEMENTS else tensor.numpy()
