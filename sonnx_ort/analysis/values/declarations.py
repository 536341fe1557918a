"""What a file declares of values, and what loops pass to their bodies.

The values that a Loop or Scan passes to its body and receives from it. Sources: ONNX operators
Loop, versions 1 to 25, and Scan, versions 9 to 25.

What a file declares of values: constants, types and shapes. A file can declare wrong types and
shapes, and ONNX Runtime only warns.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import onnx_ir as ir

from sonnx_ort.facts.sizes import NAME
from sonnx_ort.facts.types import Type, optional_of, sequence_of, tensor_of
from sonnx_ort.loading.serialization import holds_another_type
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import Shape


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
    tensor = value.const_value if node is None else _tensor_of_constant(node)
    return None if tensor is None or _is_external(type(tensor)) else tensor


@cache
def _is_external(kind: type[ir.TensorProtocol]) -> bool:
    """Whether tensors of a class are in external data; to ask an instance looks at its protocol."""
    return issubclass(kind, ir.ExternalTensor)


def _tensor_of_constant(node: ir.Node) -> ir.TensorProtocol | None:
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


def written_type(kind: ir.TypeProtocol) -> Type:
    """A type as ONNX writes it; None for one that the graph library does not know."""
    match kind:
        case ir.TensorType():
            return tensor_of(type_name(kind.dtype))
        case ir.SparseTensorType():
            return f"sparse_tensor({type_name(kind.dtype)})"
        case ir.SequenceType():
            return sequence_of(written_type(kind.elem_type))
        case ir.OptionalType() if not holds_another_type(kind):
            return optional_of(written_type(kind.elem_type))
    return None


def declared_shape(value: ir.Value) -> Shape | None:
    """The declared shape; None if the rank is not declared."""
    return None if value.shape is None else sizes_of(value.shape)


def sizes_of(declared: Iterable[int | ir.SymbolicDim]) -> Shape:
    """The sizes of a declared shape. A negative size counts as unknown."""
    sizes = (d if isinstance(d, int) else d.value for d in declared)
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


def declared_axes(graph: ir.Graph) -> list[tuple[str, tuple[int | str | None, ...] | None]]:
    """The names of a graph's inputs, each with its declared axes; None if of any rank.

    An axis is a size, a name, or None for what names no size.
    """
    return [
        (str(value.name), None if value.shape is None else tuple(map(_axis, value.shape)))
        for value in graph.inputs
    ]


def _axis(size: int | ir.SymbolicDim) -> int | str | None:
    """The size or the name of an axis; None if it is negative or no valid name."""
    match size:
        case int() if size >= 0:
            return size
        case ir.SymbolicDim(value=str() as name) if NAME.fullmatch(name):
            return name
    return None
