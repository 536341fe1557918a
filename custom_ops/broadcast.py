"""`sonnx::BroadcastShape`: the common shape of any number of tensors.

What a Broadcast has to decide depends on shapes alone, so that no tensor passes through here: the
graph expands them to the shape that this gives.
"""

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.custom_ops.failure import could_not_finish, failed, violation
from sonnx_ort.custom_ops.kernel_output import KernelOutput, kernel_output
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.broadcastable import Broadcastable, aligned_axes

Array = npt.NDArray[Any]

_INT64 = ElementType.INT64.dtype
_BROADCASTABLE = Broadcastable()


def common_shape(
    sizes: Array, ranks: Array, node: str, operands: str
) -> tuple[KernelOutput, KernelOutput]:
    """Find the common shape, or the first two tensors that have none.

    Args:
        sizes: The shapes of all tensors, one behind the other, int64.
        ranks: How many of the sizes belong to each tensor, int64.
        node: The node's name.
        operands: The names of the tensors, a list in JSON.

    Returns:
        The common shape, and its own shape: `[rank]`, or `[-ticket]` on a violation. Never raises.
    """
    try:
        shapes = shapes_in(sizes, ranks)
        clash = _BROADCASTABLE.clash(shapes)
        if clash is not None:
            letters = BROADCAST.letters(len(shapes))
            names = [
                f"{letter} '{name}'"
                for letter, name in zip(letters, json.loads(operands), strict=True)
            ]
            error = violation(BROADCAST, E1, node, tuple(names), tuple(shapes), clash)
            return failed(_INT64, E1.code, error)
        common = np.array([max(axis) for _, axis in aligned_axes(shapes)], _INT64)  # type: ignore[type-var]
        return kernel_output(common, _INT64), kernel_output(np.array(common.shape), _INT64)
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return could_not_finish(_INT64, BROADCAST.name, node, error)


def shapes_in(sizes: Array, ranks: Array) -> list[tuple[int, ...]]:
    """Cut the shapes of tensors out of one vector.

    Args:
        sizes: The shapes of all tensors, one behind the other.
        ranks: How many of the sizes belong to each tensor.
    """
    flat = sizes.tolist()
    shapes, start = [], 0
    for rank in ranks.tolist():
        shapes.append(tuple(flat[start : start + rank]))
        start += rank
    return shapes


BROADCAST_SHAPE = KernelDefinition(
    name="BroadcastShape",
    operator=BROADCAST,
    inputs=(ElementType.INT64, ElementType.INT64),
    output=ElementType.INT64,
    attributes=("node", "operands"),
    kernel=common_shape,
)
