"""Runs a model and its rewritten form on the same inputs, in a process that either may end."""

import datetime as dt
import enum
import functools
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from benchmarks.turns import Run, Turn, apart, take_turns
from plain_sessions import make_options, start

from real_models.feeds import DryRun, Feeds, make_feeds
from sonnx_ort import Backend, Waiver, check, register, rewrite
from sonnx_ort.options import DEFAULT
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns
from sonnx_ort.runs.limits import Limits

_LONGEST = 3600
"""How long a published model may take to start and to run."""

_PATIENCE = 300
"""Seconds that one run may take; then SIGALRM ends it."""


class Outcome(enum.StrEnum):
    """What a comparison shows."""

    IDENTICAL = "identical"
    DIFFERENT = "different"
    ORIGINAL_FAILS = "the original fails"
    REWRITTEN_FAILS = "the rewritten model fails"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a trial of a model and its rewritten form shows.

    `detail` says what differs, or how it failed; `deviation` is the largest difference of two
    numbers of an output, in parts of the largest number of that output.
    """

    trial: DryRun
    outcome: Outcome
    detail: str = ""
    deviation: float = 0.0

    def __str__(self) -> str:
        """Give everything in one line."""
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.trial}: {self.outcome}{detail}"


def identical(outcomes: Counter[Outcome]) -> str:
    """In how many trials outputs are identical, of those in which the original runs."""
    compared = outcomes.total() - outcomes[Outcome.ORIGINAL_FAILS]
    return f"{outcomes[Outcome.IDENTICAL]} of {compared}"


def timed(
    start: Callable[[], Mapping[str, Any]], feeds: Feeds, seconds: float, reference: str
) -> list[Turn]:
    """Start sessions, and let them take turns on the same inputs.

    Raises:
        RuntimeError: One does not start, or does not run to its end.
    """
    try:
        runs: dict[str, Run] = {n: partial(s.run, None, feeds) for n, s in start().items()}
        for warm_up in runs.values():
            warm_up()
    except Exception as error:  # noqa: BLE001 - whatever it is
        # Not all errors can be sent to another process.
        raise RuntimeError(str(error)) from None
    return take_turns(runs, seconds, reference)


def timed_in_first(
    trials: Sequence[DryRun], time: Callable[..., list[Turn]], *arguments: Any
) -> Sequence[Turn]:
    """Time in the first trial in which all runs to its end, in a process of its own."""
    for trial in trials:
        try:
            return apart(time, *arguments, trial)
        except (RuntimeError, BrokenProcessPool):
            continue
    return ()


class ModelNotTried(Exception):  # noqa: N818 - reads as what happened
    """A model could not be rewritten or loaded; the message says why."""


def start_session(
    path: Path,
    backend: str = "",
    operators: str = DEFAULT,
    *,
    optimized: bool,
    enforcing: bool = False,
) -> onnxruntime.InferenceSession:
    """Start a session of ONNX Runtime on a model, on one thread."""
    options = make_options(optimized=optimized)
    if backend or enforcing:
        register(options, backend=Backend(backend or Backend.NATIVE))
    return start(rewritten(path, backend, operators) if backend else path, options)


def rewritten(path: Path, backend: str, operators: str) -> onnx.ModelProto:
    """Rewrite a model with explicit broadcasting, and waive what it violates, where that can be.

    Raises:
        ModelRejected: A violation cannot be waived.
        SonnxError: The model cannot be rewritten.
    """
    report = check(path, broadcast="explicit", operators=operators, forecast=False)
    waivable = (o.rule.id for o in report.violations if o.rule.waivable)
    waivers = [
        Waiver(rule, None, "it is measured", "the benchmark", dt.date.max, nodes="*", count=count)
        for rule, count in Counter(waivable).items()
    ]
    return rewrite(
        path, broadcast="explicit", operators=operators, backend=Backend(backend), waivers=waivers
    )


def compare(
    path: Path, trials: Sequence[DryRun], backend: str, operators: str = DEFAULT
) -> list[Comparison]:
    """Compare a model with its rewritten form, both without graph optimizations.

    Returns:
        One comparison for each trial, in order. A run that ends its process counts as failed.

    Raises:
        ModelNotTried: One of both cannot be run at all.
    """
    form = (path, backend, operators)
    return compare_forms((path, "", DEFAULT), [form], trials)[form]


Form = tuple[Path, str, str]
"""A model's file, and how it is rewritten: the backend, or nothing, and the operators."""


