"""`benchmark.py optimizers`: what it costs that no optimizer forms other numbers than are proved.

Models of which numbers are proved run without some optimizers of ONNX Runtime
(`sonnx_ort.facts.optimizers`).
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
import onnxruntime
from benchmarks.turns import Turn, ratio_of, seconds_of
from plain_sessions import make_options, start

from real_models.comparison import timed, timed_in_first
from real_models.feeds import DryRun, UnknownInput, make_feeds, trials_for
from real_models.table import Figures, Measurement, means
from sonnx_ort.ort.disabled_optimizers import UNWANTED_OPTIMIZERS, names_needed_off, names_of
from sonnx_ort.ort.optimizers import switch_off_optimizers

FEWER = "without those that undo the enforcement"
OFF = "without those that form numbers as well"
DEFAULTS = "defaults"

_EXPLANATION = """\
Each model is run as it is, with three sets of options in turns, on one thread. Ratios are that of
the shortest times / the median turn by turn: without the optimizers that form numbers of which
nothing is proved, over without those alone that undo the enforcement, and over all that ONNX
Runtime does by default."""


class RunsInNoTrial(Exception):  # noqa: N818 - reads as what happened
    """The model does not run with the inputs that are made for it."""


def _session(path: Path, off: Sequence[str]) -> onnxruntime.InferenceSession:
    options = make_options(optimized=True)
    switch_off_optimizers(options, off)
    return start(path, options)


def _time(path: Path, seconds: float, trial: DryRun) -> list[Turn]:
    sessions = {
        DEFAULTS: _session(path, ()),
        FEWER: _session(path, names_of(UNWANTED_OPTIMIZERS)),
        OFF: _session(path, names_needed_off(rests_on_numbers=True, has_minus_zero=False)),
    }
    return timed(lambda: sessions, make_feeds(onnx.load(path), trial), seconds, FEWER)


def _measure(path: Path, options: Namespace) -> Figures:
    turns = timed_in_first(trials_for(onnx.load(path)), _time, path, options.seconds)
    if not turns:
        raise RunsInNoTrial("it runs in none of its trials")
    return {
        "microseconds": seconds_of(turns, FEWER).times(1e6),
        "fewer": ratio_of(turns, OFF, FEWER),
        "defaults": ratio_of(turns, OFF, DEFAULTS),
    }


def _summary(found: Sequence[Figures]) -> Iterator[str]:
    for name in ("fewer", "defaults"):
        count, both = means(found, name)
        worst = max(found, key=lambda each: each[name].minimum)
        yield (
            f"{name}: geometric means over {count} models {both}; the worst {worst['model']} "
            f"{worst[name]:.2f}"
        )


MEASUREMENT = Measurement(
    "optimizers",
    "Time models of other people's packages without the optimizers that form other numbers.",
    2.0,
    _EXPLANATION,
    {
        "us": "{microseconds:,.0f}",
        "over fewer optimizers off": "{fewer:.2f}",
        "over defaults": "{defaults:.2f}",
    },
    _measure,
    (RunsInNoTrial, UnknownInput),
    _summary,
)
run = MEASUREMENT.run
