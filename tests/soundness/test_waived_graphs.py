"""Random graphs with waivers for all their violations: all backends do as ONNX Runtime does.

What is waived about shapes is written out, what is waived of elements is left to ONNX Runtime.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_waived_graphs.py` tries half as many.
"""

import datetime as dt
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import INSTALLED
from support.chosen_cases import trials
from support.sessions import on_one_thread
from support.soundness.examination import DryRun
from support.soundness.isolated import run_attempts, tally_of
from support.soundness.trials import make_trial

Outcome = list[np.ndarray[Any, Any]] | str
"""The outputs, or why there are none."""

_UNKNOWN_TYPE = "needs to know the element type"
_LEFT_OUT = "kernels of the python backend check all rules"


def attempt(number: int) -> dict[str, int]:
    """Rewrite the graph of a number with waivers, run it, and give what was looked at."""
    logging.getLogger("sonnx_ort").disabled = True
    tally: Counter[str] = Counter(graphs=1)
    trial = make_trial(number)
    choices = {"edition": trial.edition, "operators": trial.operators, "broadcast": "reject"}
    report = sonnx_ort.check(trial.model, **choices)
    if trial.lies or report.ok or not all(o.rule.waivable for o in report.violations):
        return tally
    waivers = _of_many(report) if number % 2 else _of_one_each(report)
    sessions = [
        session
        for backend in INSTALLED
        if (session := _started(trial, {**choices, "backend": backend, "waivers": waivers}))
    ]
    tally["sessions"] += len(sessions)
    content = trial.model.SerializeToString()
    unenforced = _session(lambda: ort.InferenceSession(content, on_one_thread("none")))
    for feeds in trial.runs if len(sessions) == len(INSTALLED) else ():
        outcomes = [_outcome(session, feeds) for session in sessions]
        _assert_equal(outcomes[0], outcomes[1])
        tally["runs that fail"] += isinstance(outcomes[0], str)
        # The other edition has a result of its own where a divisor is zero.
        if not isinstance(outcomes[0], str) and trial.edition == "typed":
            plain = _outcome(unenforced, feeds)
            if not isinstance(plain, str):
                _assert_equal(outcomes[0], plain)
                tally["runs as without enforcement"] += 1
    return tally


def _of_one_each(report: sonnx_ort.Report) -> list[sonnx_ort.Waiver]:
    return [
        sonnx_ort.Waiver(o.rule.id, o.node, "a trial", "nobody", dt.date.max, path=o.path)
        for o in report.violations
    ]


def _of_many(report: sonnx_ort.Report) -> list[sonnx_ort.Waiver]:
    counts = Counter((o.rule.id, o.operator) for o in report.violations)
    return [
        sonnx_ort.Waiver(
            rule, None, "a trial", "nobody", dt.date.max, operator=operator, count=count
        )
        for (rule, operator), count in counts.items()
    ]


def _started(trial: DryRun, choices: Mapping[str, Any]) -> ort.InferenceSession | None:
    """Start a session; None where shapes do not fit, or a backend says why it cannot."""
    try:
        once = sonnx_ort.rewrite(trial.model, **choices)
        again = sonnx_ort.rewrite(once, **choices)
    except sonnx_ort.SonnxError as error:
        refusal = error
    else:
        assert again == once, "rewritten twice"
        return _session(lambda: sonnx_ort.InferenceSession(once, on_one_thread("none"), **choices))
    if isinstance(refusal, sonnx_ort.ModelRejected):
        assert {o.rule.id for o in refusal.report.violations} == {"Broadcast.E1"}
    else:
        assert any(reason in str(refusal) for reason in (_UNKNOWN_TYPE, _LEFT_OUT)), refusal
    return None


def _session(start: Callable[[], ort.InferenceSession]) -> ort.InferenceSession | None:
    """Start a session; None where a rule or ONNX Runtime refuses."""
    try:
        return start()
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime refuses
        refusal = error
    assert isinstance(refusal, sonnx_ort.ContractViolation) or "ONNXRuntimeError" in str(refusal)
    return None


def _outcome(session: ort.InferenceSession | None, feeds: Mapping[str, Any]) -> Outcome:
    if session is None:
        return "it does not start"
    try:
        results: list[np.ndarray[Any, Any]] = session.run(None, dict(feeds))
    except Exception as error:  # noqa: BLE001 - a rule, or what ONNX Runtime refuses by itself
        return str(error)
    return results


def _assert_equal(one: Outcome, other: Outcome) -> None:
    """The same bits, or no results by either; which of several broken rules is told may differ."""
    assert isinstance(one, str) == isinstance(other, str), (one, other)
    if not isinstance(one, str):
        for mine, its in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, its)


DEFAULT = 200
ENOUGH = 50
"""How many graphs tell whether they are worth looking at."""
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(2 * DEFAULT))) // 2
FIRST = 900_000
"""Far from the numbers of graphs that are tried without waivers."""


@pytest.fixture(scope="module")
def lines(once, part_of_trials):
    numbers = trials(part_of_trials, GRAPHS, FIRST)
    attempt = "soundness.test_waived_graphs:attempt"
    return once("waived_graphs", lambda: run_attempts(attempt, numbers, 2))


def test_backends_agree_with_each_other_and_with_no_enforcement(lines):
    failures = [str(line.get("error") or line) for line in lines if "result" not in line]
    assert not failures, "\n\n".join(failures)


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < ENOUGH, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = tally_of(lines)
    assert counts["sessions"] > GRAPHS // 8
    assert counts["runs that fail"] > GRAPHS // 8
    assert counts["runs as without enforcement"] > GRAPHS // 8
