"""`benchmark.py models`: compares and times all models, and prints the table."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import onnx
from benchmarks import report
from benchmarks.rewriting import LOAD, REWRITE, time_rewrites
from benchmarks.turns import Turn, apart, ratio_of, seconds_of

from real_models.census import take_census
from real_models.comparison import (
    Comparison,
    ModelNotTried,
    Outcome,
    compare,
    identical,
    start_session,
    timed,
)
from real_models.feeds import DryRun, UnknownInput, make_feeds, trials_for
from real_models.table import Figures, Measurement, means
from sonnx_ort import ModelRejected, SonnxError
from sonnx_ort.options import DEFAULT

ORIGINAL = "original"
DEFAULTS = "defaults"
REWRITTEN = "rewritten"
"""What takes turns: a model with the options of its rewritten form, with the default ones, and
that form."""

_RATIOS = ("same options", "defaults", "not optimized")
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


def figures(
    census: Mapping[str, int], comparisons: Sequence[Comparison], times: Sequence[Sequence[Turn]]
) -> Figures:
    """What a model holds, whether its rewritten form gives the same, and the times.

    These are the seconds of turns of three kinds: runs that ONNX Runtime optimizes as far as the
    options allow; those without, where the default options make no difference; and the rewrite with
    loading, none for a model that is rewritten with waivers alone.
    """
    optimized, plain, rewriting = times
    return {
        **census,
        "identical": identical(Counter(comparison.outcome for comparison in comparisons)),
        "same options": ratio_of(optimized, REWRITTEN, ORIGINAL),
        "defaults": ratio_of(optimized, REWRITTEN, DEFAULTS),
        "not optimized": ratio_of(plain, REWRITTEN, ORIGINAL),
        "rewrite": _rewriting_time(rewriting),
    }


def _rewriting_time(turns: Sequence[Turn]) -> str | None:
    if not turns:
        return None
    milliseconds = seconds_of(turns, REWRITE).median * 1000
    return f"{milliseconds:.0f} ms, {ratio_of(turns, REWRITE, LOAD).median:.1f}x"


def summary(found: Sequence[Figures]) -> Iterator[str]:
    """Say in two lines how long the rewritten models take on average."""
    changed = [each for each in found if each["targets"]]
    for chosen, what in ((found, "models"), (changed, "models with an enforced node")):
        if chosen:
            words = (f"{name} {means(chosen, name)[1]}" for name in _RATIOS)
            yield f"Geometric means over {len(chosen)} {what}: {'; '.join(words)}."


def _measure(path: Path, options: argparse.Namespace) -> Figures:
    form = (options.backend, options.operators)
    census = take_census(path, *form)
    comparisons = compare(path, trials_for(onnx.load(path)), *form)
    failed = (Outcome.ORIGINAL_FAILS, Outcome.REWRITTEN_FAILS)
    ran = [each.trial for each in comparisons if each.outcome not in failed]
    if not ran:
        raise RunsInNoTrial(f"it runs in none of its trials: {comparisons[-1].detail}")
    return figures(census, comparisons, apart(_time, path, *form, options.seconds, ran[0]))


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


MEASUREMENT = Measurement(
    "models",
    "Compare and time the models of other people's packages, rewritten and not.",
    2.0,
    _EXPLANATION,
    {
        "nodes": "{nodes}",
        "added": "{added}",
        "enforced": "{targets}",
        "broadcasting": "{broadcasting}",
        "guards": "{guards}",
        "identical": "{identical}",
        **{ratio: f"{{{ratio}:.2f}}" for ratio in _RATIOS},
        "rewrite": "{rewrite}",
    },
    _measure,
    (SonnxError, ModelNotTried, RunsInNoTrial, UnknownInput, BrokenProcessPool),
    summary,
    {
        "--backend": report.BACKEND,
        "--operators": {
            "default": DEFAULT,
            "help": "the operators that are enforced, as for rewrite",
        },
    },
)
run = MEASUREMENT.run
