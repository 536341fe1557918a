"""`sonnx::AlignedShape`: how operands line up where version 1 or 6 of an operator broadcasts."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.broadcast import shapes_in
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.custom_ops.failure import could_not_finish, failed, violation
from sonnx_ort.custom_ops.kernel_output import KernelOutput, kernel_output
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting

Array = npt.NDArray[Any]

_INT64 = ElementType.INT64.dtype


def aligned_shape(  # noqa: PLR0913, PLR0917 - the inputs, then the attributes
    sizes: Array, ranks: Array, node: str, operator: str, rule: str, axis: str
) -> tuple[KernelOutput, KernelOutput]:
    """Find the shape by which the second of two tensors lines up with the first.

    Args:
        sizes: The shapes of both tensors, one behind the other, int64.
        ranks: How many of the sizes belong to each tensor, int64.
        node: The node's name.
        operator: The node's operator.
        rule: The rule that is broken where they do not line up.
        axis: The attribute `axis` as a number in digits; empty if it is not set.

    Returns:
        The second tensor's shape with axes of size 1 behind its own, and the shape of that:
        `[rank]`, or `[-ticket]` on a violation. Never raises.
    """
    try:
        a, b = shapes_in(sizes, ranks)
        limits = LimitedBroadcasting(int(axis) if axis else None)
        offence = limits.offence(a, b)
        if offence is not None:
            broken, enforced = RULES[rule], OPERATORS[operator]
            error = violation(enforced, broken, node, enforced.letters(2), (a, b), offence)
            return failed(_INT64, broken.code, error)
        trailing = limits.trailing_axes(len(a), len(b)) or 0
        shape = np.array(b + (1,) * trailing, _INT64)
        return kernel_output(shape, _INT64), kernel_output(np.array(shape.shape), _INT64)
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return could_not_finish(_INT64, operator, node, error)


ALIGNED_SHAPE = KernelDefinition(
    name="AlignedShape",
    operator=None,
    inputs=(ElementType.INT64, ElementType.INT64),
    output=ElementType.INT64,
    attributes=("node", "operator", "rule", "axis"),
    kernel=aligned_shape,
    remark="B has to line up with A",
)
