"""`benchmark.py models`: compares and times all models, and prints the table."""

import argparse
from collections import Counter
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import onnx
from benchmarks import report
from benchmarks.rewriting import LOAD, REWRITE, time_rewrites
from benchmarks.turns import Spread, Turn, apart, ratio_of, seconds_of

from real_models.census import Census, take_census
from real_models.comparison import (
    Comparison,
    ModelNotTried,
    Outcome,
    compare,
    start_session,
    timed,
)
from real_models.feeds import DryRun, UnknownInput, make_feeds, trials_for
from real_models.table import Measurement
from sonnx_ort import ModelRejected, SonnxError
from sonnx_ort.options import DEFAULT

ORIGINAL = "original"
DEFAULTS = "defaults"
REWRITTEN = "rewritten"
"""What takes turns: a model with the options of its rewritten form, with the default ones, and
that form."""

_FEWEST_REWRITES = 3

_EXPLANATION = """\
Each model is run as it is and rewritten (broadcast="explicit"), on the same inputs and in turns;
one thread. Time ratios are rewritten over original: that of the shortest times / the median turn by
turn. The original has the same session options as the rewritten model, or only ONNX Runtime's
default ones, or both are not optimized. Outputs are compared bit by bit without optimizations. The
last column is the median time of the rewrite, and how many times that of onnx.load plus shape
inference it is."""


class RunsInNoTrial(Exception):  # noqa: N818 - reads as what happened
    """The model or its rewritten form cannot be run with the inputs that are made for it."""


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """What a model holds, whether its rewritten form gives the same, and the seconds of each turn.

    `optimized` are runs that ONNX Runtime optimizes as far as the options allow, and `plain` those
    without, where the default options make no difference; `rewriting` is with loading, and empty
    for a model that is rewritten with waivers alone.
    """

    name: str
    census: Census
    comparisons: Sequence[Comparison]
    optimized: Sequence[Turn]
    plain: Sequence[Turn]
    rewriting: Sequence[Turn]

    def ratios(self) -> dict[str, Spread]:
        """How many times as long the rewritten model takes as the original, by column."""
        return {
            "same options": ratio_of(self.optimized, REWRITTEN, ORIGINAL),
            "defaults": ratio_of(self.optimized, REWRITTEN, DEFAULTS),
            "not optimized": ratio_of(self.plain, REWRITTEN, ORIGINAL),
        }

    def row(self) -> report.Row:
        """Its row in the table."""
        outcomes = Counter(comparison.outcome for comparison in self.comparisons)
        return {
            "model": self.name,
            "nodes": str(self.census.nodes),
            "added": str(self.census.added),
            "enforced": str(self.census.targets),
            "broadcasting": str(self.census.broadcasting),
            "guards": str(self.census.guards),
            "identical": f"{outcomes[Outcome.IDENTICAL]} of "
            f"{outcomes.total() - outcomes[Outcome.ORIGINAL_FAILS]}",
            **{name: report.both(ratio, 2) for name, ratio in self.ratios().items()},
            "rewrite": self._rewriting_time(),
        }

    def _rewriting_time(self) -> str:
        if not self.rewriting:
            return "-"
        milliseconds = seconds_of(self.rewriting, REWRITE).median * 1000
        to_loading = ratio_of(self.rewriting, REWRITE, LOAD).median
        return f"{milliseconds:.0f} ms, {to_loading:.1f}x"


def means(figures: Sequence[ModelFigures]) -> str:
    """Say in two lines how long the rewritten models take on average."""
    lines = []
    changed = [figure for figure in figures if figure.census.targets]
    for chosen, what in ((figures, "models"), (changed, "models with an enforced node")):
        ratios = [figure.ratios() for figure in chosen]
        words = (
            f"{name} {report.means([ratio[name] for ratio in ratios])}"
            for name in (ratios[0] if ratios else ())
        )
        if chosen:
            lines.append(f"Geometric means over {len(chosen)} {what}: {'; '.join(words)}.")
    return "\n".join(lines)


def _measure(name: str, path: Path, options: argparse.Namespace) -> ModelFigures:
    form = (options.backend, options.operators)
    census = take_census(path, *form)
    comparisons = compare(path, trials_for(onnx.load(path)), *form)
    failed = (Outcome.ORIGINAL_FAILS, Outcome.REWRITTEN_FAILS)
    ran = [each.trial for each in comparisons if each.outcome not in failed]
    if not ran:
        raise RunsInNoTrial(f"it runs in none of its trials: {comparisons[-1].detail}")
    times = apart(_time, path, *form, options.seconds, ran[0])
    return ModelFigures(name, census, comparisons, *times)


def _time(
    path: Path, backend: str, operators: str, seconds: float, trial: DryRun
) -> tuple[list[Turn], list[Turn], list[Turn]]:
    """Time a model in both kinds of sessions, and the rewrite, for so long each."""
    feeds = make_feeds(onnx.load(path), trial)
    optimized = {
        ORIGINAL: start_session(path, optimized=True, enforcing=True),
        DEFAULTS: start_session(path, optimized=True),
        REWRITTEN: start_session(path, backend, operators, optimized=True),
    }
    plain = {
        ORIGINAL: start_session(path, optimized=False, enforcing=True),
        REWRITTEN: start_session(path, backend, operators, optimized=False),
    }
    try:
        rewriting = time_rewrites(path.read_bytes(), seconds, backend, _FEWEST_REWRITES, operators)
    except ModelRejected:
        rewriting = []
    in_turns = (feeds, seconds, ORIGINAL)
    return (timed(lambda: optimized, *in_turns), timed(lambda: plain, *in_turns), rewriting)


run = Measurement(
    "models",
    "Compare and time the models of other people's packages, rewritten and not.",
    2.0,
    _EXPLANATION,
    _measure,
    (SonnxError, ModelNotTried, RunsInNoTrial, UnknownInput, BrokenProcessPool),
    means,
    {
        "--backend": report.BACKEND,
        "--operators": {
            "default": DEFAULT,
            "help": "the operators that are enforced, as for rewrite",
        },
    },
).run
