"""Checks a certificate: that obligations of a model hold in every run that ONNX Runtime finishes.

A certificate is a list of steps from the inputs and constants of a model to its proved obligations.
A step claims the type, the shape or the elements of one value, and has to follow from earlier steps
by the rule of the operator that computes the value. This program trusts neither the analysis of
sonnx_ort nor any other part of it. It needs Python and onnx:

    python checker.py model.onnx certificate.json

It trusts that ONNX Runtime holds the declared types and fixed sizes of inputs, that kernels do what
the documents of ONNX say in the versions and for the attributes below, and the type constraints in
the schemas of onnx. What it does not know it rejects.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, defs, helper, numpy_helper

FORMAT = "sonnx_ort.certificate/1"
VERSIONS = range(7, 24)
"""The versions of the opset whose documents were read."""

Size = int | str
"""A size; an open one is an expression of sizes of inputs, the same in one run."""

Sizes = tuple[Size | None, ...]
"""Sizes, None for those that are not known."""


class Rejected(Exception):  # noqa: N818 - the certificate is
    """A step or an obligation that does not follow; the message says why."""


def require(condition: object, reason: str) -> None:
    """Reject what does not hold."""
    if not condition:
        raise Rejected(reason)


def added(one: Size, other: Size) -> Size:
    """The sum of two sizes."""
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    return one if other == 0 else other if one == 0 else f"({one} + {other})"


def multiplied(sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    number, rest = 1, []
    for size in sizes:
        if isinstance(size, int):
            number *= size
        else:
            rest.append(size)
    if not rest or number == 0:
        return number
    return rest[0] if len(rest) == 1 and number == 1 else f"({' * '.join(sorted(rest))} * {number})"


def divided(size: Size, divisor: int) -> Size:
    """A size divided by a positive number and rounded down."""
    if divisor == 1:
        return size
    return size // divisor if isinstance(size, int) else f"({size} / {divisor})"


def from_the_front(axis: int, rank: int) -> int:
    """An axis as an index from the front."""
    require(-rank <= axis < rank, f"there is no axis {axis} among {rank}")
    return axis % rank


def common(shapes: Sequence[Sequence[Size]]) -> Sizes:
    """The shape to which several are broadcast, if the node runs."""
    return tuple(_agreed(sizes - {1} or {1}) for sizes in _axes(shapes))


def _same(sizes: set[Size]) -> Size | None:
    return next(iter(sizes)) if len(sizes) == 1 else None


def _axes(shapes: Sequence[Sequence[Size]]) -> list[set[Size]]:
    """The sizes of several shapes along each axis, counted from the last one."""
    rank = max(map(len, shapes), default=0)
    padded = [(*[1] * (rank - len(shape)), *shape) for shape in shapes]
    return [{*sizes} for sizes in zip(*padded, strict=True)]


def _broadcastable(sizes: set[Size]) -> bool:
    """Whether each size is the largest one, or 1."""
    numbers = [size for size in sizes if isinstance(size, int)]
    return len(sizes) == 1 or (len(numbers) == len(sizes) and sizes <= {1, max(numbers)})


def _agreed(sizes: set[Size]) -> Size | None:
    """The size that all of these are in every run that goes on; None if that is open."""
    fixed = {size for size in sizes if isinstance(size, int)}
    require(len(fixed) < 2, "the sizes differ")
    return next(iter(fixed or sizes)) if fixed or len(sizes) == 1 else None


@dataclass(frozen=True)
class Node:
    """A node, and what is known of its operands."""

    proto: NodeProto
    model: "Model"

    def name(self, index: int) -> str:
        """The name of an operand; empty for one that is omitted."""
        return self.proto.input[index] if index < len(self.proto.input) else ""

    def shape(self, index: int = 0) -> tuple[Size, ...]:
        """The shape of an operand."""
        shape: tuple[Size, ...] = self.model.known("shape", self.name(index))
        return shape

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
        given = self.attribute(name)
        if given is not None or not self.name(index):
            return list(default if given is None else given)
        found = [each for each in self.elements(index) if isinstance(each, int)]
        require(len(found) == len(self.elements(index)), f"'{self.name(index)}' is open")
        return found

    def only(self, **admitted: Sequence[Any]) -> None:
        """Reject attributes other than these values; an empty sequence admits all."""
        for each in self.proto.attribute:
            values, value = admitted.get(each.name), helper.get_attribute_value(each)
            known = values is not None and (not values or value in values)
            require(known, f"the attribute {each.name} is not known")

    def axis(self, default: int, rank: int) -> int:
        """The attribute `axis`, as an index from the front."""
        return from_the_front(int(self.attribute("axis", default)), rank)


def _broadcast(node: Node) -> list[Sizes]:
    return [common([node.shape(index) for index in range(len(node.proto.input))])]


def _broadcast_each(node: Node) -> Sequence[Sizes]:
    return _broadcast(node) * len(node.proto.output)


def _as_first(node: Node) -> Sequence[Sizes]:
    return [node.shape()]


def _matmul(node: Node) -> Sequence[Sizes]:
    a, b = node.shape(0), node.shape(1)
    require(len(a) > 1 and len(b) > 1, "an operand is no matrix")
    # Until onnxruntime 1.31.1 stacks are not broadcast if nothing is summed up.
    require(a[:-2] == b[:-2] or _is_positive(a[-1]), "the summed axis may be empty")
    return [(*common([a[:-2], b[:-2]]), a[-2], b[-1])]


def _gemm(node: Node) -> Sequence[Sizes]:
    node.only(alpha=(), beta=(), transA=(0, 1), transB=(0, 1))
    a, b = node.shape(0), node.shape(1)
    require(len(a) == len(b) == 2, "an operand is no matrix")
    return [(a[node.attribute("transA", 0)], b[1 - node.attribute("transB", 0)])]


def _windows(node: Node, kernel: Sequence[Size], sizes: Sequence[Size]) -> Iterator[Size]:
    ones = [1] * len(kernel)
    strides, dilations = node.attribute("strides", ones), node.attribute("dilations", ones)
    pads = node.attribute("pads", [0] * 2 * len(kernel))
    require(min([*strides, *dilations], default=1) > 0, "a stride or dilation is below 1")
    require(min(pads, default=0) >= 0, "a pad is below 0")
    for axis, (size, reach) in enumerate(zip(sizes, kernel, strict=True)):
        require(isinstance(reach, int) and reach > 0, "the kernel is not known")
        span = dilations[axis] * (int(reach) - 1)
        room = added(size, pads[axis] + pads[axis + len(kernel)] - span - 1)
        require(not isinstance(room, int) or room >= 0, "no window fits")
        yield added(divided(room, strides[axis]), 1)


_WINDOWS = dict.fromkeys(("dilations", "group", "kernel_shape", "pads", "strides"), ())


def _convolved(node: Node) -> Sequence[Sizes]:
    node.only(auto_pad=(b"NOTSET",), **_WINDOWS)
    x, w = node.shape(0), node.shape(1)
    require(len(x) == len(w) > 2, "X and W have other axes")
    return [(x[0], w[0], *_windows(node, w[2:], x[2:]))]


def _pooled(node: Node) -> Sequence[Sizes]:
    padding = {"ceil_mode": (0,), "count_include_pad": (0, 1), "storage_order": (0,)}
    node.only(auto_pad=(b"NOTSET",), **padding, **_WINDOWS)
    x, kernel = node.shape(), node.attribute("kernel_shape")
    require(len(x) == len(kernel) + 2, "the kernel has other axes")
    return [(*x[:2], *_windows(node, kernel, x[2:]))]


def _pooled_globally(node: Node) -> Sequence[Sizes]:
    return [(*node.shape()[:2], *[1] * len(node.shape()[2:]))]


def _transposed(node: Node) -> Sequence[Sizes]:
    x = node.shape()
    order = node.attribute("perm", list(range(len(x)))[::-1])
    require(sorted(order) == list(range(len(x))), "perm is no order of the axes")
    return [tuple(x[axis] for axis in order)]


def _reshaped(node: Node) -> Sequence[Sizes]:
    node.only(allowzero=(0,), shape=())
    asked = node.attribute("shape") or node.elements(1)
    x = node.shape() if 0 in asked or -1 in asked else ()
    # An open element may be 0 in a run, and then stands for the size of X.
    made = [
        x[k] if size == 0 else size if isinstance(size, int) or _at(node, k) == size else None
        for k, size in enumerate(asked)
    ]
    if -1 in asked:
        place = asked.index(-1)
        made[place] = _rest(x, [size for k, size in enumerate(made) if k != place])
    return [tuple(made)]


def _at(node: Node, axis: int) -> Size | None:
    """The size of an axis of X; None if there is none."""
    if not node.model.knows("shape", node.name(0)):
        return None
    return node.shape()[axis] if axis < len(node.shape()) else None


def _rest(x: Sequence[Size], others: Sequence[Size | None]) -> Size | None:
    """The size for -1. A size that is 0 has none, so that equal ones cancel out."""
    left, gone = Counter[Size | None](x), Counter[Size | None](others)
    left, gone = left - gone, gone - left
    dividend = multiplied([size for size in left.elements() if size is not None])
    divisor = multiplied([size for size in gone.elements() if isinstance(size, int)])
    if not all(isinstance(size, int) for size in gone) or not isinstance(divisor, int):
        return None
    if divisor == 1:
        return dividend
    exact = isinstance(dividend, int) and divisor and dividend % divisor == 0
    return int(dividend) // divisor if exact else None


def _flattened(node: Node) -> Sequence[Sizes]:
    x, axis = node.shape(), int(node.attribute("axis", 1))
    require(-len(x) <= axis <= len(x), f"there is no axis {axis}")
    at = axis + len(x) if axis < 0 else axis
    return [(multiplied(x[:at]), multiplied(x[at:]))]


def _squeezed(node: Node) -> Sequence[Sizes]:
    x = node.shape()
    axes = {from_the_front(axis, len(x)) for axis in node.integers("axes", 1)}
    if not axes:
        require(all(isinstance(size, int) for size in x), "its axes are not given")
        axes = {axis for axis, size in enumerate(x) if size == 1}
    return [tuple(size for axis, size in enumerate(x) if axis not in axes)]


def _unsqueezed(node: Node) -> Sequence[Sizes]:
    x, asked = list(node.shape()), node.integers("axes", 1)
    axes = {from_the_front(axis, len(x) + len(asked)) for axis in asked}
    require(len(axes) == len(asked), "an axis is named twice")
    return [tuple(1 if k in axes else x.pop(0) for k in range(len(x) + len(axes)))]


def _joined(node: Node) -> Sequence[Sizes]:
    shapes = [node.shape(index) for index in range(len(node.proto.input))]
    axis, total = node.axis(0, len(shapes[0])), 0  # type: int, Size
    for shape in shapes:
        total = added(total, shape[axis])
    # ONNX Runtime passes over empty operands, whatever their other sizes are.
    along = enumerate(zip(*shapes, strict=True))
    return [tuple(total if k == axis else _same({*sizes}) for k, sizes in along)]


def _gathered(node: Node) -> Sequence[Sizes]:
    x, indices = node.shape(0), node.shape(1)
    axis = node.axis(0, len(x))
    return [(*x[:axis], *indices, *x[axis + 1 :])]


def _split(node: Node) -> Sequence[Sizes]:
    node.only(axis=(), split=())
    x, parts = node.shape(), node.integers("split", 1)
    require(len(parts) == len(node.proto.output) and min(parts) >= 0, "its parts are not known")
    axis = node.axis(0, len(x))
    return [(*x[:axis], part, *x[axis + 1 :]) for part in parts]


def _sliced(node: Node) -> Sequence[Sizes]:
    made: list[Size | None] = [*node.shape()]
    starts, ends = node.integers("starts", 1), node.integers("ends", 2)
    axes = node.integers("axes", 3, range(len(starts)))
    steps = node.integers("steps", 4, [1] * len(starts))
    for start, end, asked, step in zip(starts, ends, axes, steps, strict=True):
        axis = from_the_front(asked, len(made))
        size = made[axis]
        if isinstance(size, int) and step > 0:
            made[axis] = len(range(*slice(start, end, step).indices(size)))
        elif (start, step) != (0, 1) or end < 2**31 - 1:
            made[axis] = None
    return [tuple(made)]


def _is_positive(size: Size) -> bool:
    return isinstance(size, int) and size > 0


def _require_elements(shape: Sequence[Size], axes: Sequence[int]) -> None:
    """Reject what onnxruntime until 1.31.1 leaves as it is: an empty tensor, by negative axes."""
    known = min(axes, default=0) >= 0 or all(map(_is_positive, shape))
    require(known, "the tensor may be empty, and an axis is negative")


def _reduced(node: Node) -> Sequence[Sizes]:
    node.only(axes=(), keepdims=(0, 1), noop_with_empty_axes=(0, 1))
    x, asked = node.shape(), node.integers("axes", 1)
    require(asked or not node.attribute("noop_with_empty_axes"), "its axes are not given")
    _require_elements(x, asked)
    axes = {from_the_front(axis, len(x)) for axis in asked or range(len(x))}
    kept: list[Size] = [1] if node.attribute("keepdims", 1) else []
    return [tuple(s for k, size in enumerate(x) for s in (kept if k in axes else [size]))]


def _largest(node: Node) -> Sequence[Sizes]:
    node.only(axis=(), keepdims=(0, 1), select_last_index=(0, 1))
    axis = node.axis(0, len(node.shape()))
    _require_elements(node.shape(), [node.attribute("axis", 0)])
    kept = [1] if node.attribute("keepdims", 1) else []
    return [(*node.shape()[:axis], *kept, *node.shape()[axis + 1 :])]


def _shape(node: Node) -> Sequence[Sizes]:
    return [(len(_dimensions(node)),)]


def _dimensions(node: Node) -> tuple[Size, ...]:
    return node.shape()[node.attribute("start") : node.attribute("end")]


def _scalar(_: Node) -> Sequence[Sizes]:
    return [()]


def _as_second(node: Node) -> Sequence[Sizes]:
    return [node.shape(1)]


def _filled(node: Node) -> Sequence[Sizes]:
    return [node.elements(0)]


def _expanded(node: Node) -> Sequence[Sizes]:
    require(0 not in node.elements(1), "the shape that is asked for has a 0")
    return [common([node.shape(), node.elements(1)])]


def _padded(node: Node) -> Sequence[Sizes]:
    x, pads = node.shape(), node.integers("pads", 1)
    require(len(pads) == 2 * len(x) and not node.name(3), "its pads are not those of all axes")
    return [tuple(added(size, pads[k] + pads[k + len(x)]) for k, size in enumerate(x))]


def _vector(_: Node) -> Sequence[Sizes]:
    return [(None,)]


def _chosen(node: Node) -> Sequence[Sizes]:
    """What both branches of an If agree on."""
    names = [[value.name for value in body.output] for body in bodies_of(node.proto)]
    one, other = ([node.model.known("shape", name) for name in branch] for branch in names)
    require([*map(len, one)] == [*map(len, other)], "its branches have different ranks")
    pairs = [zip(*pair, strict=True) for pair in zip(one, other, strict=True)]
    return [tuple(a if a == b else None for a, b in pair) for pair in pairs]


_BROADCASTING = (
    "Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "PRelu", "BitShift", "And", "Or",
    "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Where", "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual",
)  # fmt: skip
_KEEPING = (
    "Abs", "Acos", "Asin", "Atan", "BatchNormalization", "Cast", "Ceil", "Clip", "Cos", "CumSum",
    "DequantizeLinear", "Dropout", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "InstanceNormalization", "IsNaN", "LayerNormalization", "LeakyRelu",
    "Log", "LogSoftmax", "LRN", "Mish", "Neg", "Not", "QuantizeLinear", "Reciprocal", "Relu",
    "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Sqrt", "Tan", "Tanh",
    "Trilu",
)  # fmt: skip
_REDUCING = (
    "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
SHAPES: Mapping[str, Callable[[Node], Sequence[Sizes]]] = {
    **dict.fromkeys(_BROADCASTING, _broadcast),
    **dict.fromkeys(_KEEPING, _as_first),
    **dict.fromkeys(_REDUCING, _reduced),
    **dict.fromkeys(("ArgMax", "ArgMin"), _largest),
    **dict.fromkeys(("MaxPool", "AveragePool"), _pooled),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _pooled_globally),
    "MatMul": _matmul, "Gemm": _gemm, "Conv": _convolved, "Transpose": _transposed,
    "Reshape": _reshaped, "Flatten": _flattened, "Squeeze": _squeezed, "Unsqueeze": _unsqueezed,
    "Concat": _joined, "Gather": _gathered, "Split": _split, "Slice": _sliced, "If": _chosen,
    "Expand": _expanded, "Shape": _shape, "ConstantOfShape": _filled,
    "Broadcast": _broadcast_each, "Pad": _padded, "Range": _vector, "ScatterND": _as_first,
    "ScatterElements": _as_first, "GatherElements": _as_second, "Size": _scalar,
}  # fmt: skip
"""The shapes of the first results of an operator."""


def _elements(node: Node) -> Sizes:
    """The elements of a vector or a scalar of sizes."""
    match node.proto.op_type:
        case "Shape":
            return _dimensions(node)
        case "Gather" if len(node.shape()) == 1:
            x, indices = node.elements(0), node.integers("", 1)
            return tuple(x[from_the_front(index, len(x))] for index in indices)
        case "Concat" if len(node.shape(0)) == 1:
            return tuple(e for k in range(len(node.proto.input)) for e in node.elements(k))
        case "Unsqueeze" | "Squeeze" | "Identity":
            return node.elements(0)
        case "Cast" if node.attribute("to") == TensorProto.INT64:
            return node.elements(0)
        case "Slice" if len(node.shape()) == 1 and node.integers("steps", 4, [1]) == [1]:
            (start,), (end,) = node.integers("starts", 1), node.integers("ends", 2)
            return node.elements(0)[start:end]
    raise Rejected(f"there is no rule for the elements of a {node.proto.op_type}")


def _type(node: Node, index: int) -> str:
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
        if name and formal.type_str == text and formal.is_homogeneous:
            return str(node.model.known("type", name))
    raise Rejected(f"there is no rule for the type of a {op_type}")


def type_name(data_type: int) -> str:
    """The name of a type of elements."""
    return str(TensorProto.DataType.Name(data_type)).lower()


FLOATS = {"float16", "bfloat16", "float", "double"}
INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FAMILIES = {"float": FLOATS, "int": INTEGERS, "bool": {"bool"}, "": FLOATS | INTEGERS}
FAMILIES["any"] = FLOATS | INTEGERS | {"bool"}
PRELIMINARY = {
    "Div.R1": "R1", "Div.R2": "RG1", "Div.R3": "R2", "Div.R4": "R1", "Div.R5": "R5",
    "Sub.R1": "R1", "Sub.R2": "RG1", "Sub.R3": "R2",
}  # fmt: skip
"""What the rules of the preliminary edition demand, in the tags of the typed one."""


def demand_of(rule: str) -> tuple[str, str, str]:
    """The operator of a rule, what it demands as a tag of the typed edition, and for which types.

    Only a few tags mean the same for all operators; others are unknown, and their rules rejected.
    """
    parts = rule.split(".")
    operator, family, tag = parts[0], parts[1:-1], parts[-1]
    if rule in PRELIMINARY:
        return operator, PRELIMINARY[rule], ""
    if rule == "Cast.R2":
        return operator, "R2", "any"
    if len(family) == 1 and family[0] in FAMILIES:
        return operator, tag, family[0]
    return operator, tag if tag == "RG1" or operator == "Broadcast" else "", ""


class Model:
    """A model, and what steps have established of it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        opsets = [entry.version for entry in model.opset_import if not entry.domain]
        require(len(opsets) == 1 and opsets[0] in VERSIONS, "the version of the opset is not known")
        own = [function.name for function in model.functions if function.domain in ("", "ai.onnx")]
        require(not own, f"the model defines operators of ONNX: {own}")
        self.version, self._open = opsets[0], 0
        self._known: dict[str, dict[str, Any]] = {"type": {}, "shape": {}, "elements": {}}
        self._constants: dict[str, TensorProto] = {}
        self._producers: dict[str, NodeProto] = {}
        self._states: dict[str, tuple[NodeProto, int]] = {}
        self._sparse: set[str] = set()
        self._claims: dict[str, list[onnx.TensorShapeProto]] = {}
        self._true: set[str] = set()
        self._defined = Counter[str]()
        for graph in graphs_of(model.graph):
            self._take(graph)
        self._inputs = {value.name: value for value in model.graph.input}
        # Bodies beside each other may use the same names.
        self._ambiguous = {name for name, count in self._defined.items() if count > 1}

    def _take(self, graph: GraphProto) -> None:
        """Take in what a graph defines and claims."""
        inputs = {value.name: value.type for value in graph.input}
        tensors = {each.name: each for each in graph.initializer if each.name not in inputs}
        results = {name: node for node in graph.node for name in node.output if name}
        self._sparse |= {
            name for name, kind in inputs.items() if kind.HasField("sparse_tensor_type")
        }
        self._sparse |= {tensor.values.name for tensor in graph.sparse_initializer}
        self._defined.update([*inputs, *tensors, *(n for node in graph.node for n in node.output)])
        for node in graph.node:
            for body in bodies_of(node):
                self._states |= {value.name: (node, k) for k, value in enumerate(body.input)}
            for each in node.attribute if node.op_type == "Constant" else ():
                if each.name == "value":
                    tensors[node.output[0]] = each.t
                elif each.name == "sparse_value":
                    self._sparse.add(node.output[0])
        for value in (*graph.value_info, *graph.output, *graph.input):
            if value.type.tensor_type.HasField("shape"):
                self._claims.setdefault(value.name, []).append(value.type.tensor_type.shape)
        self._constants |= tensors
        self._producers |= results

    def knows(self, kind: str, value: str) -> bool:
        """Whether an earlier step has established this of a value."""
        return value in self._known[kind]

    def known(self, kind: str, value: str) -> Any:
        """What an earlier step has established."""
        require(self.knows(kind, value), f"no step gives the {kind} of '{value}'")
        return self._known[kind][value]

    def follow(self, value: str, kind: str) -> Any:
        """What is established of a value by one more step."""
        try:
            rules = {"type": self._type, "shape": self._shape, "elements": self._elements}
            require(kind in rules, "there are no such steps")
            require(value not in self._ambiguous, "several values have this name")
            found = rules[kind](value)
        except Rejected as reason:
            raise Rejected(f"the {kind} of '{value}' does not follow: {reason}") from reason
        except Exception as error:
            raise Rejected(f"the {kind} of '{value}' cannot be followed: {error!r}") from error
        self._known[kind][value] = found
        return list(found) if isinstance(found, tuple) else found

    def _node(self, value: str) -> tuple[Node, int]:
        known = value in self._producers and value not in self._ambiguous
        require(known, "no node computes it, or several")
        proto = self._producers[value]
        own = (proto.domain, proto.op_type) == ("sonnx", "Broadcast")
        require(own or not proto.domain, f"the domain {proto.domain} is not known")
        return Node(proto, self), list(proto.output).index(value)

    def _type(self, value: str) -> str:
        if value in self._inputs:
            return type_name(self._inputs[value].type.tensor_type.elem_type)
        if value in self._constants:
            return type_name(self._constants[value].data_type)
        if value in self._states:
            return self._type_of_state(*self._states[value])
        node, place = self._node(value)
        bodies = bodies_of(node.proto)
        if not bodies:
            return _type(node, place)
        # A Loop's body gives its condition first. ONNX Runtime holds types to be the same.
        place += node.proto.op_type == "Loop"
        types = {self.known("type", body.output[place].name) for body in bodies}
        require(len(types) == 1, "its branches differ")
        return str(types.pop())

    def _type_of_state(self, node: NodeProto, place: int) -> str:
        """The type of an input of a body, which has that of the operand in every step."""
        if node.op_type == "Loop" and place < 2:
            return ("int64", "bool")[place]
        known = node.op_type in ("Loop", "Scan") and place < len(node.input)
        require(known and not node.domain, f"the inputs of the body of a {node.op_type} are open")
        return str(self.known("type", node.input[place]))

    def _shape(self, value: str) -> tuple[Size, ...]:
        sizes: Sizes
        if value in self._inputs:
            declared = self._inputs[value].type.tensor_type
            require(declared.HasField("shape"), "its rank is not declared")
            sizes = tuple(map(_declared, declared.shape.dim))
        elif value in self._constants:
            sizes = tuple(self._constants[value].dims)
        else:
            node, place = self._node(value)
            require(node.proto.op_type in SHAPES, f"a {node.proto.op_type} has no rule")
            found = SHAPES[node.proto.op_type](node)
            require(place < len(found), f"result {place} has no rule")
            sizes = found[place]
        require(all(not isinstance(s, int) or s >= 0 for s in sizes), "a size is negative")
        return tuple(self._opened() if size is None else size for size in sizes)

    def _opened(self) -> str:
        """A new open size, with a name that no file can declare."""
        self._open += 1
        return f"?{self._open}"

    def _require_true_claims(self, value: str) -> None:
        """Reject a value on whose way the file claims a size that no step establishes.

        ONNX Runtime believes such claims: it computes a Shape from them, or removes a node.
        """
        waiting, seen = [value], set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or name in self._true:
                continue
            seen.add(name)
            for claim in self._claims.get(name, ()):
                sizes = [
                    each.dim_value if each.HasField("dim_value") else None for each in claim.dim
                ]
                found = self.known("shape", name)
                true = len(found) == len(sizes) and all(
                    size in (None, own) for size, own in zip(sizes, found, strict=True)
                )
                require(true, f"the file says that '{name}' has the shape {sizes}")
            if name in self._producers:
                node = self._producers[name]
                bodies = bodies_of(node)
                waiting += [each.name for body in bodies for each in body.output]
                waiting += filter(None, node.input)
        self._true |= seen

    def _true_shapes(self, values: Sequence[str]) -> list[tuple[Size, ...]]:
        """The shapes of values on whose way the file claims nothing else."""
        for value in values:
            self._require_true_claims(value)
        return [self.known("shape", value) for value in values]

    def _elements(self, value: str) -> tuple[Size, ...]:
        if value in self._constants:
            return tuple(int(each) for each in self._array(value, "iu").ravel().tolist())
        node, _ = self._node(value)
        if node.proto.op_type == "Shape":
            self._require_true_claims(node.name(0))
        found = _elements(node)
        return tuple(each for each in found if each is not None)

    def _array(self, value: str, kinds: str) -> Any:
        tensor = None if value in self._ambiguous else self._constants.get(value)
        inside = tensor is not None and tensor.data_location != TensorProto.EXTERNAL
        require(inside, f"'{value}' is no constant inside the model")
        array = numpy_helper.to_array(tensor or TensorProto())
        require(array.dtype.kind in kinds, f"'{value}' has no integers")
        return array

    def conclude(self, output: str, rule: str) -> None:
        """Conclude an obligation of the node that has this output, or reject it."""
        operator, demand, family = demand_of(rule)
        try:
            node, _ = self._node(output)
            require(operator == node.proto.op_type, f"the node is a {node.proto.op_type}")
            operands = [name for name in node.proto.input if name]
            self._conclude(operator, family, demand, operands)
        except Rejected as reason:
            raise Rejected(
                f"{rule} of the node of '{output}' does not follow: {reason}"
            ) from reason

    def _conclude(self, operator: str, family: str, demand: str, operands: Sequence[str]) -> None:
        match demand:
            case "RG1":
                require(self._sparse.isdisjoint(operands), "an operand is sparse")
            case "R1" if operator in _BROADCASTING:
                require(len({*self._true_shapes(operands)}) == 1, "shapes differ")
            case "R2":
                compared = operands[1:] if operator == "Where" else operands
                types = {self.known("type", name) for name in compared}
                require(len(types) == 1 and types <= FAMILIES[family], "types differ")
            case "E1" if operator == "Broadcast":
                axes = _axes(self._true_shapes(operands))
                require(all(map(_broadcastable, axes)), "the shapes do not fit")
            case "C1" if operator == "Broadcast":
                pass  # Its results have the types of its operands.
            case "C1" | "C2" | "R5" if operator in ("Div", "Mod"):
                self._divide(demand, family, operands[1])
            case _:
                raise Rejected("the rule is not known")

    def _divide(self, demand: str, family: str, divisor: str) -> None:
        """Conclude that an integer division has results, by the elements of the divisor."""
        if demand == "R5" and self.known("type", divisor) in FLOATS:
            return
        require(family != "float", "the rule is not known")
        if demand == "C2":
            if not self.known("type", divisor).startswith("u"):
                require((self._array(divisor, "i") != -1).all(), "an element is -1")
        else:
            require(self._array(divisor, "iu").all(), "an element is 0")


