"""The figures to reach, and whether they were."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.turns import Spread
from benchmarks.workload import ELEMENT_TYPES, Setting


def _ratio_of_ratios(measurement: Measurement, one: str, other: str) -> Spread:
    ours, theirs = measurement.ratio(one), measurement.ratio(other)
    return Spread(ours.minimum / theirs.minimum, ours.median / theirs.median)


_FIGURES: Mapping[str, Callable[..., Spread]] = {
    "ratio": Measurement.ratio,
    "added": Measurement.added_microseconds_per_node,
    "ratio of ratios": _ratio_of_ratios,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure to reach, as targets.toml has it."""

    sentence: str
    limit: float
    figure: str
    subjects: Sequence[str]
    nodes: str = "one"
    types: Sequence[str] = ELEMENT_TYPES
    fewest: int = 1
    most: float = float("inf")
    proved: bool = False
    at_least: bool = False

    def worst(self, measurements: Sequence[Measurement]) -> Spread | None:
        """The worst figure; None if none was measured."""
        figures = (
            _FIGURES[self.figure](measurement, *self.subjects)
            for measurement in measurements
            if set(self.subjects) <= set(measurement.subjects) and self._counts(measurement.setting)
        )
        worst = min if self.at_least else max
        return worst(figures, key=lambda figure: figure.median, default=None)

    def reached(self, figure: Spread) -> bool:
        """Compare a figure with the limit."""
        return figure.median >= self.limit if self.at_least else figure.median <= self.limit

    def _counts(self, setting: Setting) -> bool:
        of_kind = (setting.nodes > 1, setting.proved) == (self.nodes == "chain", self.proved)
        sized = self.fewest <= setting.elements <= self.most
        return of_kind and sized and setting.element_type in self.types


TARGETS = tuple(
    Target(**table)
    for table in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["target"]
)
"""What the backends have to reach."""
