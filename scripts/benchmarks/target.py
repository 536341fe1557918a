"""The figures to reach, and whether they were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.measurement import Measurement
from benchmarks.subject import PLAIN, SONNX
from benchmarks.turns import Spread
from benchmarks.workload import Setting

_LARGE_FLOAT32 = Setting("float32", 1_000_000)


@dataclass(frozen=True, slots=True)
class Target:
    """A figure to reach. The median decides.

    Attributes:
        sentence: What is to be reached.
        limit: The figure.
        at_least: Whether larger is better.
        figure: Finds the figure among the measurements; None if it was not measured.
    """

    sentence: str
    limit: float
    at_least: bool
    figure: Callable[[Sequence[Measurement]], Spread | None]

    def reached(self, figure: Spread) -> bool:
        """Compare a figure with the limit."""
        if self.at_least:
            return figure.median >= self.limit
        return figure.median <= self.limit


def _slowest_small_node(measurements: Sequence[Measurement]) -> Spread | None:
    figures = [
        measurement.microseconds_per_node(SONNX)
        for measurement in measurements
        if measurement.setting.nodes > 1 and measurement.setting.threads == 1
    ]
    return max(figures, key=lambda figure: figure.median, default=None)


def _sonnx_to_native(measurements: Sequence[Measurement]) -> Spread | None:
    large = _large_float32(measurements)
    return None if large is None else large.ratio(SONNX)


def _plain_to_sonnx(measurements: Sequence[Measurement]) -> Spread | None:
    large = _large_float32(measurements)
    return None if large is None else large.ratio(PLAIN, SONNX)


def _large_float32(measurements: Sequence[Measurement]) -> Measurement | None:
    return next((m for m in measurements if m.setting == _LARGE_FLOAT32), None)


TARGETS: Sequence[Target] = (
    Target(
        "at most 10 us a node on small tensors, in every measured type",
        10,
        at_least=False,
        figure=_slowest_small_node,
    ),
    Target(
        "at most 2.7 times native Div at 1,000,000 float32, one thread",
        2.7,
        at_least=False,
        figure=_sonnx_to_native,
    ),
    Target(
        "at least 50 times faster than the plain kernel there",
        50,
        at_least=True,
        figure=_plain_to_sonnx,
    ),
)
"""What `sonnx::Div` has to reach. A new one is one more entry."""
