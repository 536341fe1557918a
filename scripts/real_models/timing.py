"""Times a model and its rewritten form in turns, and the rewrite itself."""

import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import onnx
from benchmarks.rewriting import time_rewrites
from benchmarks.turns import Run, Turn, take_turns

from real_models.feeds import Feeds, make_feeds, trials_for
from real_models.session import Session, original_session, rewritten_session
from real_models.trial import Trial

ORIGINAL = "original"
DEFAULTS = "defaults"
REWRITTEN = "rewritten"
"""What takes turns: a model with the options of its rewritten form, with the default ones, and
that form."""

_FEWEST_REWRITES = 3


@dataclass(frozen=True, slots=True)
class ModelTimes:
    """What was taken for a model, turn by turn.

    Attributes:
        trial: What the model was run with.
        optimized: The seconds of one run of each, optimized by ONNX Runtime as far as the options
            allow.
        plain: The same without optimizations, where the default options make no difference.
        rewriting: The seconds of each rewrite, and of loading the model.
    """

    trial: Trial
    optimized: Sequence[Turn]
    plain: Sequence[Turn]
    rewriting: Sequence[Turn]


def time_model(path: Path, backend: str, seconds: float) -> ModelTimes:
    """Time a model in a process of its own.

    Args:
        path: The model.
        backend: What enforces the rules.
        seconds: The time for running it in each pair of sessions, and again for rewriting it.

    Raises:
        ValueError: The original runs in none of the model's trials.
        BrokenProcessPool: A run ended the process.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(_time_here, path, backend, seconds).result()


def _time_here(path: Path, backend: str, seconds: float) -> ModelTimes:
    trial, feeds = _first_that_runs(path)
    optimized = {
        ORIGINAL: original_session(path, optimized=True, enforcing=True),
        DEFAULTS: original_session(path, optimized=True),
        REWRITTEN: rewritten_session(path, backend, optimized=True),
    }
    plain = {
        ORIGINAL: original_session(path, optimized=False, enforcing=True),
        REWRITTEN: rewritten_session(path, backend, optimized=False),
    }
    return ModelTimes(
        trial,
        _time_runs(optimized, feeds, seconds),
        _time_runs(plain, feeds, seconds),
        time_rewrites(path.read_bytes(), seconds, backend, _FEWEST_REWRITES),
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


def _time_runs(sessions: Mapping[str, Session], feeds: Feeds, seconds: float) -> list[Turn]:
    runs: dict[str, Run] = {
        name: partial(session.run, None, feeds) for name, session in sessions.items()
    }
    for run in runs.values():
        run()
    return take_turns(runs, seconds, ORIGINAL)