def _declared(dimension: Any) -> Size | None:
    if dimension.HasField("dim_value"):
        return int(dimension.dim_value)
    name = str(dimension.dim_param)
    return name if name.isidentifier() else None


def bodies_of(node: NodeProto) -> list[GraphProto]:
    """The bodies of a node."""
    return [each.g for each in node.attribute if each.type == AttributeProto.GRAPH]


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for body in bodies_of(node):
            yield from graphs_of(body)


def shared_symbols(model: onnx.ModelProto) -> list[str]:
    """The names of sizes that several axes of inputs have, on which they must agree in a run."""
    shapes = (value.type.tensor_type.shape.dim for value in model.graph.input)
    names = Counter(size.dim_param for shape in shapes for size in shape if size.dim_param)
    return sorted(name for name, count in names.items() if count > 1)


def check(content: bytes, certificate: Mapping[str, Any]) -> str:
    """Check the certificate of a model.

    Args:
        content: The file of the model.
        certificate: The certificate, read from JSON.

    Returns:
        How many obligations hold, and in which runs, as a sentence.

    Raises:
        Rejected: It proves less than it says, or is of another model.
    """
    require(isinstance(certificate, dict), "it is no certificate")
    require(certificate.get("format") == FORMAT, f"the format is not {FORMAT}")
    digest = hashlib.sha256(content).hexdigest()
    require(certificate.get("model") == digest, "it is the certificate of another model")
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:
        raise Rejected(f"the model cannot be read: {error}") from error
    agreed = shared_symbols(proto)
    require(certificate.get("agreed") == agreed, f"inputs have to agree on {agreed}")
    model = Model(proto)
    for value, kind, claim in certificate["steps"]:
        found = model.follow(value, kind)
        require(found == claim, f"the {kind} of '{value}' is {found}, not {claim}")
    for output, rule in certificate["obligations"]:
        model.conclude(output, rule)
    runs = f"every run whose inputs agree on {', '.join(agreed)}" if agreed else "every run"
    return f"{len(certificate['obligations'])} obligations hold in {runs}"


def main(arguments: Sequence[str]) -> int:
    """Check the certificate of a model; the exit status is 0, or 1 if it is rejected."""
    model, certificate = map(Path, arguments)
    try:
        print(check(model.read_bytes(), json.loads(certificate.read_text(encoding="utf-8"))))
    except (Rejected, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        print(f"rejected: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
