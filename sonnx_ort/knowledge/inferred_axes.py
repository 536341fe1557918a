"""How many axes `onnx.shape_inference` gives the results of a model, before it is called.

It lists each axis of each result, as does ONNX Runtime. A Gather of a value by itself doubles the
axes, and a ConstantOfShape has as many as its operand has elements: a few nodes take all memory.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import bodies_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN

MOST_AXES = 1 << 19
"""Maximum number of axes of all results; large models have some hundred thousand."""

_JOINING = frozenset(["Gather", "GatherND"])
"""Operators whose result can have the axes of all their operands, but one."""

_ADDING_ONE = frozenset(["ConcatFromSequence", "DFT", "Loop", "OneHot", "STFT", "Scan"])
"""Operators whose result can have one axis more than their operands."""

_KEEPING = frozenset(
    [
        *("Abs", "Add", "And", "Cast", "Ceil", "Clip", "Div", "Equal", "Floor", "Greater"),
        *("GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg"),
        *("Not", "Or", "Relu", "ScatterND", "Sign", "Sub", "Where"),
    ]
)
"""Operators whose result is as long as their longest operand, if all are vectors."""

_TAKING_SOME = frozenset(["ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Slice", "Split"])
"""Operators that leave some elements of their first operand."""

OF_ELEMENTS = frozenset(["ConstantOfShape", "Expand", "Reshape", "Unsqueeze"])
"""Operators whose result has axes for elements of the last operand, if their number is known."""

_SHORT = 1024
"""A vector of more elements is no shape; it may also be shorter than what is known here."""


@dataclass(frozen=True, slots=True)
class _Most:
    """The most axes and elements of a value that inference can know; infinite if any number."""

    axes: float = 0
    elements: float = math.inf


@dataclass(slots=True)
class _Count:
    """The most axes of each value by name, those of all results, and what they leave open."""

    known: dict[str, _Most] = field(default_factory=dict)
    total: int = 0
    open: set[str] = field(default_factory=set)

    def follow(self, graph: onnx.GraphProto) -> None:
        """Count the axes of a graph's results."""
        self.known.update((tensor.name, _of_shape(tensor.dims)) for tensor in graph.initializer)
        for node in graph.node:
            self._add(node)

    def _add(self, node: onnx.NodeProto) -> None:
        read = [self.known.get(name, _Most()) for name in node.input]
        for body in bodies_of(node):
            axes = max((most.axes for most in read), default=0)
            self.known.update((value.name, _Most(axes)) for value in body.input)
            self.follow(body)
            read += [self.known.get(value.name, _Most()) for value in body.output]
        made = _Most(_axes(node, read), _elements(node, read))
        if math.isinf(made.axes):
            made = _Most(0, made.elements)
            self.open.update(node.output)
        self.known.update((name, made) for name in node.output)
        self.total += int(made.axes) * len(node.output)
        if self.total > MOST_AXES:
            label = node.name or f"(output {next(filter(None, node.output), '')})"
            raise InvalidModel(
                f"{node.op_type} '{label}': up to its result, the results of the model's nodes can "
                f"have more than {MOST_AXES} axes in all, which shape inference and sessions list "
                "one by one; compute with fewer axes"
            )


def open_axes(proto: onnx.ModelProto) -> frozenset[str]:
    """The results whose axes follow from elements that may be many.

    Raises:
        InvalidModel: The results of the model can have too many axes.
    """
    count = _Count()
    for value in proto.graph.input:
        dimensions = value.type.tensor_type.shape.dim
        # Inference does not learn the size of an open dimension.
        count.known[value.name] = _of_shape([each.dim_value for each in dimensions])
    count.follow(proto.graph)
    return frozenset(count.open)


def _of_shape(sizes: Sequence[int]) -> _Most:
    return _Most(len(sizes), math.prod(sizes))


def _axes(node: onnx.NodeProto, read: Sequence[_Most]) -> float:
    most, operator = max((each.axes for each in read), default=0), node.op_type
    if node.domain != STANDARD_DOMAIN or not (read or node.attribute):
        return most
    if operator in _JOINING:
        return max(0, sum(each.axes for each in read) - 1)
    match operator:
        case "Constant":
            most = max(1, len(node.attribute[0].t.dims))
        case "ConstantOfShape":
            most = _short(read[0].elements)
        case "Einsum":
            most = max(len(each.s) for each in node.attribute)
        case "Expand" | "Reshape":
            most = max(most, _named(node, read))
        case "Unsqueeze":
            most += _named(node, read)
        case "Shape":
            most = 1
    return most + (operator in _ADDING_ONE)


def _named(node: onnx.NodeProto, read: Sequence[_Most]) -> float:
    """How many axes an operand names, or an attribute; elements of no known number name none."""
    numbers = [each.elements for each in read[1:] if not math.isinf(each.elements)]
    return _short(max([0, *numbers, *(len(each.ints) for each in node.attribute)]))


def _short(elements: float) -> float:
    return elements if elements <= _SHORT else math.inf


def _elements(node: onnx.NodeProto, read: Sequence[_Most]) -> float:
    if node.domain != STANDARD_DOMAIN:
        return math.inf
    most = math.inf
    match node.op_type, read:
        case "Constant", _:
            given = node.attribute[0]
            most = math.prod(given.t.dims) if given.name == "value" else max(1, len(given.ints))
        case "Shape", (operand,):
            most = operand.axes
        case "Size", _:
            most = 1
        case "Concat", _:
            most = sum(each.elements for each in read)
        case "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" | "Transpose", (operand, *_):
            most = operand.elements
        case "Gather", (operand, indices):
            most = indices.elements * (1 if operand.axes == 1 else operand.elements)
        case operator, (operand, *_) if operator in _TAKING_SOME:
            most = operand.elements
        case operator, _ if operator in _KEEPING and all(each.axes <= 1 for each in read):
            most = max((each.elements for each in read), default=0)
    return most
