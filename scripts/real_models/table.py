"""The figures of all models as a table."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.rewriting import LOAD, REWRITE
from benchmarks.turns import Spread, ratio_of, seconds_of

from real_models.census import Census
from real_models.comparison import Comparison, Outcome
from real_models.timing import DEFAULTS, ORIGINAL, REWRITTEN, ModelTimes

HEADINGS = (
    "model",
    "nodes",
    "Div and Sub",
    "broadcasting",
    "guards",
    "identical",
    "same options",
    "defaults",
    "not optimized",
    "rewrite",
)
"""What the columns are called."""

WIDTHS = (52, 7, 13, 14, 8, 11, 14, 14, 15, 18)
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

    def ratios(self) -> dict[str, Spread]:
        """How many times as long the rewritten model takes as the original, by the heading."""
        return {
            "same options": ratio_of(self.times.optimized, REWRITTEN, ORIGINAL),
            "defaults": ratio_of(self.times.optimized, REWRITTEN, DEFAULTS),
            "not optimized": ratio_of(self.times.plain, REWRITTEN, ORIGINAL),
        }

    def cells(self) -> tuple[str, ...]:
        """Its row in the table."""
        census, outcomes = self.census, Counter(c.outcome for c in self.comparisons)
        compared = len(self.comparisons) - outcomes[Outcome.ORIGINAL_FAILS]
        milliseconds = seconds_of(self.times.rewriting, REWRITE).median * 1000
        to_loading = ratio_of(self.times.rewriting, REWRITE, LOAD).median
        return (
            self.name,
            *map(str, (census.nodes, census.targets, census.broadcasting, census.guards)),
            f"{outcomes[Outcome.IDENTICAL]} of {compared}",
            *(_both(ratio) for ratio in self.ratios().values()),
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
    return "\n".join(
        f"Geometric means over {len(chosen)} {what}: "
        + "; ".join(f"{name} {_both(mean)}" for name, mean in geometric_means(chosen).items())
        + "."
        for chosen, what in ((figures, "models"), (_changed(figures), "models with a Div or Sub"))
        if chosen
    )


def geometric_means(figures: Sequence[ModelFigures]) -> dict[str, Spread]:
    """Average the ratios of the minimum times, and the median ratios.

    Args:
        figures: The models; one at least.

    Returns:
        The means by the columns' headings.
    """
    ratios = [figure.ratios() for figure in figures]
    return {
        name: Spread(
            statistics.geometric_mean(ratio[name].minimum for ratio in ratios),
            statistics.geometric_mean(ratio[name].median for ratio in ratios),
        )
        for name in ratios[0]
    }


def _changed(figures: Sequence[ModelFigures]) -> list[ModelFigures]:
    return [figure for figure in figures if figure.census.targets]


def _both(spread: Spread) -> str:
    return f"{spread.minimum:.2f} / {spread.median:.2f}"
