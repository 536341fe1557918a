"""How the second operand of a version 1 or 6 node lines up with the first.

Source: ONNX operator Div, versions 1 and 6, "limited broadcast support": with `broadcast=1` the
second operand has one element, or its shape is a contiguous part of the first one's shape, which
starts at `axis`, or ends at the last axis if `axis` is not set.
"""

import onnx_ir as ir

from sonnx_ort.analysis.targets import Target
from sonnx_ort.profile.operand import Operand, Shape


def trailing_axes(target: Target, operands: tuple[Operand, ...]) -> int | None:
    """How many axes of size 1 the second operand needs behind its own to line up.

    Args:
        target: The node.
        operands: What is known of its inputs.

    Returns:
        The number; 0 for a node without legacy broadcasting or without `axis`; None if it does
        not line up, or the ranks that would tell are unknown.
    """
    if not target.asks_for_broadcasting or "axis" not in target.node.attributes:
        return 0
    a, b = operands
    if a.shape is None or b.shape is None:
        return None
    if all(size == 1 for size in b.shape):
        return 0
    axis = _integer(target.node.attributes["axis"])
    first = axis + len(a.shape) if axis < 0 else axis
    trailing = len(a.shape) - first - len(b.shape)
    return trailing if trailing >= 0 else None


def aligned_shape(shape: Shape | None, trailing: int) -> Shape | None:
    """A shape with axes of size 1 behind its own.

    Args:
        shape: The shape; None if the rank is unknown.
        trailing: How many axes.
    """
    return None if shape is None else shape + (1,) * trailing


def _integer(attribute: ir.Attr) -> int:
    return attribute.as_int()
