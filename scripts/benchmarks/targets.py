"""The figures to reach, and whether they were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.measurement import CHECKIFY, NATIVE, PLAIN, PYTHON, Measurement
from benchmarks.turns import Spread
from benchmarks.workload import ELEMENT_TYPES, Setting

_LARGE = 1_000_000
_NO_LIMIT = 10**9

Where = Callable[[Setting], bool]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure to reach. The median decides.

    Attributes:
        sentence: What is to be reached.
        limit: The figure.
        where: The settings that count; the worst of them decides.
        figure_of: Finds the figure in a measurement of the subjects.
        subjects: The names of those.
        at_least: Whether larger is better.
    """

    sentence: str
    limit: float
    where: Where
    figure_of: Callable[..., Spread]
    subjects: Sequence[str]
    at_least: bool = False

    def figure(self, measurements: Sequence[Measurement]) -> Spread | None:
        """The worst figure; None if none was measured."""
        figures = (
            self.figure_of(measurement, *self.subjects)
            for measurement in measurements
            if set(self.subjects) <= set(measurement.subjects) and self.where(measurement.setting)
        )
        worst = min if self.at_least else max
        return worst(figures, key=lambda figure: figure.median, default=None)

    def reached(self, figure: Spread) -> bool:
        """Compare a figure with the limit."""
        return figure.median >= self.limit if self.at_least else figure.median <= self.limit


def _single(element_type: str, fewest: int = 1, most: int = _NO_LIMIT) -> Where:
    return lambda s: (s.nodes, s.element_type) == (1, element_type) and fewest <= s.elements <= most


def _at_large(element_type: str) -> Where:
    return _single(element_type, _LARGE, _LARGE)


def _chain(*element_types: str, proved: bool = False) -> Where:
    return lambda s: s.nodes > 1 and s.proved is proved and s.element_type in element_types


def _ratio_of_ratios(measurement: Measurement, one: str, other: str) -> Spread:
    ours, theirs = measurement.ratio(one), measurement.ratio(other)
    return Spread(ours.minimum / theirs.minimum, ours.median / theirs.median)


_ratio, _added = Measurement.ratio, Measurement.added_microseconds_per_node
_all_proved = _chain(*ELEMENT_TYPES, proved=True)
_all_chains = _chain(*ELEMENT_TYPES)

_Row = tuple[str, float, Where, Callable[..., Spread], Sequence[str]]

_ROWS: Sequence[_Row] = (
    ("1.00 times ONNX Runtime where all is proved", 1.005, _all_proved, _ratio, [NATIVE]),
    ("a node adds at most 2.5 us on small float32", 2.5, _chain("float32"), _added, [NATIVE]),
    (
        "at most 1.15 times ONNX Runtime from 1,000,000 float32",
        *(1.15, _single("float32", _LARGE), _ratio, [NATIVE]),
    ),
    *(
        (f"at most 1.6 times ONNX Runtime at 1,000,000 {t}", 1.6, _at_large(t), _ratio, [NATIVE])
        for t in ("int32", "int64")
    ),
    *(
        (
            f"at most checkify over jit at every size of {element_type}",
            *(1.0, _single(element_type), _ratio_of_ratios, [NATIVE, CHECKIFY]),
        )
        for element_type in ELEMENT_TYPES
    ),
    ("a node adds at most 10 us on small tensors", 10, _all_chains, _added, [PYTHON]),
    (
        "at most 2.7 times ONNX Runtime at 1,000,000 float32",
        *(2.7, _at_large("float32"), _ratio, [PYTHON]),
    ),
)

TARGETS: Sequence[Target] = (
    *(
        Target(f"{row[4][0]}{' over ONNX Runtime' * (len(row[4]) - 1)}: {row[0]}", *row[1:])
        for row in _ROWS
    ),
    Target(
        "python: at least 50 times faster than the plain kernel there",
        50,
        _at_large("float32"),
        _ratio,
        [PLAIN, PYTHON],
        at_least=True,
    ),
)
"""What the backends have to reach. A new one is one more entry."""
