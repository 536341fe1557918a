"""`onnx.shape_inference` without what ends the process or takes all memory.

It ends the process at a Slice of a tensor that it believes to have a negative size, such as the
result of a Conv whose kernel is larger than its operand, and at a LayerNormalization with several
results and an axis before the first one. ONNX Runtime infers by the same functions, so that a
session ends the process at such a Slice too. So these nodes are hidden until what they read is
known. And the elements of vectors are followed one by one, though only short ones can be shapes.
"""

import enum
import functools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import onnx
import onnx.defs

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_graphs, all_nodes, bodies_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_FOLLOWED_BY = ("data_propagation_function", "function", "context_dependent_function")
"""What an operator's schema has where inference follows the elements of its operands."""

_HIDDEN = "sonnx_ort.hidden"
"""A domain that inference knows nothing of, nor of the results of its operators."""

_MANY = 1 << 22
"""Elements of vectors; following one takes 70 bytes."""

_SIZES_STAY_POSITIVE = frozenset(
    [
        *("Abs", "Add", "And", "BatchNormalization", "Cast", "Ceil", "Clip", "Concat", "Constant"),
        *("Cos", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Flatten", "Floor", "Gather"),
        *("GatherElements", "Gelu", "Gemm", "Greater", "GreaterOrEqual", "HardSigmoid"),
        *("HardSwish", "Identity", "InstanceNormalization", "LayerNormalization", "LeakyRelu"),
        *("Less", "LessOrEqual", "Log", "LogSoftmax", "MatMul", "Max", "Min", "Mish", "Mod"),
        *("Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "ReduceL2", "ReduceMax"),
        *("ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape", "Round"),
        *("Shape", "Sigmoid", "Sign", "Sin", "Slice", "Softmax", "Softplus", "Sqrt", "Squeeze"),
        *("Sub", "Tanh", "Transpose", "Unsqueeze", "Where", "Xor"),
    ]
)
"""Operators to whose results inference gives no negative size where no operand has one."""

Sizes = tuple[int, ...]
"""The known sizes of a tensor; -1 and smaller ones where inference errs."""


@dataclass(frozen=True, slots=True)
class InferredModel:
    """What inference says of a model.

    Attributes:
        proto: The model with types and shapes.
        complete: Whether the elements of vectors were followed, on which shapes can depend.
    """

    proto: onnx.ModelProto
    complete: bool


def infer(proto: onnx.ModelProto) -> InferredModel:
    """Infer types and shapes.

    Args:
        proto: The model; its functions are not looked into. It is changed and changed back.

    Raises:
        InvalidModel: ONNX Runtime, which infers by the same functions, would end the process.
        Exception: Inference fails in its own way.
    """
    waiting = [node for node in all_nodes(proto) if _is_dangerous(node)]
    if not waiting:
        return _inferred(proto)
    hidden = proto.opset_import.add(domain=_HIDDEN)
    for node in waiting:
        node.domain = _HIDDEN
    try:
        return _inferred_in_steps(proto, waiting)
    finally:
        for node in waiting:
            node.ClearField("domain")
        proto.opset_import.remove(hidden)


def _inferred_in_steps(proto: onnx.ModelProto, waiting: Sequence[onnx.NodeProto]) -> InferredModel:
    """Show inference more of the hidden nodes in each step."""
    while True:
        inferred = _inferred(proto)
        shapes = _shapes(inferred.proto)
        ready, waiting = _separated(proto, waiting, shapes)
        if not ready:
            return _shown(inferred)
        for node in ready:
            _require_harmless(node, shapes)
            node.ClearField("domain")


def _shown(inferred: InferredModel) -> InferredModel:
    """The model without any trace of hidden nodes; one that stays hidden has unknown results."""
    complete = inferred.complete
    for node in all_nodes(inferred.proto):
        if node.domain == _HIDDEN:
            node.ClearField("domain")
            complete = False
    return InferredModel(inferred.proto, complete)


def _inferred(proto: onnx.ModelProto) -> InferredModel:
    without = onnx.shape_inference.infer_shapes(proto)
    if _followed_elements(without) > _MANY:
        return InferredModel(without, complete=False)
    return InferredModel(onnx.shape_inference.infer_shapes(proto, data_prop=True), complete=True)


def _followed_elements(inferred: onnx.ModelProto) -> int:
    """How many elements of vectors inference would follow."""
    long = {
        name: sizes[0]
        for name, each in _shapes(inferred).items()
        for sizes in each
        if len(sizes) == 1 and sizes[0] > 1
    }
    versions = {entry.domain: entry.version for entry in inferred.opset_import}
    return sum(
        long.get(name, 0)
        for node in all_nodes(inferred)
        if node.domain == STANDARD_DOMAIN
        and _follows_elements(node.op_type, versions[STANDARD_DOMAIN])
        for name in node.input
    )


def _shapes(inferred: onnx.ModelProto) -> dict[str, list[Sizes]]:
    """The shapes of all tensors by name; graphs beside each other may use one name twice."""
    found: dict[str, list[Sizes]] = {}
    for graph in all_graphs(inferred):
        for values in (graph.input, graph.value_info, graph.output):
            for value in values:
                kind = value.type.tensor_type
                if kind.HasField("shape"):
                    sizes = tuple(dimension.dim_value for dimension in kind.shape.dim)
                    found.setdefault(value.name, []).append(sizes)
    return found


def _is_dangerous(node: onnx.NodeProto) -> bool:
    return (node.domain, node.op_type) in _DANGERS and bool(node.input)


def _require_harmless(node: onnx.NodeProto, shapes: Mapping[str, Sequence[Sizes]]) -> None:
    danger = _DANGERS[STANDARD_DOMAIN, node.op_type]
    for sizes in shapes.get(node.input[0], ()):
        reason = danger(node, sizes)
        if reason:
            label = node.name or f"(output {next(filter(None, node.output), '')})"
            raise InvalidModel(
                f"{node.op_type} '{label}': {reason}, at which shape inference and ONNX Runtime "
                "can end the process; mend the node, or what its operand is computed by"
            )


def _negative_size(node: onnx.NodeProto, sizes: Sizes) -> str:
    negative = next((size for size in sizes if size < 0), None)
    return "" if negative is None else f"its operand '{node.input[0]}' has a size of {negative}"


def _axis_outside(node: onnx.NodeProto, sizes: Sizes) -> str:
    if len(node.output) == 1:
        return ""
    axis = next((a.i for a in node.attribute if a.name == "axis"), -1)
    rank = len(sizes)
    return "" if -rank <= axis < rank else f"its axis is {axis}, and its operand has {rank} axes"


def _too_few_axes(node: onnx.NodeProto, sizes: Sizes) -> str:
    """ONNX Runtime refuses these when it starts, unless enforcement hides the shape from it."""
    return "" if len(sizes) > 1 else f"its operand '{node.input[0]}' has fewer than two axes"


_DANGERS: Mapping[tuple[str, str], Callable[[onnx.NodeProto, Sizes], str]] = {
    (STANDARD_DOMAIN, "Slice"): _negative_size,
    (STANDARD_DOMAIN, "LayerNormalization"): _axis_outside,
    (STANDARD_DOMAIN, "DFT"): _too_few_axes,
}
"""What ends the process, by domain and operator: says of a node and its operand's sizes why."""


class _Doubt(enum.IntEnum):
    """What is known of the sizes of a tensor in a step."""

    NONE = 0
    UNKNOWN = 1
    """It depends on a hidden node, but no size is negative."""
    NEGATIVE = 2
    """A size is, or could be."""


def _separated(
    proto: onnx.ModelProto, waiting: Sequence[onnx.NodeProto], shapes: Mapping[str, Sequence[Sizes]]
) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
    """Separate the hidden nodes whose operand is known well enough from the others."""
    negative = {
        name for name, each in shapes.items() if any(size < 0 for sizes in each for size in sizes)
    }
    doubts: dict[str, _Doubt] = {}
    _follow(proto.graph.node, negative, doubts)
    ready: list[onnx.NodeProto] = []
    others: list[onnx.NodeProto] = []
    for node in waiting:
        allowed = _Doubt.UNKNOWN if node.op_type == "Slice" else _Doubt.NONE
        known = doubts.get(node.input[0], _Doubt.NONE) <= allowed
        (ready if known else others).append(node)
    return ready, others


def _follow(
    nodes: Iterable[onnx.NodeProto],
    negative: Container[str],
    doubts: dict[str, _Doubt],
) -> None:
    """Find what depends on hidden nodes, and what is known of it.

    Args:
        nodes: The nodes of a graph.
        negative: The tensors of which a negative size is known.
        doubts: What is found is put here, by the names of tensors; it has what is found outside.
    """
    for node in nodes:
        doubt = _greatest(node.input, doubts)
        for graph in bodies_of(node):
            doubts.update((value.name, doubt) for value in graph.input)
            _follow(graph.node, negative, doubts)
            doubt = max(doubt, _greatest((value.name for value in graph.output), doubts))
        if node.domain == _HIDDEN:
            doubt = max(doubt, _Doubt.UNKNOWN)
        keeps = node.op_type in _SIZES_STAY_POSITIVE and not any(n in negative for n in node.input)
        if doubt > _Doubt.NONE and not keeps:
            doubt = _Doubt.NEGATIVE
        doubts.update((name, doubt) for name in node.output)


def _greatest(names: Iterable[str], doubts: Mapping[str, _Doubt]) -> _Doubt:
    return max((doubts.get(name, _Doubt.NONE) for name in names), default=_Doubt.NONE)


@functools.cache
def _follows_elements(name: str, version: int) -> bool:
    """Whether inference follows the elements of what a standard operator reads."""
    try:
        schema = onnx.defs.get_schema(name, version)
    except onnx.defs.SchemaError:
        return False
    return any(getattr(schema, f"has_{kind}") for kind in _FOLLOWED_BY)
