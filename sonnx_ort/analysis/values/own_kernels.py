"""What our own kernels give, which enforced models have: shapes, elements and types of results.

It is loaded for models with such nodes alone.
"""

import functools
from collections.abc import Sequence

from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS, KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.inspection import CHECKED_ELEMENTS, Inspection
from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.facts.node import Node
from sonnx_ort.facts.sizes import PartialSizes, Rejected, require
from sonnx_ort.facts.types import Type, TypedNode, tensor_of

_KERNELS = {custom.name: custom for custom in CUSTOM_OPERATORS.values()}
"""The custom operators whose results have the shape of their first operand."""

_CHECKED = CHECKED_ELEMENTS[0].name
"""The custom operator whose result is the shape of its operand."""


def shapes_of_kernel(node: Node) -> Sequence[PartialSizes | None]:
    """The shapes of the result, and of its shape as a vector, in every run that continues.

    Raises:
        Rejected: Nothing is known of them.
    """
    custom = _KERNELS.get(node.op_type)
    if _gives_shape(node, custom):
        return (len(node.shape(0)),), (1,)
    if custom is None:
        raise Rejected(f"a {node.op_type} has no rule")
    sizes = _shape_of_first(node, custom)
    return sizes, (len(sizes),)


def elements_of_kernel(node: Node, place: int) -> PartialSizes:
    """The elements of a result: the last one is a shape, and the first one may be a shape itself.

    Raises:
        Rejected: Nothing is known of them.
    """
    custom = _KERNELS.get(node.op_type)
    known = custom is not None or node.op_type == _CHECKED
    require(known and node.results == 2, "there is no rule for its elements")
    if place:
        shape: PartialSizes | None = node.fact("shape", node.result(0))
        if shape is None:
            raise Rejected("its shape is not known")
        return shape
    if _gives_shape(node, custom):
        return node.shape(0)
    require(isinstance(custom, Inspection), "there is no rule for its elements")
    return node.elements(0)


def types_of_kernel(node: TypedNode) -> Sequence[Type]:
    """The types of the results: the last one is a shape."""
    _, name, _ = node.operator
    first = _first_of_kernel(name)
    if first is None or node.outputs != len(("result", "shape")):
        return [None] * node.outputs
    kind = node.input_type(first) if isinstance(first, int) else tensor_of(first)
    return [kind, tensor_of("int64")]


@functools.cache
def _first_of_kernel(name: str) -> str | int | None:
    """The element type of a kernel's result, or the first input of the same type in all kernels."""
    kernels = [kernel for kernel in KERNEL_DEFINITIONS if kernel.name == name]
    types = {kernel.output for kernel in kernels}
    if len(types) == 1:
        return str(types.pop())
    counts = [len(kernel.inputs) for kernel in kernels]
    places = range(min(counts, default=0))
    return next((i for i in places if all(k.inputs[i] == k.output for k in kernels)), None)


def _gives_shape(node: Node, custom: CustomOperator | Inspection | None) -> bool:
    """Whether a kernel reads a tensor, and gives its shape as elements."""
    if not isinstance(custom, Inspection):
        return node.op_type == _CHECKED
    operator = custom.operator
    if operator.repeated_operand is not None:
        return False
    return operator.checked_operands[0] not in operator.by_shape


def _shape_of_first(node: Node, custom: CustomOperator | Inspection) -> PartialSizes:
    """The shape of the first operand; kernels of variadic operators get shapes as vectors."""
    if custom.operator.repeated_operand is None:
        return node.shape(0)
    # Elements come first, if the kernel reads them.
    *_, sizes, ranks = map(node.known_elements, range(node.operands))
    if sizes is None or not ranks or not isinstance(ranks[0], int):
        raise Rejected("its shapes are not known")
    return sizes[: ranks[0]]
