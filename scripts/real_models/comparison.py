"""Runs a model and its rewritten form on the same inputs, in a process that either may end."""

import enum
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import onnx

from real_models.feeds import Feeds, make_feeds
from real_models.outputs import difference
from real_models.session import Session, original_session, rewritten_session
from real_models.trial import Trial

_PATIENCE = 300.0
"""Seconds that one run may take."""


class Outcome(enum.StrEnum):
    """What a comparison shows."""

    IDENTICAL = "identical"
    DIFFERENT = "different"
    ORIGINAL_FAILS = "the original fails"
    REWRITTEN_FAILS = "the rewritten model fails"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One trial of a model and its rewritten form.

    Attributes:
        trial: What they were run with.
        outcome: What it shows.
        detail: What differs or how it failed, in words.
    """

    trial: Trial
    outcome: Outcome
    detail: str = ""

    def __str__(self) -> str:
        """Give everything in one line."""
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.trial}: {self.outcome}{detail}"


class ModelNotTried(Exception):  # noqa: N818 - reads as what happened
    """A model could not be rewritten or loaded; the message says why."""


@dataclass(frozen=True, slots=True)
class _NotTried:
    reason: str


_Message = Outcome | Comparison | _NotTried
"""What a child process sends; an Outcome is what it means if the next run ends the process."""


def compare(path: Path, trials: Sequence[Trial], backend: str) -> list[Comparison]:
    """Compare a model with its rewritten form, both without graph optimizations.

    Args:
        path: The model.
        trials: What to run both with.
        backend: What enforces the rules.

    Returns:
        One comparison for each trial, in order. A run that ends its process counts as failed.

    Raises:
        ModelNotTried: One of both cannot be run at all.
    """
    comparisons: list[Comparison] = []
    while len(comparisons) < len(trials):
        comparisons += _compare_apart(path, trials[len(comparisons) :], backend)
    return comparisons


def _compare_apart(path: Path, trials: Sequence[Trial], backend: str) -> list[Comparison]:
    """Compare in a process of its own, up to the trial that ends it."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_compare_here, args=(path, trials, backend, sender), daemon=True
    )
    process.start()
    sender.close()
    comparisons: list[Comparison] = []
    running: Outcome | None = None
    with receiver:
        for message in _received(receiver):
            match message:
                case Comparison():
                    comparisons.append(message)
                    running = None
                case Outcome():
                    running = message
                case _NotTried(reason):
                    raise ModelNotTried(reason)
    process.kill()  # it has ended, unless patience did
    process.join()
    if len(comparisons) == len(trials):
        return comparisons
    end = _end(process.exitcode)
    if running is None:
        raise ModelNotTried(end)
    return [*comparisons, Comparison(trials[len(comparisons)], running, end)]


def _received(receiver: Connection) -> Iterator[_Message]:
    """All messages, until the process at the other end ends or takes too long."""
    try:
        while receiver.poll(_PATIENCE):
            yield receiver.recv()
    except EOFError:
        return


def _compare_here(path: Path, trials: Sequence[Trial], backend: str, sender: Connection) -> None:
    """Send a comparison for each trial, or the reason why there is none."""
    try:
        model = onnx.load(path)
        original = original_session(path, optimized=False)
        rewritten = rewritten_session(path, backend, optimized=False)
        for trial in trials:
            feeds = make_feeds(model, trial)
            sender.send(_comparison(original, rewritten, trial, feeds, sender))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is to be reported
        sender.send(_NotTried(_describe(error)))


def _comparison(
    original: Session, rewritten: Session, trial: Trial, feeds: Feeds, sender: Connection
) -> Comparison:
    sender.send(Outcome.ORIGINAL_FAILS)
    try:
        expected = original.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - those of onnxruntime have no base of their own
        return Comparison(trial, Outcome.ORIGINAL_FAILS, _describe(error))
    sender.send(Outcome.REWRITTEN_FAILS)
    try:
        actual = rewritten.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - those of onnxruntime have no base of their own
        return Comparison(trial, Outcome.REWRITTEN_FAILS, _describe(error))
    found = difference(expected, actual)
    return Comparison(trial, Outcome.DIFFERENT if found else Outcome.IDENTICAL, found or "")


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _end(exit_status: int | None) -> str:
    if exit_status is None or exit_status >= 0:
        return f"the process ended with status {exit_status}"
    return f"the process was ended by {signal.Signals(-exit_status).name}"
