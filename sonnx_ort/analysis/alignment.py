"""How the second operand of a version 1 or 6 node lines up with the first.

Source: ONNX operator Div, versions 1 and 6, "limited broadcast support": with `broadcast=1` the
second operand has one element, or its shape is a contiguous part of the first one's shape, which
starts at `axis`, or ends at the last axis if `axis` is not set.
"""

from sonnx_ort.analysis.targets import Target
from sonnx_ort.profile.operand import Operand, Shape


def trailing_axes(target: Target, operands: tuple[Operand, ...]) -> int | None:
    """How many axes of size 1 the second operand needs behind its own to line up.

    Args:
        target: The node.
        operands: What is known of its inputs.

    Returns:
        The number; 0 for a node without legacy broadcasting; None if the second operand is known
        not to line up with the first, or the ranks that `axis` counts by are unknown.
    """
    if not target.asks_for_broadcasting:
        return 0
    a, b = operands
    trailing = _by_axis(target, a.shape, b.shape) if "axis" in target.node.attributes else 0
    if trailing is None or _differs(a.shape, b.shape, trailing):
        return None
    return trailing


def _by_axis(target: Target, a: Shape | None, b: Shape | None) -> int | None:
    if a is None or b is None:
        return None
    if all(size == 1 for size in b):
        return 0
    axis = target.node.attributes["axis"].as_int()
    first = axis + len(a) if axis < 0 else axis
    trailing = len(a) - first - len(b)
    return trailing if trailing >= 0 else None


def _differs(a: Shape | None, b: Shape | None, trailing: int) -> bool:
    """Whether the second shape has neither one element nor the sizes of its part of the first."""
    if a is None or b is None:
        return False
    if len(b) + trailing > len(a):
        return True
    if all(size == 1 for size in b):
        return False
    first = len(a) - trailing - len(b)
    pairs = zip(a[first : first + len(b)], b, strict=True)
    return any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in pairs)


def aligned_shape(shape: Shape | None, trailing: int) -> Shape | None:
    """A shape with axes of size 1 behind its own.

    Args:
        shape: The shape; None if the rank is unknown.
        trailing: How many axes.
    """
    return None if shape is None else shape + (1,) * trailing
