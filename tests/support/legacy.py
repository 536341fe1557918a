"""What versions 1 and 6 of Div and Sub say of broadcasting, in the words of their document."""

import math

Shape = tuple[int, ...]


def lines_up(a: Shape, b: Shape, axis: int | None) -> Shape | None:
    """The shape by which numpy aligns B with A; None if the document does not allow B.

    "The second tensor can either be of element size 1 (including a scalar tensor and any tensor
    with rank equal to or smaller than the first tensor), or having its shape as a contiguous
    subset of the first tensor's shape. The starting of the mutually equal shape is specified by
    the argument "axis", and if it is not set, suffix matching is assumed."

    Args:
        a: The shape of A.
        b: The shape of B.
        axis: The attribute; None if it is not set. It counts from the end if it is negative.
    """
    if math.prod(b) == 1 and len(b) <= len(a):
        return ()
    if axis is None:
        starts = [len(a) - len(b)]
    else:
        starts = [start for start in range(len(a) + 1) if axis in (start, start - len(a))]
    for start in starts:
        before, behind = a[: max(start, 0)], a[max(start, 0) + len(b) :]
        if before + b + behind == a:
            return b + (1,) * len(behind)
    return None
