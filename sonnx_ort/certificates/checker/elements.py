"""What follows from a node about its results: the elements of sizes, and types."""

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod

from onnx import TensorProto, defs

from .arithmetic import selected
from .node import Node, type_name
from .shapes import dimensions
from .sizes import Rejected, Size, added, from_the_front, require

Elements = tuple[Size, ...]
"""The elements of a vector or a scalar: numbers and sizes."""


def _taken(node: Node) -> Elements:
    x = node.elements(0)
    return tuple(x[from_the_front(index, len(x))] for index in node.integers("", 1))


def _in_a_row(node: Node) -> Elements:
    return tuple(e for k in range(len(node.proto.input)) for e in node.elements(k))


def _unchanged(node: Node) -> Elements:
    return node.elements(0)


def _converted(node: Node) -> Elements:
    require(node.attribute("to") == TensorProto.INT64, "they are converted")
    return node.elements(0)


def _cut(node: Node) -> Elements:
    require(node.integers("steps", 4, [1]) == [1], "it is cut in steps")
    (start,), (end,) = node.every_integer("starts", 1), node.every_integer("ends", 2)
    x = node.elements(0)
    return tuple(x[index] for index in selected(len(x), start, end, 1))


def _product(node: Node) -> Elements:
    factors = node.shape() if node.proto.op_type == "Size" else node.elements(0)
    numbers = [size for size in factors if isinstance(size, int)]
    require(len(numbers) == len(factors), "a factor is open")
    require(node.integers("axes", 1) in ([], [0]), "its axes are not known")
    return (_within_int32(prod(numbers)),)


def _pairwise(node: Node) -> Elements:
    require(len(node.proto.input) == 2, "there are no two operands")
    one, other = node.elements(0), node.elements(1)
    # A node whose operands have other lengths than this and 1 does not run.
    count = max(len(one), len(other))
    pairs = [(one[k % len(one)], other[k % len(other)]) for k in range(count)]
    return tuple(_calculated(node.proto.op_type, *pair) for pair in pairs)


_CALCULATED: Mapping[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": lambda one, other: int(Fraction(one, other)),
    "Max": max,
    "Min": min,
}


def _calculated(op_type: str, one: Size, other: Size) -> Size:
    """A number of small numbers; or an open size and a number that is added."""
    if isinstance(one, int) and isinstance(other, int):
        return _within_int32(_CALCULATED[op_type](one, other))
    if op_type == "Add" and min(size for size in (0, one, other) if isinstance(size, int)) == 0:
        return added(one, other)
    neutral = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}
    require(other == neutral.get(op_type), "an open size is calculated with")
    return one


def _within_int32(number: int) -> int:
    require(abs(number) < 2**31, "a number is beyond int32")
    return number


ELEMENTS: Mapping[str, Callable[[Node], Elements]] = {
    **dict.fromkeys(("Unsqueeze", "Squeeze", "Identity"), _unchanged),
    **dict.fromkeys(("Size", "ReduceProd"), _product),
    **dict.fromkeys(_CALCULATED, _pairwise),
    "Shape": dimensions, "Gather": _taken, "Concat": _in_a_row, "Cast": _converted, "Slice": _cut,
}  # fmt: skip
"""The elements of the first result of an operator, a vector or a scalar of sizes."""


def type_of(node: Node, index: int) -> str:
    """The type of a result, by the constraints in the operator's schema."""
    op_type = node.proto.op_type
    if op_type == "Broadcast":
        return str(node.model.known("type", node.name(index)))
    if op_type == "Cast":
        return type_name(node.attribute("to"))
    if op_type == "ConstantOfShape":
        value = node.attribute("value")
        return "float" if value is None else type_name(value.data_type)
    schema = defs.get_schema(op_type, node.model.version, "")
    result = schema.outputs[min(index, len(schema.outputs) - 1)]
    require(result.is_homogeneous, "its results have types of their own")
    text = result.type_str
    constraints = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    allowed = constraints.get(text, [text])
    if len(allowed) == 1:
        return str(allowed[0]).removeprefix("tensor(").removesuffix(")")
    for place, name in enumerate(node.proto.input):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        if name and formal.type_str == text:
            return str(node.model.known("type", name))
    raise Rejected(f"there is no rule for the type of a {op_type}")
