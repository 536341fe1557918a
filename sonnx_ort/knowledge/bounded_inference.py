"""Runs `onnx.shape_inference` without crashes and without exhausting memory.

Shape inference crashes the process at a Slice of a tensor with an inferred negative size, such as
the result of a Conv whose kernel is larger than its operand, and at a LayerNormalization with
several results and an axis before the first one. At a ConstantOfShape of a long vector it takes all
memory. ONNX Runtime shares these functions, so a session ends the process too. Therefore these
nodes are hidden until their operands are known. Each step infers the whole model again, so a Slice
behind operators that give no negative size is not hidden, nor is a ConstantOfShape of a vector that
is surely short.

Inference also propagates the elements of vectors one by one, although only short vectors can be
shapes. It narrows the step of a Slice to 32 bits, and then takes memory without limit, or ends the
process. So elements are propagated only if all vectors are short and every such step is near.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.kernel.sizes import is_within, reach
from sonnx_ort.knowledge.inferred_axes import MOST_AXES, OF_ELEMENTS, open_axes
from sonnx_ort.knowledge.propagated_elements import propagation_is_bounded
from sonnx_ort.loading.traversal import all_graphs, all_nodes, bodies_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_HIDDEN = "sonnx_ort.hidden"
"""A domain unknown to inference, so that the results of its operators are unknown."""

_SIZES_STAY_POSITIVE = frozenset(
    [
        *("Abs", "Add", "And", "BatchNormalization", "Cast", "Ceil", "Clip", "Concat", "Constant"),
        *("Cos", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Flatten", "Floor", "Gather"),
        *("GatherElements", "Gelu", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "Greater"),
        *("GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "InstanceNormalization"),
        *("LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax"),
        *("MatMul", "Max", "Min", "Mish", "Mod"),
        *("Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "ReduceL2", "ReduceMax"),
        *("ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape", "Round"),
        *("Shape", "Sigmoid", "Sign", "Sin", "Slice", "Softmax", "Softplus", "Sqrt", "Squeeze"),
        *("Sub", "Tanh", "Transpose", "Unsqueeze", "Where", "Xor"),
    ]
)
"""Operators that get no negative size from inference if their operands have none."""

_WINDOWS = frozenset(["AveragePool", "Conv", "MaxPool"])
"""Operators for which this holds if their window fits even an axis of size 0."""

Sizes = tuple[int, ...]
"""The known sizes of a tensor; 0 if one is unknown, negative where inference is wrong."""

Shapes = Mapping[str, Sequence[Sizes]]
"""The inferred shapes of all tensors by name; separate subgraphs may use the same name."""


@dataclass(frozen=True, slots=True)
class InferredModel:
    """The inferred model; complete if vector elements, which shapes depend on, were propagated."""

    proto: onnx.ModelProto
    complete: bool


def infer(proto: onnx.ModelProto) -> InferredModel:
    """Infer types and shapes; modifies the model temporarily and ignores its functions.

    Raises:
        InvalidModel: ONNX Runtime, which uses the same functions, would crash or take all memory.
        Exception: Inference fails.
    """
    opened = open_axes(proto)
    dangerous = [node for node in all_nodes(proto) if _is_dangerous(node, opened)]
    _, waiting = _split_by_readiness(proto, dangerous, None)
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
    """Unhide more nodes in each step, as the shapes of their operands become known."""
    while True:
        inferred = _inferred(proto)
        shapes = _shapes(inferred.proto)
        ready, waiting = _split_by_readiness(proto, waiting, shapes)
        if not ready:
            return _unhidden(inferred)
        for node in ready:
            _require_harmless(node, shapes)
            node.ClearField("domain")


def _unhidden(inferred: InferredModel) -> InferredModel:
    """The model with its original domains; the results of nodes still hidden are unknown."""
    complete = inferred.complete
    for node in all_nodes(inferred.proto):
        if node.domain == _HIDDEN:
            node.ClearField("domain")
            complete = False
    return InferredModel(inferred.proto, complete)


def _inferred(proto: onnx.ModelProto) -> InferredModel:
    without_elements = onnx.shape_inference.infer_shapes(proto)
    if propagation_is_bounded(without_elements, _shapes(without_elements)):
        return InferredModel(onnx.shape_inference.infer_shapes(proto, data_prop=True), True)
    return InferredModel(without_elements, complete=False)


def _shapes(inferred: onnx.ModelProto) -> Shapes:
    found: dict[str, list[Sizes]] = {}
    for graph in all_graphs(inferred):
        for values in (graph.input, graph.value_info, graph.output):
            for value in values:
                kind = value.type.tensor_type
                if kind.HasField("shape"):
                    sizes = tuple(dimension.dim_value for dimension in kind.shape.dim)
                    found.setdefault(value.name, []).append(sizes)
    return found


def _is_dangerous(node: onnx.NodeProto, opened: Set[str]) -> bool:
    if node.op_type in OF_ELEMENTS:
        return not opened.isdisjoint(node.output)
    if node.op_type == "LayerNormalization" and len(node.output) == 1:
        return False
    return (node.domain, node.op_type) in _DANGERS and bool(node.input)


def _require_harmless(node: onnx.NodeProto, shapes: Shapes) -> None:
    danger = _DANGERS[STANDARD_DOMAIN, node.op_type]
    for sizes in shapes.get(_decisive(node), ()):
        reason = danger(node, sizes)
        if reason:
            label = node.name or f"(output {next(filter(None, node.output), '')})"
            raise InvalidModel(
                f"{node.op_type} '{label}': {reason}, at which shape inference and ONNX Runtime "
                "can end the process; correct the node, or the nodes that compute its operand"
            )


def _negative_size(node: onnx.NodeProto, sizes: Sizes) -> str:
    negative = next((size for size in sizes if size < 0), None)
    return "" if negative is None else f"its operand '{node.input[0]}' has a size of {negative}"


def _axis_outside(node: onnx.NodeProto, sizes: Sizes) -> str:
    axis = next((a.i for a in node.attribute if a.name == "axis"), -1)
    rank = len(sizes)
    return "" if -rank <= axis < rank else f"its axis is {axis}, and its operand has {rank} axes"


def _too_few_axes(node: onnx.NodeProto, sizes: Sizes) -> str:
    """ONNX Runtime rejects these at startup, unless enforcement hides the shape from it."""
    return "" if len(sizes) > 1 else f"its operand '{node.input[0]}' has fewer than two axes"


def _decisive(node: onnx.NodeProto) -> str:
    """The operand on which it depends whether a node is dangerous."""
    name: str = node.input[-1 if node.op_type in OF_ELEMENTS else 0]
    return name


def _too_many_axes(node: onnx.NodeProto, sizes: Sizes) -> str:
    count = max(sizes, default=0)
    named = f"its operand '{_decisive(node)}' has {count} elements, one for each axis"
    return named if count > MOST_AXES else ""


_DANGERS: Mapping[tuple[str, str], Callable[[onnx.NodeProto, Sizes], str]] = {
    (STANDARD_DOMAIN, "Slice"): _negative_size,
    (STANDARD_DOMAIN, "LayerNormalization"): _axis_outside,
    (STANDARD_DOMAIN, "DFT"): _too_few_axes,
    **{(STANDARD_DOMAIN, operator): _too_many_axes for operator in OF_ELEMENTS},
}
"""Operators that can crash the process, with a function that returns why, or an empty string."""


class _Doubt(enum.IntEnum):
    """What is known about the sizes of a tensor in a step."""

    NONE = 0
    UNKNOWN = 1
    """The tensor depends on a hidden node, but no size is negative."""
    NEGATIVE = 2
    """A size is or may be negative."""


def _split_by_readiness(
    proto: onnx.ModelProto, waiting: Sequence[onnx.NodeProto], shapes: Shapes | None
) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
    """Split dangerous nodes into those with sufficiently known operands and the others.

    `shapes` is None before the first inference: then every size is unknown.
    """
    doubts: dict[str, _Doubt] = {}
    _propagate(proto.graph.node, shapes, doubts)
    ready: list[onnx.NodeProto] = []
    others: list[onnx.NodeProto] = []
    for node in waiting:
        doubt = doubts.get(node.input[0], _Doubt.NONE)
        if node.op_type in OF_ELEMENTS:
            # A number of elements that is unknown without their propagation may follow from it.
            known = shapes is not None and any(map(any, shapes.get(_decisive(node), ())))
        elif node.op_type == "Slice":
            known = doubt <= _Doubt.UNKNOWN
        else:
            known = shapes is not None and doubt is _Doubt.NONE
        (ready if known else others).append(node)
    return ready, others


def _propagate(
    nodes: Iterable[onnx.NodeProto], shapes: Shapes | None, doubts: dict[str, _Doubt]
) -> None:
    """Propagate doubts through nodes, extending `doubts` by tensor name in place."""
    for node in nodes:
        doubt = _maximum(node.input, doubts)
        for graph in bodies_of(node):
            of_inputs = _Doubt.NEGATIVE if shapes is None else doubt
            doubts.update((value.name, of_inputs) for value in graph.input)
            _propagate(graph.node, shapes, doubts)
            doubt = max(doubt, _maximum((value.name for value in graph.output), doubts))
        if node.domain == _HIDDEN:
            doubt = max(doubt, _Doubt.UNKNOWN)
        uncertain = shapes is None or doubt > _Doubt.NONE
        if uncertain and not _keeps_sizes_positive(node, shapes):
            doubt = _Doubt.NEGATIVE
        doubts.update((name, doubt) for name in node.output)


def _keeps_sizes_positive(node: onnx.NodeProto, shapes: Shapes | None) -> bool:
    """Whether a node gets no negative size from inference, unless an unknown operand has one."""
    known = {} if shapes is None else shapes
    if any(size < 0 for name in node.input for sizes in known.get(name, ()) for size in sizes):
        return False
    if node.op_type in _WINDOWS:
        return _window_fits(node, known)
    return node.op_type in _SIZES_STAY_POSITIVE


def _window_fits(node: onnx.NodeProto, shapes: Shapes) -> bool:
    """Whether a window, with its padding and in its steps, fits even an axis of size 0."""
    given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    kernel = given.get("kernel_shape")
    if kernel is None:
        kernels = shapes.get(node.input[1], ()) if node.op_type == "Conv" else ()
        if len(kernels) != 1:
            return False
        kernel = kernels[0][2:]
    axes = len(kernel)
    strides, dilations = given.get("strides", [1] * axes), given.get("dilations", [1] * axes)
    pads = given.get("pads", [0] * 2 * axes)
    if given.get("auto_pad", b"NOTSET") != b"NOTSET" or given.get("ceil_mode"):
        return False
    numbers = [*kernel, *strides, *dilations]
    if min(numbers, default=1) < 1 or not is_within([*numbers, *pads]):
        return False
    if (len(strides), len(dilations), len(pads)) != (axes, axes, 2 * axes):
        return False
    return all(
        reach(kernel[i], dilations[i]) <= pads[i] + pads[axes + i] + strides[i] for i in range(axes)
    )


def _maximum(names: Iterable[str], doubts: Mapping[str, _Doubt]) -> _Doubt:
    return max((doubts.get(name, _Doubt.NONE) for name in names), default=_Doubt.NONE)
