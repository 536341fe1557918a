"""What each value of a graph depends on, and which values are certainly equal."""

import itertools
from collections.abc import Hashable, Iterable, Mapping
from functools import reduce
from operator import or_

import onnx_ir as ir

from sonnx_ort.loading.traversal import every_node, subgraphs_of

VARYING = 1
"""The bit of a value that is not constant."""


_OF_SHAPES = frozenset({"Shape", "Size"})
"""Operators that read no element, so that ONNX Runtime may fold them."""

_OF_FIRST_OPERAND = frozenset({"CastLike"})
"""Operators that read the elements of their first operand only.

CastLike reads only the type of the second; ONNX Runtime replaces it by a Cast at every level.
"""


class Dependencies:
    """The nearest enforced nodes on whose results each value depends."""

    def __init__(self, model: ir.Model, bits: Mapping[ir.Node, int]) -> None:
        """Analyse a model.

        The nodes must be in topological order; `bits` has the bit of each enforced node.
        """
        self._bits = bits
        self._of: dict[ir.Value, int] = dict.fromkeys(model.graph.inputs, VARYING)
        self._walk(model.graph)

    def __getitem__(self, value: ir.Value) -> int:
        """The bits of a value; none for a constant."""
        return self._of.get(value, 0)

    def _walk(self, graph: ir.Graph) -> None:
        for node in graph:
            inputs = node.inputs[:1] if node.op_type in _OF_FIRST_OPERAND else node.inputs
            read = reduce(or_, (self[v] for v in inputs if v is not None), 0)
            for body in subgraphs_of(node):
                for value in body.inputs:
                    self._of[value] = read | VARYING
                self._walk(body)
                read |= reduce(or_, (self[value] for value in body.outputs), 0)
            if node in self._bits:
                read = self._bits[node] | (read & VARYING)
            elif node.op_type in _OF_SHAPES:
                read &= VARYING
            elif not node.inputs and node.op_type.startswith("Random"):
                read |= VARYING
            for value in node.outputs:
                self._of[value] = read


def live_nodes(model: ir.Model) -> set[ir.Node]:
    """The nodes that an output of the model depends on; ONNX Runtime removes the others."""
    live: set[ir.Node] = set()
    pending: list[ir.Value | None] = list(model.graph.outputs)
    while pending:
        value = pending.pop()
        node = None if value is None else value.producer()
        if node is not None and node not in live:
            live.add(node)
            pending.extend(node.inputs)
            for body in subgraphs_of(node):
                pending.extend(body.outputs)
    return live


_RANDOM = frozenset(
    {
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
_COMPARED_BYTES = 4096
"""Constants up to this size are compared by their elements."""


class ValueNumbering:
    """Gives the same number to values that are computed in the same way."""

    def __init__(self, model: ir.Model) -> None:
        """Number the values of a model in topological order."""
        self._fresh = itertools.count()
        self._numbers: dict[ir.Value | None, int] = {None: next(self._fresh)}
        self._known: dict[Hashable, int] = {}
        for node in every_node(model.graph):
            self._number_outputs(node)

    def __getitem__(self, value: ir.Value) -> int:
        """The number of a value."""
        if value not in self._numbers:
            constant = None if value.is_graph_input() else value.const_value
            self._numbers[value] = self._number(None if constant is None else _content(constant))
        return self._numbers[value]

    def _number_outputs(self, node: ir.Node) -> None:
        inputs = tuple(-1 if value is None else self[value] for value in node.inputs)
        attributes = _attributes(node.attributes.values())
        for index, output in enumerate(node.outputs):
            computation: Hashable = None
            if attributes is not None and node.op_type not in _RANDOM:
                computation = (node.op_identifier(), attributes, inputs, index)
                if node.op_type == "Constant":
                    computation = attributes
            self._numbers[output] = self._number(computation)

    def _number(self, computation: Hashable) -> int:
        if computation is None:
            return next(self._fresh)
        if computation not in self._known:
            self._known[computation] = next(self._fresh)
        return self._known[computation]


def _attributes(attributes: Iterable[ir.Attr]) -> Hashable:
    """A comparable form of attributes; None if they contain something that is not compared."""
    contents: list[Hashable] = []
    for attribute in attributes:
        match attribute.type:
            case ir.AttributeType.TENSOR:
                # as_tensor would first inspect each method of the tensor.
                content = _content(attribute.value)
                if content is None:
                    return None
                contents.append((attribute.name, content))
            case (
                ir.AttributeType.INT
                | ir.AttributeType.FLOAT
                | ir.AttributeType.STRING
                | ir.AttributeType.INTS
                | ir.AttributeType.FLOATS
                | ir.AttributeType.STRINGS
            ):
                value = attribute.value
                hashable = tuple(value) if isinstance(value, list | tuple) else value
                contents.append((attribute.name, attribute.type, hashable))
            case _:
                return None
    return frozenset(contents)


def _content(tensor: ir.TensorProtocol) -> Hashable:
    """The elements of a constant; None if it is large or external."""
    if isinstance(tensor, ir.ExternalTensor) or tensor.nbytes > _COMPARED_BYTES:
        return None
    if tensor.dtype == ir.DataType.STRING:
        return None
    return tensor.dtype, tuple(tensor.shape.numpy()), tensor.tobytes()
