"""`Graph.finite` on random graphs: what is not finite ends a run, and nothing else is changed."""

import logging
import os
from collections import Counter
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.runs.reduce.shrinking import Feeds
from support.backends import INSTALLED
from support.chosen_cases import trials
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.examination import DryRun, refused_for_its_shapes
from support.soundness.isolated import run_attempts, tally_of
from support.soundness.trials import make_trial

EXTENTS = ("Graph.finite", "Graph.finite_values")

Outcome = list[Any] | Exception


def attempt(number: int) -> dict[str, int]:
    """Run a graph with each backend, with and without checks; give what was looked at."""
    logging.getLogger("sonnx_ort").disabled = True
    trial, counts = make_trial(number), Counter[str]()
    for backend in INSTALLED:
        plain = _session(trial, backend, trial.operators)
        for extent in EXTENTS:
            operators = trial.operators | {"Graph.finite", extent}
            checked = _session(trial, backend, operators)
            for feeds in trial.runs:
                counts[_compared(trial, extent, _run(plain, feeds), _run(checked, feeds))] += 1
    return dict(counts)


def _session(
    trial: DryRun, backend: str, operators: frozenset[str]
) -> ort.InferenceSession | Exception:
    choices: dict[str, Any] = {
        "edition": trial.edition,
        "broadcast": trial.broadcast,
        "operators": operators,
        "backend": backend,
    }
    try:
        made = sonnx_ort.rewrite(trial.model, **choices)
        assert sonnx_ort.rewrite(made, **choices) == made, f"{backend}: rewritten twice"
        options = sonnx_ort.register(on_one_thread())
        return sonnx_ort.InferenceSession(made, options, **choices)
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the model is refused for
        return error


def _run(session: ort.InferenceSession | Exception, feeds: Feeds) -> Outcome:
    if isinstance(session, Exception):
        return session
    try:
        outputs: list[Any] = session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime fails with
        return error
    return outputs


def _compared(trial: DryRun, extent: str, plain: Outcome, checked: Outcome) -> str:
    """Assert that a run with checks does what one without says; tell what that was."""
    if isinstance(plain, Exception):
        may_run = refused_for_its_shapes(plain, lies=trial.lies)
        assert may_run or isinstance(checked, Exception), f"{extent} lets pass: {plain}"
        return "fails without it"
    finite = not any(map(_holds_others, plain))
    if isinstance(checked, Exception):
        broken = isinstance(checked, sonnx_ort.ContractViolation | sonnx_ort.ModelRejected)
        if broken:
            assert "Graph.finite" in str(checked), checked
        # What only a known shape was needed of is computed for the check, and may fail.
        assert broken or trial.lies or extent != "Graph.finite", checked
        assert not (broken and finite and extent == "Graph.finite"), f"all is finite: {checked}"
        return f"{extent}: fails"
    assert finite, f"{extent} lets pass: {plain}"
    for one, other in zip(plain, checked, strict=True):
        if _is_float(one):
            np.testing.assert_array_equal(one, other)
    return f"{extent}: passes"


def _is_float(output: object) -> bool:
    return isinstance(output, np.ndarray) and output.dtype.kind == "f"


def _holds_others(output: Array) -> bool:
    return _is_float(output) and not np.isfinite(output).all()


DEFAULT = 60
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(2 * DEFAULT))) // 2

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def lines(once, part_of_trials):
    attempt, numbers = "soundness.test_finite_values:attempt", trials(part_of_trials, GRAPHS)
    return once("finite_values", lambda: run_attempts(attempt, numbers, 2))


def test_run_fails_exactly_where_an_output_is_not_finite(lines):
    failures = [line for line in lines if "result" not in line]
    assert not failures, "\n".join(map(str, failures[:3]))


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
@pytest.mark.parametrize("extent", ["Graph.finite", "Graph.finite_values"])
def test_the_graphs_are_worth_looking_at(lines, extent):
    counts = tally_of(lines)
    assert counts[f"{extent}: passes"] > GRAPHS
    assert counts[f"{extent}: fails"] > 0
