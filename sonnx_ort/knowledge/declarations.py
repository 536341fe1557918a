"""What a file declares of values, and what loops pass to their bodies.

The values that a Loop or Scan passes to its body and receives from it. Sources: ONNX operators
Loop, versions 1 to 25, and Scan, versions 9 to 25.

What a file declares of values: constants, types and shapes. A file can declare wrong types and
shapes, and ONNX Runtime only warns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import onnx_ir as ir

from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.kernel.sizes import NAME
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import Shape

_COUNTERS = 2
"""Number of leading inputs of a Loop's body: the iteration number and the condition."""

_LAST = 25
"""The last verified version of both operators."""

FIRST_WITHOUT_BATCH = 9
"""In earlier versions a Scan had an additional batch axis."""


@dataclass(frozen=True, slots=True)
class State:
    """A loop-carried value: initial one, input and output of the body, output of the node."""

    initial: ir.Value
    taken: ir.Value
    given: ir.Value
    final: ir.Value


@dataclass(frozen=True, slots=True)
class Iteration:
    """A Loop or Scan.

    Attributes:
        counters: The body's inputs for the iteration number and the condition.
        states: The loop-carried values.
        elements: The inputs of a Scan's body that get a slice in each iteration, with the scanned
            tensor and axis.
        collected: The node's scan outputs, with the body's outputs that they concatenate.
    """

    body: ir.Graph
    counters: Sequence[ir.Value]
    states: Sequence[State]
    elements: Sequence[tuple[ir.Value, ir.Value, int]] = ()
    collected: Sequence[tuple[ir.Value, ir.Value]] = ()


def iteration_of(node: ir.Node, version: int) -> Iteration | None:
    """The values passed between a node and its body; None if it is not a verified Loop or Scan."""
    if node.domain != STANDARD_DOMAIN or node.op_type not in ("Loop", "Scan"):
        return None
    since = operator_version(node.op_type, version)
    if since > _LAST:
        return None
    if node.op_type == "Loop":
        return loop_of(node)
    subgraphs = subgraphs_of(node)
    verified = len(subgraphs) == 1 and since >= FIRST_WITHOUT_BATCH
    return _scan(node, subgraphs[0]) if verified else None


def loop_of(node: ir.Node) -> Iteration | None:
    """The values passed between a Loop and its body; None if the node is no Loop."""
    if (node.domain, node.op_type) != (STANDARD_DOMAIN, "Loop"):
        return None
    subgraphs = subgraphs_of(node)
    if len(subgraphs) != 1:
        return None
    (body,) = subgraphs
    count = max(len(node.inputs) - _COUNTERS, 0)
    taken, given = body.inputs[_COUNTERS:], body.outputs[1:]
    return Iteration(
        body,
        body.inputs[:_COUNTERS],
        _states(node.inputs[_COUNTERS:], taken, given, node),
        collected=list(zip(node.outputs[count:], given[count:], strict=False)),
    )


def _scan(node: ir.Node, body: ir.Graph) -> Iteration | None:
    scanned = node.attributes.get_int("num_scan_inputs", 0)
    count = len(node.inputs) - scanned
    if not 0 <= scanned <= len(node.inputs):
        return None
    axes = node.attributes.get_ints("scan_input_axes") or [0] * scanned
    if len(axes) != scanned:
        return None
    elements = zip(body.inputs[count:], node.inputs[count:], axes, strict=False)
    return Iteration(
        body,
        (),
        _states(node.inputs[:count], body.inputs[:count], body.outputs[:count], node),
        [(taken, tensor, axis) for taken, tensor, axis in elements if tensor is not None],
        list(zip(node.outputs[count:], body.outputs[count:], strict=False)),
    )


def _states(
    initial: Sequence[ir.Value | None],
    taken: Sequence[ir.Value],
    given: Sequence[ir.Value],
    node: ir.Node,
) -> list[State]:
    carried = zip(initial, taken, given, node.outputs, strict=False)
    return [State(first, *others) for first, *others in carried if first is not None]


def constant_tensor(value: ir.Value) -> ir.TensorProtocol | None:
    """The tensor of an initializer or of a Constant.

    An initializer that a graph input can override is not a constant. External data may be large or
    unavailable.

    Returns:
        The tensor; None if the elements may vary, are in external data, or are given twice.
    """
    if value.is_graph_input():
        return None
    node = value.producer()
    tensor = value.const_value if node is None else _produced(node)
    return None if isinstance(tensor, ir.ExternalTensor) else tensor


def _produced(node: ir.Node) -> ir.TensorProtocol | None:
    if (node.domain, node.op_type) != (STANDARD_DOMAIN, "Constant"):
        return None
    attribute = node.attributes.get("value")
    if len(node.attributes) == 1 and attribute is not None and not attribute.is_ref():
        # A faster path: the general one below renames the tensor and checks its protocol.
        tensor: ir.TensorProtocol = attribute.value
        return tensor
    try:
        return ir.convenience.get_const_tensor(node.outputs[0])
    except ValueError:
        # A Constant with two attributes, which ONNX Runtime accepts.
        return None


def declared_type(value: ir.Value) -> str | None:
    """The ONNX name of the declared element type, such as "int32"; None if none is declared."""
    return None if value.dtype is None else type_name(value.dtype)


def type_name(dtype: ir.DataType) -> str:
    """The ONNX name of an element type of onnx_ir."""
    return dtype.name.lower()


def declared_shape(value: ir.Value) -> Shape | None:
    """The declared shape; None if the rank is not declared. A negative size counts as unknown."""
    if value.shape is None:
        return None
    sizes = (d if isinstance(d, int) else d.value for d in value.shape)
    return tuple(None if isinstance(size, int) and size < 0 else size for size in sizes)


# Compared by identity, because `isinstance` of these takes ten times as long.


def is_sparse(value: ir.Value) -> bool:
    """Whether the value is declared as a sparse tensor or as a container of sparse tensors."""
    declared: Any = value.type
    while type(declared) in (ir.SequenceType, ir.OptionalType):
        declared = declared.elem_type
    return type(declared) is ir.SparseTensorType


Declarations = Mapping[ir.Value, ir.TypeAndShape]
"""What is declared of values: their types and shapes."""

NOTHING_DECLARED: Declarations = MappingProxyType({})


def declared_of(values: Iterable[ir.Value]) -> Declarations:
    """What the file declares of values; of constants it need not declare anything."""
    return {
        value: ir.TypeAndShape(value.type, value.shape)
        for value in values
        if value.name and value.type is not None and not value.is_initializer()
    }


def collected_by_loops(graph: ir.Graph) -> Iterator[ir.Value]:
    """The scan outputs of Loop bodies."""
    for node in every_node(graph):
        iteration = loop_of(node)
        if iteration is not None:
            yield from (value for _, value in iteration.collected if not value.is_initializer())


def declared_axes(graph: ir.Graph) -> list[tuple[str, tuple[int | str | None, ...] | None]]:
    """The names of a graph's inputs, each with its declared axes; None if of any rank.

    An axis is a size, a name, or None for what names no size.
    """
    return [
        (str(value.name), None if value.shape is None else tuple(map(_axis, value.shape)))
        for value in graph.inputs
    ]


def _axis(size: int | ir.SymbolicDim) -> int | str | None:
    match size:
        case int() if size >= 0:
            return size
        case ir.SymbolicDim(value=str() as name) if NAME.fullmatch(name):
            return name
    return None
