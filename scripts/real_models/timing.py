"""Times a model and its rewritten form in turns, and the rewrite itself."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import onnx
from benchmarks.rewriting import time_rewrites
from benchmarks.turns import Run, Turn, take_turns

from real_models.feeds import Feeds, make_feeds, trials_for
from real_models.session import original_session, rewritten_session
from real_models.trial import Trial

ORIGINAL = "original"
REWRITTEN = "rewritten"
"""What takes turns."""

_FEWEST_REWRITES = 3


@dataclass(frozen=True, slots=True)
class ModelTimes:
    """What was taken for a model, turn by turn.

    Attributes:
        trial: What the model was run with.
        optimized: The seconds of one run of both forms, optimized by ONNX Runtime as it does by
            default.
        plain: The same without optimizations.
        rewriting: The seconds of each rewrite, and of loading the model.
    """

    trial: Trial
    optimized: Sequence[Turn]
    plain: Sequence[Turn]
    rewriting: Sequence[Turn]


def time_model(path: Path, seconds: float) -> ModelTimes:
    """Time a model in a process of its own.

    Args:
        path: The model.
        seconds: The time for running it in each pair of sessions, and again for rewriting it.

    Raises:
        ValueError: The original runs in none of the model's trials.
        BrokenProcessPool: A run ended the process.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(_time_here, path, seconds).result()


def _time_here(path: Path, seconds: float) -> ModelTimes:
    trial, feeds = _first_that_runs(path)
    return ModelTimes(
        trial,
        _time_runs(path, feeds, seconds, optimized=True),
        _time_runs(path, feeds, seconds, optimized=False),
        time_rewrites(path.read_bytes(), seconds, _FEWEST_REWRITES),
    )


def _first_that_runs(path: Path) -> tuple[Trial, Feeds]:
    model = onnx.load(path)
    session = original_session(path, optimized=False)
    for trial in trials_for(model):
        feeds = make_feeds(model, trial)
        try:
            session.run(None, feeds)
        except Exception:  # noqa: BLE001, S112 - those of onnxruntime have no base of their own
            continue
        return trial, feeds
    raise ValueError(f"{path.name} runs in none of its trials")


def _time_runs(path: Path, feeds: Feeds, seconds: float, *, optimized: bool) -> list[Turn]:
    sessions = {
        ORIGINAL: original_session(path, optimized=optimized),
        REWRITTEN: rewritten_session(path, optimized=optimized),
    }
    runs: dict[str, Run] = {
        name: partial(session.run, None, feeds) for name, session in sessions.items()
    }
    for run in runs.values():
        run()
    return take_turns(runs, seconds, ORIGINAL)
