"""The figures to reach, and whether they were."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.measurement import Measurement
from benchmarks.subject import CHECKIFY, NATIVE, PLAIN, PYTHON
from benchmarks.turns import Spread
from benchmarks.workload import ELEMENT_TYPES

_LARGE = 1_000_000

Measurements = Sequence[Measurement]


@dataclass(frozen=True, slots=True)
class Target:
    """A figure to reach. The median decides.

    Attributes:
        sentence: What is to be reached.
        limit: The figure.
        figures: Finds the figures among the measurements; the worst of them counts.
        at_least: Whether larger is better.
    """

    sentence: str
    limit: float
    figures: Callable[[Measurements], Iterator[Spread]]
    at_least: bool = False

    def figure(self, measurements: Measurements) -> Spread | None:
        """The worst figure; None if none was measured."""
        worst = min if self.at_least else max
        return worst(self.figures(measurements), key=lambda figure: figure.median, default=None)

    def reached(self, figure: Spread) -> bool:
        """Compare a figure with the limit."""
        if self.at_least:
            return figure.median >= self.limit
        return figure.median <= self.limit


def _added_by(subject: str, *element_types: str) -> Callable[[Measurements], Iterator[Spread]]:
    return lambda measurements: (
        measurement.added_microseconds_per_node(subject)
        for measurement in _chains(measurements, subject, proved=False)
        if measurement.setting.element_type in element_types
    )


def _ratio_of_proved(measurements: Measurements) -> Iterator[Spread]:
    for measurement in _chains(measurements, NATIVE, proved=True):
        yield measurement.ratio(NATIVE)


def _ratio_at(
    subject: str, element_type: str, fewest: int, most: int | None = None
) -> Callable[[Measurements], Iterator[Spread]]:
    return lambda measurements: (
        measurement.ratio(subject)
        for measurement in _single_nodes(measurements, subject, element_type)
        if fewest <= measurement.setting.elements <= (most or measurement.setting.elements)
    )


def _plain_to_python(measurements: Measurements) -> Iterator[Spread]:
    for measurement in _single_nodes(measurements, PYTHON, "float32"):
        if measurement.setting.elements == _LARGE:
            yield measurement.ratio(PLAIN, PYTHON)


def _native_to_checkify(element_type: str) -> Callable[[Measurements], Iterator[Spread]]:
    def figures(measurements: Measurements) -> Iterator[Spread]:
        for measurement in _single_nodes(measurements, NATIVE, element_type):
            if CHECKIFY in measurement.subjects:
                ours, theirs = measurement.ratio(NATIVE), measurement.ratio(CHECKIFY)
                yield Spread(ours.minimum / theirs.minimum, ours.median / theirs.median)

    return figures


def _chains(measurements: Measurements, subject: str, *, proved: bool) -> Iterator[Measurement]:
    for measurement in _on_one_thread(measurements, subject):
        if measurement.setting.nodes > 1 and measurement.setting.proved == proved:
            yield measurement


def _single_nodes(
    measurements: Measurements, subject: str, element_type: str
) -> Iterator[Measurement]:
    for measurement in _on_one_thread(measurements, subject):
        if measurement.setting.nodes == 1 and measurement.setting.element_type == element_type:
            yield measurement


def _on_one_thread(measurements: Measurements, subject: str) -> Iterator[Measurement]:
    for measurement in measurements:
        if measurement.setting.threads == 1 and subject in measurement.subjects:
            yield measurement


TARGETS: Sequence[Target] = (
    Target("native: 1.00 times ONNX Runtime where all is proved", 1.005, _ratio_of_proved),
    Target(
        "native: a node adds at most 2.5 us on small float32", 2.5, _added_by(NATIVE, "float32")
    ),
    Target(
        "native: at most 1.15 times ONNX Runtime from 1,000,000 float32",
        1.15,
        _ratio_at(NATIVE, "float32", _LARGE),
    ),
    *(
        Target(
            f"native: at most 1.6 times ONNX Runtime at 1,000,000 {element_type}",
            1.6,
            _ratio_at(NATIVE, element_type, _LARGE, _LARGE),
        )
        for element_type in ("int32", "int64")
    ),
    *(
        Target(
            f"native over ONNX Runtime: at most checkify over jit at every size of {element_type}",
            1.0,
            _native_to_checkify(element_type),
        )
        for element_type in ELEMENT_TYPES
    ),
    Target(
        "python: a node adds at most 10 us on small tensors",
        10,
        _added_by(PYTHON, *ELEMENT_TYPES),
    ),
    Target(
        "python: at most 2.7 times ONNX Runtime at 1,000,000 float32",
        2.7,
        _ratio_at(PYTHON, "float32", _LARGE, _LARGE),
    ),
    Target(
        "python: at least 50 times faster than the plain kernel there",
        50,
        _plain_to_python,
        at_least=True,
    ),
)
"""What the backends have to reach, on one thread. A new one is one more entry."""
