"""The figures as text."""

from collections.abc import Callable, Sequence

from benchmarks.measurement import Measurement
from benchmarks.subject import NATIVE, SUBJECTS
from benchmarks.target import Target
from benchmarks.turns import Spread

_WIDTH = 21
_OTHERS = [name for name in SUBJECTS if name != NATIVE]


def describe_threads(threads: int) -> str:
    """Name a number of intra-op threads.

    Args:
        threads: The number; 0 stands for all.
    """
    return {0: "all threads", 1: "one thread"}.get(threads, f"{threads} threads")


def ratio_heading(element_type: str, threads: int) -> str:
    """The lines above the ratios of one element type.

    Args:
        element_type: The numpy name of the element type.
        threads: The intra-op threads; 0 stands for all.
    """
    columns = [f"{'elements':>10}", _column(f"{SUBJECTS[NATIVE].title}, us")]
    columns += [_column(SUBJECTS[name].title) for name in _OTHERS]
    title = f"{element_type}, {describe_threads(threads)}: ratios to {SUBJECTS[NATIVE].title}"
    return f"{title}\n{''.join(columns)}"


def ratio_row(measurement: Measurement) -> str:
    """One line of ratios.

    Args:
        measurement: All subjects on a single Div.
    """
    native = _figures(measurement.microseconds_per_node(NATIVE), _number)
    ratios = [_figures(measurement.ratio(name), _number) for name in _OTHERS]
    return f"{measurement.setting.elements:>10,}" + "".join(map(_column, [native, *ratios]))


def chain_heading(nodes: int, elements: int, threads: int) -> str:
    """The lines above the times for a node.

    Args:
        nodes: The number of nodes in a chain.
        elements: The number of elements of each operand.
        threads: The intra-op threads; 0 stands for all.
    """
    columns = [f"{'':>10}", *(_column(subject.title) for subject in SUBJECTS.values())]
    where = f"chain of {nodes} Div on {elements} elements"
    return f"{where}, {describe_threads(threads)}: us a node\n{''.join(columns)}"


def chain_row(measurement: Measurement) -> str:
    """One line of times for a node.

    Args:
        measurement: All subjects on a chain.
    """
    times = [_figures(measurement.microseconds_per_node(name), _number) for name in SUBJECTS]
    return f"{measurement.setting.element_type:>10}" + "".join(map(_column, times))


def target_row(target: Target, measurements: Sequence[Measurement]) -> str:
    """One line that says whether a target was reached.

    Args:
        target: The target.
        measurements: All measurements.
    """
    figure = target.figure(measurements)
    if figure is None:
        return f"not measured  {target.sentence}"
    verdict = "reached" if target.reached(figure) else "MISSED"
    return f"{verdict:<12}  {target.sentence}: {_figures(figure, _number)}"


def _column(text: str) -> str:
    return f"{text:>{_WIDTH}}"


def _figures(spread: Spread, form: Callable[[float], str]) -> str:
    return f"{form(spread.minimum)} / {form(spread.median)}"


def _number(figure: float) -> str:
    if figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if figure >= 10 else f"{figure:.2f}"
