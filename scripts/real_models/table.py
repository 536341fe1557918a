"""The figures of all models as a table."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.rewriting import LOAD, REWRITE
from benchmarks.turns import Spread, Turn, ratio_of, seconds_of

from real_models.census import Census
from real_models.comparison import Comparison, Outcome
from real_models.timing import ORIGINAL, REWRITTEN, ModelTimes

HEADINGS = (
    "model",
    "nodes",
    "Div and Sub",
    "broadcasting",
    "rewritten",
    "identical",
    "time ratio",
    "not optimized",
    "rewrite",
)
"""What the columns are called."""

WIDTHS = (52, 7, 13, 14, 11, 11, 13, 15, 18)
"""How wide they are in plain text."""


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """All that is known of a model.

    Attributes:
        name: What it is called.
        census: What it holds.
        comparisons: Whether its rewritten form gives the same.
        times: How long both take.
    """

    name: str
    census: Census
    comparisons: Sequence[Comparison]
    times: ModelTimes

    def cells(self) -> tuple[str, ...]:
        """Its row in the table."""
        census, outcomes = self.census, Counter(c.outcome for c in self.comparisons)
        compared = len(self.comparisons) - outcomes[Outcome.ORIGINAL_FAILS]
        milliseconds = seconds_of(self.times.rewriting, REWRITE).median * 1000
        to_loading = ratio_of(self.times.rewriting, REWRITE, LOAD).median
        return (
            self.name,
            *map(str, (census.nodes, census.targets, census.broadcasting, census.rewritten)),
            f"{outcomes[Outcome.IDENTICAL]} of {compared}",
            _both(_run_ratio(self.times.optimized)),
            _both(_run_ratio(self.times.plain)),
            f"{milliseconds:.0f} ms, {to_loading:.1f}x",
        )


def text_row(cells: Sequence[str]) -> str:
    """A line of the table for a terminal.

    Args:
        cells: What stands in the columns.
    """
    first, *others = (f"{cell:>{width}}" for cell, width in zip(cells[1:], WIDTHS[1:], strict=True))
    return f"{cells[0]:{WIDTHS[0]}}{first}{''.join(others)}"


def markdown_table(figures: Sequence[ModelFigures]) -> str:
    """The table in Markdown, with the means below it.

    Args:
        figures: One row each.
    """
    rows = [HEADINGS, ("---", *("---:",) * (len(HEADINGS) - 1)), *(f.cells() for f in figures)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n{means(figures)}\n"


def means(figures: Sequence[ModelFigures]) -> str:
    """Say in two lines how long the rewritten models take on average.

    Args:
        figures: The models.
    """
    changed = [figure for figure in figures if figure.census.rewritten]
    return "\n".join(
        _mean(chosen, what)
        for chosen, what in ((figures, "models"), (changed, "models with a Div or Sub"))
        if chosen
    )


def _mean(figures: Sequence[ModelFigures], what: str) -> str:
    optimized = statistics.geometric_mean(_run_ratio(f.times.optimized).median for f in figures)
    plain = statistics.geometric_mean(_run_ratio(f.times.plain).median for f in figures)
    return (
        f"Geometric mean of the medians over {len(figures)} {what}: {optimized:.2f}; "
        f"not optimized {plain:.2f}."
    )


def _run_ratio(turns: Sequence[Turn]) -> Spread:
    return ratio_of(turns, REWRITTEN, ORIGINAL)


def _both(spread: Spread) -> str:
    return f"{spread.minimum:.2f} / {spread.median:.2f}"
