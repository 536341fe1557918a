"""What a file declares of its values, which is knowledge of the file and not of any run.

A file can declare types and shapes falsely, and ONNX Runtime only warns; so there is a copy of a
graph without all that does not follow from anything.
"""

import re
from collections.abc import Iterable, Iterator

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.iteration import loop_of
from sonnx_ort.loading.traversal import defined_values
from sonnx_ort.profile.operand import Shape


def declared_type(value: ir.Value) -> str | None:
    """The ONNX name of the declared element type: "float", "int32"; None if none is declared.

    Args:
        value: A value of a graph.
    """
    return None if value.dtype is None else type_name(value.dtype)


def type_name(dtype: ir.DataType) -> str:
    """The ONNX name of an element type.

    Args:
        dtype: The type as the graph library knows it.
    """
    return dtype.name.lower()


def declared_shape(value: ir.Value) -> Shape | None:
    """The declared shape; None if not even the rank is declared. A negative size says nothing.

    Args:
        value: A value of a graph.
    """
    if value.shape is None:
        return None
    sizes = (d if isinstance(d, int) else d.value for d in value.shape)
    return tuple(None if isinstance(size, int) and size < 0 else size for size in sizes)


# A union is made anew each time it is written.
_CONTAINERS = (ir.SequenceType, ir.OptionalType)


def is_sparse(value: ir.Value) -> bool:
    """Whether the value is declared as a sparse tensor, or as holding sparse tensors.

    Args:
        value: A value of a graph.
    """
    declared: object = value.type
    while isinstance(declared, _CONTAINERS):
        declared = declared.elem_type
    return isinstance(declared, ir.SparseTensorType)


_LARGE = 1024
"""Initializers of more bytes than this are declared only; no shape is computed from them."""

SYMBOL = re.compile(r"[^\W\d]\w*")
"""The name of a dimension that can be a symbol; others, such as "?", say nothing."""


def without_claims(model: ir.Model, kept: Iterable[ir.Value] = ()) -> ir.Model:
    """Copy a model and forget all types and shapes that do not follow from anything.

    Types of intermediate values, of outputs and of the inputs of subgraphs are claims: a file can
    state them falsely, and ONNX Runtime only warns. Initializers that an input of the same name
    can override are inputs. Dimension names that no symbol can have, such as "?", and negative
    sizes say nothing.

    Args:
        model: The model; not modified.
        kept: Values of the model whose declarations are kept all the same.

    Returns:
        A copy with the same nodes in the same order; its initializers may have become inputs.
    """
    copy = model.clone()
    graph = copy.graph
    copies = dict(zip(defined_values(model.graph), defined_values(graph), strict=True))
    # What a function computes is as doubtful as its nodes, which nothing looks into here.
    copy.functions.clear()
    for graph_input in graph.inputs:
        _forget_odd_dimensions(graph_input)
    _rest_on_tensors(graph)
    for value in list(graph.initializers.values()):
        if _is_large(value.const_value):
            _declare_only(graph, value)
    for body in graph.subgraphs():
        _rest_on_tensors(body)
        for value in body.inputs:
            _forget(value)
    for node in RecursiveGraphIterator(graph):
        for output in node.outputs:
            _forget(output)
    for value in kept:
        copies[value].type, copies[value].shape = value.type, value.shape
    return copy


def collected_by_loops(graph: ir.Graph) -> Iterator[ir.Value]:
    """The outputs of Loop bodies that are collected, where the file declares their shapes.

    Args:
        graph: The main graph.
    """
    for node in RecursiveGraphIterator(graph):
        iteration = loop_of(node)
        if iteration is not None:
            collected = (value for _, value in iteration.collected)
            yield from (value for value in collected if value.shape is not None)


def _rest_on_tensors(graph: ir.Graph) -> None:
    """Have initializers be what their tensors are, and inputs where these can override them."""
    for value in graph.inputs:
        if value.is_initializer():
            del graph.initializers[str(value.name)]
    for value in graph.initializers.values():
        if value.const_value is not None:
            value.type = ir.TensorType(value.const_value.dtype)
            value.shape = ir.Shape(value.const_value.shape.numpy())


def _is_large(tensor: ir.TensorProtocol | None) -> bool:
    return isinstance(tensor, ir.ExternalTensor) or (tensor is not None and tensor.nbytes > _LARGE)


def _declare_only(graph: ir.Graph, value: ir.Value) -> None:
    del graph.initializers[str(value.name)]
    value.const_value = None
    graph.inputs.append(value)


def _forget_odd_dimensions(value: ir.Value) -> None:
    if value.shape is not None:
        value.shape = ir.Shape([_known(dimension) for dimension in value.shape])


def _known(dimension: int | ir.SymbolicDim) -> int | str | None:
    match dimension:
        case int() if dimension >= 0:
            return dimension
        case ir.SymbolicDim(value=str() as name) if SYMBOL.fullmatch(name):
            return name
    return None


def _forget(value: ir.Value) -> None:
    value.type = None
    value.shape = None