def compare_forms(
    first: Form, others: Sequence[Form], trials: Sequence[DryRun]
) -> dict[Form, list[Comparison]]:
    """Compare a form of a model with each other one, as `compare` does; it runs once in a trial."""
    comparisons: dict[Form, list[Comparison]] = {form: [] for form in others}
    with IsolatedRuns(Limits(_LONGEST)) as runs:
        for form in (first, *others):
            started = runs.call(_start, *form)
            if isinstance(started, Failed):
                raise ModelNotTried(started.reason)
        for trial in trials:
            expected = runs.call(_run, *first, trial)
            for form in others:
                failed = isinstance(expected, Failed)
                actual = expected if failed else runs.call(_run, *form, trial)
                comparisons[form].append(_judge(trial, expected, actual))
    return comparisons


def difference(expected: Any, actual: Any) -> str | None:
    """Find where two outputs are not the same, bit by bit: the signs of zeros, and NaNs, too.

    Args:
        expected: An output of one session: an array, a number, a text, or a list or dict of them.
        actual: The same output of the other.
    """
    if type(expected) is not type(actual):
        return f"{type(expected).__name__} against {type(actual).__name__}"
    match expected:
        case np.ndarray() | float():
            return _array_difference(np.asarray(expected), np.asarray(actual))
        case list():
            return difference(dict(enumerate(expected)), dict(enumerate(actual)))
        case dict() if expected.keys() != actual.keys():
            return f"items {list(expected)} against {list(actual)}"
        case dict():
            found = ((key, difference(item, actual[key])) for key, item in expected.items())
            return next((f"item {key}: {what}" for key, what in found if what is not None), None)
    return None if expected == actual else f"{expected!r} against {actual!r}"


def _array_difference(expected: np.ndarray, actual: np.ndarray) -> str | None:
    for what in ("dtype", "shape"):
        one, other = getattr(expected, what), getattr(actual, what)
        if one != other:
            return f"{what} {one} against {other}"
    if expected.dtype == object:
        return difference(expected.ravel().tolist(), actual.ravel().tolist())
    if expected.tobytes() == actual.tobytes():
        return None
    one, other = (
        np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, -1)
        for array in (expected, actual)
    )
    differing = np.flatnonzero((one != other).any(axis=1))
    place = np.unravel_index(differing[0], expected.shape)
    return (
        f"{len(differing)} of {expected.size} elements; the first at {[*map(int, place)]}: "
        f"{expected[place]!r} against {actual[place]!r}"
    )


def _judge(trial: DryRun, expected: Any, actual: Any) -> Comparison:
    if isinstance(expected, Failed):
        return Comparison(trial, Outcome.ORIGINAL_FAILS, expected.reason)
    if isinstance(actual, Failed):
        return Comparison(trial, Outcome.REWRITTEN_FAILS, actual.reason)
    found = difference(expected, actual)
    if not found:
        return Comparison(trial, Outcome.IDENTICAL)
    return Comparison(trial, Outcome.DIFFERENT, found, _deviation(expected, actual))


def _deviation(expected: Any, actual: Any) -> float:
    """The largest difference of numbers, in parts of the largest one; infinite of other forms."""
    match expected, actual:
        case list(), list() if len(expected) == len(actual):
            return max(map(_deviation, expected, actual), default=0.0)
        case np.ndarray(), np.ndarray() if expected.shape == actual.shape:
            one, other = (array.astype(np.float64) for array in (expected, actual))
            if (np.isfinite(one) != np.isfinite(other)).any():
                return float("inf")
            finite = np.isfinite(one)
            apart = np.abs(one[finite] - other[finite]).max(initial=0.0)
            return float(apart / max(np.abs(one[finite]).max(initial=0.0), 1e-300))
    return float("inf")


def _start(path: Path, backend: str, operators: str) -> Failed | None:
    try:
        _session(path, backend, operators)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is to be reported
        return Failed(f"{type(error).__name__}: {error}")
    return None


def _run(path: Path, backend: str, operators: str, trial: DryRun) -> Any:
    signal.alarm(_PATIENCE)
    try:
        return _session(path, backend, operators).run(None, make_feeds(onnx.load(path), trial))
    except Exception as error:  # noqa: BLE001 - those of onnxruntime have no base of their own
        return Failed(f"{type(error).__name__}: {error}")
    finally:
        signal.alarm(0)


@functools.cache
def _session(path: Path, backend: str, operators: str) -> onnxruntime.InferenceSession:
    return start_session(path, backend, operators, optimized=False)
