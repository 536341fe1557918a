"""A node, what is known of its operands, and how ONNX names things."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper

from .arithmetic import is_within
from .sizes import Size, from_the_front, require

FLOATS = frozenset({"float16", "bfloat16", "float", "double"})
INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


class Known(Protocol):
    """What earlier steps have established of a model."""

    version: int

    def knows(self, kind: str, value: str) -> bool:
        """Whether an earlier step has established this of a value."""
        ...

    def known(self, kind: str, value: str) -> Any:
        """What an earlier step has established."""
        ...

    def true_shape(self, value: str) -> tuple[Size, ...]:
        """The shape of a value on whose way the file claims nothing else."""
        ...

    def require_claimed(self, value: str, shape: Sequence[Size]) -> None:
        """Reject what the file claims of the shape of a value, if that is not established."""
        ...

    def array(self, value: str) -> Any:
        """The elements of a constant that lies in the file."""
        ...

    def is_constant(self, value: str) -> bool:
        """Whether a value is an initializer or the result of a Constant."""
        ...

    def is_dense(self, value: str) -> bool:
        """Whether a value is no sparse tensor."""
        ...


@dataclass(frozen=True)
class Node:
    """A node, and what is known of its operands."""

    proto: NodeProto
    model: Known

    def name(self, index: int) -> str:
        """The name of an operand; empty for one that is omitted."""
        return self.proto.input[index] if index < len(self.proto.input) else ""

    def given(self, places: Sequence[int] = ()) -> list[str]:
        """The operands at places that are not omitted; of all places if none is named."""
        return [name for k in places or range(len(self.proto.input)) if (name := self.name(k))]

    def type(self, index: int = 0) -> str:
        """The type of an operand."""
        return str(self.model.known("type", self.name(index)))

    def shape(self, index: int = 0) -> tuple[Size, ...]:
        """The shape of an operand."""
        shape: tuple[Size, ...] = self.model.known("shape", self.name(index))
        return shape

    def true_shape(self, index: int = 0) -> tuple[Size, ...]:
        """The shape of an operand on whose way the file claims nothing else."""
        return self.model.true_shape(self.name(index))

    def elements(self, index: int) -> tuple[Size, ...]:
        """The elements of an operand of sizes."""
        elements: tuple[Size, ...] = self.model.known("elements", self.name(index))
        return elements

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or its default."""
        found = [each for each in self.proto.attribute if each.name == name]
        return helper.get_attribute_value(found[0]) if found else default

    def integers(self, name: str, index: int, default: Sequence[int] = ()) -> list[int]:
        """Integers that are an attribute in some versions and an operand in others."""
        found = self.every_integer(name, index, default)
        require(is_within(found), "a number is beyond int32")
        return found

    def every_integer(self, name: str, index: int, default: Sequence[int] = ()) -> list[int]:
        """The same, for rules that hold for every integer."""
        given = self.attribute(name)
        if given is not None:
            return list(given)
        if not self.name(index):
            return list(default)
        found = [each for each in self.elements(index) if isinstance(each, int)]
        require(len(found) == len(self.elements(index)), f"'{self.name(index)}' is open")
        return found

    def only(self, **admitted: Sequence[Any]) -> None:
        """Reject attributes other than these values; an empty sequence admits all."""
        for each in self.proto.attribute:
            values, value = admitted.get(each.name), helper.get_attribute_value(each)
            known = values is not None and (not values or value in values)
            numbers = value if isinstance(value, Sequence) else [value]
            require(known and is_within(numbers), f"the attribute {each.name} is not known")

    def axis(self, default: int, rank: int) -> int:
        """The attribute `axis`, as an index from the front."""
        return from_the_front(int(self.attribute("axis", default)), rank)


def type_name(data_type: int) -> str:
    """The name of a type of elements."""
    return str(TensorProto.DataType.Name(data_type)).lower()


def bodies_of(node: NodeProto) -> list[GraphProto]:
    """The bodies of a node."""
    return [each.g for each in node.attribute if each.type == AttributeProto.GRAPH]


def on_the_way(
    value: str, producers: Mapping[str, NodeProto], known: Set[str] = frozenset()
) -> list[str]:
    """A value and all on which it depends, but for those that are known and what is behind them.

    Args:
        value: The value.
        producers: The node that computes each value; inputs and constants have none.
        known: The values that are left out.
    """
    waiting, seen = [value], dict[str, None]()
    while waiting:
        name = waiting.pop()
        if name not in seen and name not in known:
            seen[name] = None
            node = producers.get(name)
            if node is not None:
                waiting += [each.name for body in bodies_of(node) for each in body.output]
                waiting += filter(None, node.input)
    return list(seen)


def needed(graph: GraphProto, hidden: Set[str]) -> set[str]:
    """The results of nodes that run because their elements are needed, or nothing reads them.

    ONNX Runtime may know the shape of another result, and then does not run its node.

    Args:
        graph: The main graph.
        hidden: The values whose shapes are known only in a run.
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
