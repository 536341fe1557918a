"""Custom operators that decide broadcasting from shapes alone, without reading tensors.

`sonnx::BroadcastShape` returns the common shape of any number of tensors. `sonnx::AlignedShape`
returns the shape by which the second operand aligns with the first in opsets 1 and 6. The graph
then reshapes and expands.
"""

import json
from typing import Any

import numpy.typing as npt

from sonnx_ort.custom_ops.definition import KernelDefinition, KernelOutput, shape_output
from sonnx_ort.custom_ops.kernel import shapes_in
from sonnx_ort.custom_ops.violation_log import contract_violation, failed, kernel_failed
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.broadcasting import Broadcastable, LimitedBroadcasting
from sonnx_ort.profile.rule import Violation

Array = npt.NDArray[Any]

_INT64 = ElementType.INT64.dtype
_BROADCASTABLE = Broadcastable()


def common_shape(
    sizes: Array, ranks: Array, node: str, operands: str
) -> tuple[KernelOutput, KernelOutput]:
    """Compute the common shape, or record a violation for the first two incompatible tensors.

    Args:
        sizes: The shapes of all tensors in one vector, int64.
        ranks: The rank of each tensor, int64.
        node: The node's name.
        operands: The names of the tensors, a list in JSON.

    Returns:
        The common shape, and its own shape: `[rank]`, or `[-ticket]` on a violation. Never raises.
    """
    try:
        shapes = shapes_in(sizes, ranks)
        common = _BROADCASTABLE.common_shape(shapes)
        if isinstance(common, Violation):
            own = BROADCAST.operand_names(len(shapes))
            names = [f"{one} '{name}'" for one, name in zip(own, json.loads(operands), strict=True)]
            error = contract_violation(BROADCAST, E1, node, tuple(names), tuple(shapes), common)
            return failed(_INT64, E1.code, error)
        return shape_output(common), shape_output((len(common),))
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return kernel_failed(_INT64, BROADCAST.name, node, error)


def aligned_shape(  # noqa: PLR0913, PLR0917 - the inputs, then the attributes
    sizes: Array, ranks: Array, node: str, operator: str, rule: str, axis: str
) -> tuple[KernelOutput, KernelOutput]:
    """Compute the shape by which the second of two tensors aligns with the first.

    Args:
        sizes: The shapes of both tensors in one vector, int64.
        ranks: The rank of each tensor, int64.
        node: The node's name.
        operator: The node's operator.
        rule: The rule that is violated if they cannot be aligned.
        axis: The attribute `axis` in digits; empty if it is not set.

    Returns:
        The second tensor's shape with trailing axes of size 1, and the shape of that: `[rank]`, or
        `[-ticket]` on a violation. Never raises.
    """
    try:
        a, b = shapes_in(sizes, ranks)
        limits = LimitedBroadcasting(int(axis) if axis else None)
        violation = limits.violation(a, b)
        if violation is not None:
            broken, enforced = RULES[rule], OPERATORS[operator]
            error = contract_violation(enforced, broken, node, enforced.operands, (a, b), violation)
            return failed(_INT64, broken.code, error)
        trailing = limits.trailing_axes(len(a), len(b)) or 0
        return shape_output(b + (1,) * trailing), shape_output((len(b) + trailing,))
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return kernel_failed(_INT64, operator, node, error)


BROADCAST_SHAPE = KernelDefinition(
    name="BroadcastShape",
    operator=BROADCAST,
    inputs=(ElementType.INT64.value, ElementType.INT64.value),
    output=ElementType.INT64.value,
    attributes=("node", "operands"),
    kernel=common_shape,
)
"""Checks a Broadcast."""

ALIGNED_SHAPE = KernelDefinition(
    name="AlignedShape",
    operator=None,
    inputs=(ElementType.INT64.value, ElementType.INT64.value),
    output=ElementType.INT64.value,
    attributes=("node", "operator", "rule", "axis"),
    kernel=aligned_shape,
    remark="B has to line up with A",
)
"""Checks the broadcasting of opsets 1 and 6."""
