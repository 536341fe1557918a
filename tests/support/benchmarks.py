"""Measurements with times that were never taken."""

from collections.abc import Sequence

from benchmarks.measurement import Measurement
from benchmarks.workload import Setting

MICROSECOND = 1e-6


def measurement(
    elements: int = 1_000_000,
    element_type: str = "float32",
    *,
    nodes: int = 1,
    proved: bool = False,
    **microseconds: Sequence[float],
) -> Measurement:
    """Make up a measurement on one thread.

    Args:
        elements: The number of elements.
        element_type: The numpy name of their type.
        nodes: The number of nodes.
        proved: Whether all is proved.
        **microseconds: What each subject took, turn by turn.
    """
    setting = Setting(element_type, elements, nodes, proved=proved)
    turns = [
        {name: figure * MICROSECOND for name, figure in zip(microseconds, taken, strict=True)}
        for taken in zip(*microseconds.values(), strict=True)
    ]
    return Measurement(setting, turns)
