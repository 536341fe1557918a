"""Which values of a model are certainly equal, because they are computed alike."""

import itertools
from collections.abc import Hashable, Iterable

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

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
    """Gives values that are computed alike one number."""

    def __init__(self, model: ir.Model) -> None:
        """Number the values of a model.

        Args:
            model: The model, whose nodes stand in topological order.
        """
        self._fresh = itertools.count()
        self._numbers: dict[ir.Value | None, int] = {None: next(self._fresh)}
        self._known: dict[Hashable, int] = {}
        for node in RecursiveGraphIterator(model.graph):
            self._number_outputs(node)

    def __getitem__(self, value: ir.Value) -> int:
        """The number of a value.

        Args:
            value: A value of the model.
        """
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
    """What two nodes that compute alike have in common; None for what is not compared."""
    contents: list[Hashable] = []
    for attribute in attributes:
        match attribute.type:
            case ir.AttributeType.TENSOR:
                content = _content(attribute.as_tensor())
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
    """The elements of a constant; None for one that is large, or lies in another file."""
    if isinstance(tensor, ir.ExternalTensor) or tensor.nbytes > _COMPARED_BYTES:
        return None
    if tensor.dtype == ir.DataType.STRING:
        return None
    return tensor.dtype, tuple(tensor.shape.numpy()), tensor.tobytes()
