"""The graphs of a file: their bodies, the names of their values, and what they claim of shapes.

And their nodes, with what is known of their operands.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import prod
from typing import Any

import onnx
from onnx import (
    AttributeProto,
    GraphProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)

from sonnx_ort.checker.strict_reading import defined_in
from sonnx_ort.checker.strict_reading import elements_of as stored_elements
from sonnx_ort.facts import node as facts
from sonnx_ort.facts.attributes import plain_value
from sonnx_ort.facts.catalog import operator_version, verified_rule
from sonnx_ort.facts.deriving import Engine
from sonnx_ort.facts.iterations import Changing
from sonnx_ort.facts.node import MAX_ELEMENTS
from sonnx_ort.facts.sizes import Rejected, Sizes, require
from sonnx_ort.facts.types import name_of_type, tensor_of, type_of_proto


def bodies_of(node: NodeProto) -> list[GraphProto]:
    """The bodies of a node."""
    return [each.g for each in node.attribute if each.type == AttributeProto.GRAPH]


def read_for(nodes: Iterable[NodeProto]) -> Iterator[tuple[str, list[str]]]:
    """Each value that nodes give, with the values of whose shapes its own may be inferred."""
    for node in nodes:
        # The shape of a condition decides no shape of a result.
        read = [] if node.op_type == "If" else [name for name in node.input if name]
        bodies = bodies_of(node)
        returned = [value.name for body in bodies for value in body.output]
        yield from ((name, [*returned, *read]) for name in node.output if name)
        # ONNX Runtime gives a Loop's body no shapes of its states.
        for body in bodies if node.op_type != "Loop" else ():
            yield from ((value.name, read) for value in body.input)


def on_the_way(
    value: str, read: Mapping[str, Sequence[str]], known: Set[str] = frozenset()
) -> list[str]:
    """A value and all on which its shape depends, but for what is known and what that depends on.

    Args:
        value: The value.
        read: What is read for each value, as `read_for` tells it; nothing for inputs and constants.
        known: The values that are known.
    """
    waiting, seen = [value], dict[str, None]()
    while waiting:
        name = waiting.pop()
        if name not in seen and name not in known:
            seen[name] = None
            waiting += read.get(name, ())
    return list(seen)


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for body in bodies_of(node):
            yield from graphs_of(body)


def claimed_shapes(main: GraphProto) -> dict[str, list[list[int | None]]]:
    """The shapes that a file claims of values, by name; None for a size that it leaves open."""
    claims: dict[str, list[list[int | None]]] = {}
    for graph in graphs_of(main):
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
        _make_names_unique(copy.graph, {}, names, {*count})
        return copy, names
    return model, {name: [name] for name in count}


def _make_names_unique(
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
            _make_names_unique(body, scope, names, taken)


class Definitions(Engine):
    """What the graphs of a model define: inputs, constants, results, and what bodies take.

    It is the view by which the engine reads a file.

    Attributes:
        inputs: The inputs of the model, as the file has them.
    """

    inputs: Mapping[str, ValueInfoProto]

    def __init__(self, graph: GraphProto, versions: Mapping[str, int], changing: Changing) -> None:
        """Look through the main graph and all bodies."""
        super().__init__(versions, changing)
        self.inputs = {value.name: value for value in graph.input}
        self._declared_ranks: dict[str, int] = {}
        self._constants: dict[str, TensorProto] = {}
        self._sparse: dict[str, SparseTensorProto | None] = {}
        self._claims = claimed_shapes(graph)
        self._protos: dict[str, NodeProto] = {}
        self._read: dict[str, list[str]] = {}
        self._true: set[str] = set()
        self._true_by_numbers = False
        for each in graphs_of(graph):
            self._take(each)
        sparse = (name for name, tensor in self._sparse.items() if tensor is not None)
        self.stored_values = frozenset((*self._constants, *sparse))
        self._main = self.graph(graph)
        self._enter(self._main)

    @property
    def main(self) -> facts.Graph:
        """The main graph."""
        return self._main

    def graph(self, graph: GraphProto) -> facts.Graph:
        """A graph of the file, as the engine reads it."""
        return facts.Graph(
            [value.name for value in graph.input],
            [
                *(t.name for t in graph.initializer),
                *(t.values.name for t in graph.sparse_initializer),
            ],
            [Node(node, self) for node in graph.node],
            [value.name for value in graph.output],
        )

    def _take(self, graph: GraphProto) -> None:
        """Take in what a graph defines and claims."""
        inputs = {value.name: value.type for value in graph.input}
        tensors = {each.name: each for each in graph.initializer if each.name not in inputs}
        sparse = (name for name, kind in inputs.items() if kind.HasField("sparse_tensor_type"))
        self._sparse |= dict.fromkeys(sparse)
        self._sparse |= {
            tensor.values.name: None if tensor.values.name in inputs else tensor
            for tensor in graph.sparse_initializer
        }
        for name, kind in inputs.items():
            if kind.tensor_type.HasField("shape"):
                self._declared_ranks[name] = len(kind.tensor_type.shape.dim)
        self._read.update(read_for(graph.node))
        for node in graph.node:
            self._protos |= {name: node for name in node.output if name}
            is_constant = (node.domain, node.op_type) == ("", "Constant")
            for each in node.attribute if is_constant else ():
                if each.name == "value":
                    tensors[node.output[0]] = each.t
                elif each.name == "sparse_value":
                    self._sparse[node.output[0]] = each.sparse_tensor
        self._constants |= tensors

    def is_declared(self, value: str) -> bool:
        """Whether the file says anything of the shape of a value."""
        return value in self._claims

    def declared_rank(self, value: str) -> int | None:
        """The declared rank of an input of a body."""
        return self._declared_ranks.get(value)

    def _stored_shape(self, value: str) -> Sizes:
        return tuple(self._stored_tensor(value).dims)

    def stored_type(self, value: str) -> str:
        """The type of the elements of a stored value."""
        tensor = self._stored_tensor(value)
        values = tensor.values if isinstance(tensor, SparseTensorProto) else tensor
        return name_of_type(values.data_type)

    def _stored_tensor(self, value: str) -> TensorProto | SparseTensorProto:
        found = self._constants[value] if value in self._constants else self._sparse.get(value)
        if found is None:
            raise Rejected(f"'{value}' is not stored")
        return found

    def require_true_claims(self, value: str) -> None:
        """Reject a value on whose way the file claims a size that is not established.

        ONNX Runtime believes such claims: it computes a Shape from them, or removes a node.
        """
        found = on_the_way(value, self._read, self._true)
        with self.reading_apart():
            for name in found:
                if name in self._claims:
                    self.require_claimed(name, self.known("shape", name))
            self._true.update(found)
            # What was found true is not looked at again: it counts for each later value.
            self._true_by_numbers |= self.rests_on_numbers
        self.rests_on_numbers |= self._true_by_numbers

    def require_as_inferred(self, value: str) -> None:
        """Reject a value of whose shape ONNX Runtime may believe or infer something else."""
        self.require_true_claims(value)
        super().require_as_inferred(value)

    def require_claimed(self, value: str, shape: Sizes) -> None:
        """Reject what the file claims of the shape of a value, if that is not established."""
        for sizes in self._claims.get(value, ()):
            require_claim(value, sizes, shape)

    def undisputed_shape(self, value: str) -> Sizes:
        """The shape of a value on whose way the file claims nothing else."""
        self.require_true_claims(value)
        shape: Sizes = self.known("shape", value)
        return shape

    def array(self, value: str) -> Any:
        """The elements of a constant that lies in the file."""
        require(value in self._constants, f"'{value}' is no constant")
        return stored_elements(self._constants[value])

    def small_array(self, value: str) -> Any:
        """The elements of a small constant that lies in the file; None for another value."""
        tensor = self._constants.get(value, TensorProto())
        return self.stored(value) if prod(tensor.dims) <= MAX_ELEMENTS else None

    def stored(self, value: str) -> Any:
        """The elements of a constant that lies in the file; None for another value."""
        tensor = self._constants.get(value)
        if tensor is None or tensor.data_location == TensorProto.EXTERNAL:
            return None
        return stored_elements(tensor)

    def is_constant(self, value: str) -> bool:
        """Whether a value is an initializer or the result of a Constant."""
        node = self._protos.get(value, NodeProto())
        return value in self._constants or (node.domain, node.op_type) == ("", "Constant")

    def is_dense(self, value: str) -> bool:
        """Whether a value is no sparse tensor."""
        return value not in self._sparse


class Node(facts.Node):
    """A node of a file, and what is known of its operands: values are told by their names."""

    __slots__ = ("model", "proto")

    def __init__(self, proto: NodeProto, model: Definitions) -> None:
        """Read a node of a model."""
        version = operator_version(proto.op_type, model.version)
        inputs = [name or None for name in proto.input]
        outputs = [name or None for name in proto.output]
        kind, known = (proto.domain, proto.op_type, version), model.known_or_none
        super().__init__(*kind, inputs, outputs, fact=known)
        self.proto = proto
        self.model = model

    @property
    def is_verified(self) -> bool:
        """Whether rules are verified for its operator, its version and its attributes."""
        return verified_rule(self) is not None

    @property
    def shared(self) -> frozenset[str]:
        """None: the checker tells no size by a symbol."""
        return frozenset()

    def _read_bodies(self) -> Sequence[facts.Graph]:
        bodies = bodies_of(self.proto)
        return [self.model.graph(body) for body in bodies] if bodies else ()

    def attributes(self) -> Iterator[tuple[str, Any]]:
        """The names and values of its attributes."""
        for each in self.proto.attribute:
            yield each.name, facts.REFERENCE if each.ref_attr_name else plain_value(each)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or its default."""
        found = [each for each in self.proto.attribute if each.name == name]
        return plain_value(found[0]) if found else default

    def name(self, index: int) -> str:
        """The name of an operand; empty for one that is omitted."""
        return self.operand(index) or ""

    def type(self, index: int = 0) -> str:
        """The type of an operand."""
        return str(self.model.known("type", self.name(index)))

    def result_type(self, index: int) -> str:
        """The type of a result."""
        return str(self.model.known("type", self.proto.output[index]))

    def weights(self, index: int) -> Any:
        """The elements of an operand that is a constant in the file; None for another."""
        return self.model.stored(self.name(index))

    def source(self, index: int) -> facts.Node | None:
        """The node of a standard operator whose first result is an operand."""
        return self.model.producer(self.name(index))

    def tensor(self, name: str) -> Any:
        """The elements of an attribute that is a tensor; None if it is none or omitted."""
        value = self.attribute(name)
        return stored_elements(value) if isinstance(value, TensorProto) else None

    def held_type(self, name: str) -> str | None:
        """The type that an attribute is, or that of the tensor that it is."""
        match self.attribute(name):
            case TensorProto() as tensor:
                return tensor_of(name_of_type(tensor.data_type))
            case SparseTensorProto() as sparse:
                return tensor_of(name_of_type(sparse.values.data_type))
            case TypeProto() as kind:
                return type_of_proto(kind)
        return None

    def shape(self, index: int = 0) -> Sizes:
        """The shape of an operand."""
        shape: Sizes = self.model.known("shape", self.name(index))
        return shape

    def undisputed_shape(self, index: int = 0) -> Sizes:
        """The shape of an operand on whose way the file claims nothing else."""
        return self.model.undisputed_shape(self.name(index))

    def constant(self, index: int) -> Any:
        """The elements of an operand that is a small constant."""
        return self.model.small_array(self.name(index))

    def is_free(self, index: int) -> bool:
        """Whether an operand is an input of the model or a small constant."""
        return self.name(index) in self.model.inputs or self.constant(index) is not None

    def held_shape(self) -> Sizes | None:
        """The shape of the tensor that a Constant holds; such tensors are known before."""
        return None
