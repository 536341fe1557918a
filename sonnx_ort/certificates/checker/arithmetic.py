"""What sizes of results are of numbers, exactly as the kernels of ONNX Runtime compute them.

All of this holds for sizes and numbers of nodes up to `LARGEST`. Beyond it kernels convert them to
int32, divide in double or let products wrap, each in its own way, and nothing is said.
"""

from collections.abc import Iterable

LARGEST = 2**31 - 1
"""The largest size, and the largest magnitude of a number of a node, of which anything is said."""

END_OF_ALL = (LARGEST, 2**63 - 1)
"""The ends that mean all of an axis. Kernels take them for all of it in negative steps, too."""


def is_within(numbers: Iterable[object]) -> bool:
    """Whether no integer is beyond what anything is said of; other objects count as within."""
    return all(abs(number) <= LARGEST for number in numbers if isinstance(number, int))


def selected(size: int, start: int, end: int, step: int) -> range:
    """The indices that a Slice selects on an axis, by any numbers and a step other than 0.

    A negative start or end counts from behind; beyond the axis it is moved to its ends. In negative
    steps a start in front of the axis is moved to the first element, where Python selects nothing.
    Kernels do otherwise in negative steps to `END_OF_ALL`.
    """
    lowest, highest = (-1, size - 1) if step < 0 else (0, size)
    first = min(max(start + size if start < 0 else start, 0), highest)
    last = min(max(end + size if end < 0 else end, lowest), highest)
    return range(first, last, step)


def reach(kernel: int, dilation: int) -> int:
    """How many elements a window of a kernel spans."""
    return dilation * (kernel - 1) + 1


def equal_parts(size: int, count: int) -> list[int]:
    """Parts of one size, of which the last may be smaller; negative, if the others are too many."""
    part = -(-size // count)
    return [*[part] * (count - 1), size - part * (count - 1)]
