"""The figures as text, for a terminal and in Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.measurement import Measurement
from benchmarks.subject import BASELINES, ONNXRUNTIME, SUBJECTS
from benchmarks.target import Target
from benchmarks.turns import Spread

_FIRST_WIDTH, _WIDTH = 34, 18


def describe_threads(threads: int) -> str:
    """Name a number of intra-op threads.

    Args:
        threads: The number; 0 stands for all.
    """
    return {0: "all threads", 1: "one thread"}.get(threads, f"{threads} threads")


def ratio_titles(subjects: Sequence[str]) -> list[str]:
    """What stands above the ratios.

    Args:
        subjects: The names of those that are measured.
    """
    return ["elements", f"{SUBJECTS[ONNXRUNTIME].title}, us", *_titles(compared(subjects))]


def ratio_cells(measurement: Measurement) -> list[str]:
    """One line of ratios.

    Args:
        measurement: All subjects on a single Div.
    """
    ratios = [measurement.ratio(name) for name in compared(measurement.subjects)]
    microseconds = measurement.seconds(ONNXRUNTIME).times(1e6)
    return [f"{measurement.setting.elements:,}", *map(_both, [microseconds, *ratios])]


def chain_titles(subjects: Sequence[str]) -> list[str]:
    """What stands above the times for a node.

    Args:
        subjects: The names of those that are measured.
    """
    return ["us added to a node", *_titles(_in_chains(subjects))]


def chain_cells(measurement: Measurement) -> list[str]:
    """One line of times for a node.

    Args:
        measurement: All subjects on a chain.
    """
    times = map(measurement.added_microseconds_per_node, _in_chains(measurement.subjects))
    decided = "proved" if measurement.setting.proved else "in the run"
    return [f"{_type_and_threads(measurement)}, {decided}", *map(_both, times)]


def text_row(cells: Sequence[str]) -> str:
    """A line of a table for a terminal.

    Args:
        cells: What stands in the columns.
    """
    first, *others = cells
    return f"{first:>{_FIRST_WIDTH}}" + "".join(f"{cell:>{_WIDTH}}" for cell in others)


def markdown_tables(measurements: Sequence[Measurement]) -> str:
    """Both tables in Markdown.

    Args:
        measurements: All measurements.
    """
    single = [m for m in measurements if m.setting.nodes == 1]
    chains = [m for m in measurements if m.setting.nodes > 1]
    lines: list[str] = []
    if single:
        typed = ([_type_and_threads(m), *ratio_cells(m)] for m in single)
        lines += [*_markdown(["one Div", *ratio_titles(single[0].subjects)], typed), ""]
    if chains:
        lines += [*_markdown(chain_titles(chains[0].subjects), map(chain_cells, chains)), ""]
    return "\n".join(lines)


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
    return f"{verdict:<12}  {target.sentence}: {_both(figure)}"


def compared(subjects: Sequence[str]) -> list[str]:
    """Those of which there is a ratio: all but what the others are compared with.

    Args:
        subjects: The names of those that are measured.
    """
    return [name for name in subjects if name not in BASELINES]


def number(figure: float) -> str:
    """Write a figure with three digits or so.

    Args:
        figure: The figure.
    """
    size = abs(figure)
    if size >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if size >= 10 else f"{figure:z.2f}"


def _type_and_threads(measurement: Measurement) -> str:
    setting = measurement.setting
    if setting.threads == 1:
        return setting.element_type
    return f"{setting.element_type}, {describe_threads(setting.threads)}"


def _in_chains(subjects: Sequence[str]) -> list[str]:
    return [name for name in compared(subjects) if not SUBJECTS[name].single]


def _titles(subjects: Sequence[str]) -> list[str]:
    return [SUBJECTS[name].title for name in subjects]


def _both(spread: Spread) -> str:
    return f"{number(spread.minimum)} / {number(spread.median)}"


def _markdown(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (titles, ["---", *("---:",) * (len(titles) - 1)], *rows):
        yield f"| {' | '.join(cells)} |"
