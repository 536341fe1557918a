"""Random graphs that are conformed: every result has the bits that it had.

Every second graph is conformed under a contract around its first run, and runs within it count.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_conformed_graphs.py` tries as many.
"""

import logging
import os
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort import Contract
from sonnx_ort.conforming.rounds import place_of
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.models.example import differing_elements
from sonnx_ort.runs.reduce.shrinking import Feeds, Trial
from support.chosen_cases import trials
from support.sessions import on_one_thread
from support.soundness.contracts import around, keeps
from support.soundness.isolated import failures_of, how_it_ends, run_attempts, tally_of
from support.soundness.shrinking import smallest
from support.soundness.trials import make_trial


def attempt(number: int) -> dict[str, int]:
    """Conform the graph of a number, run both, and give what was looked at."""
    logging.getLogger("sonnx_ort").disabled = True
    trial = make_trial(number)
    return _conformed(Trial(trial.model, trial.runs), trial.broadcast, number)


def shrunk(number: int) -> str:
    """Give the smallest graph on which the same goes wrong as on that of a number."""
    trial = make_trial(number)
    plain = Trial(trial.model, trial.runs)
    return str(smallest(plain, lambda smaller: _conformed(smaller, trial.broadcast, number)))


def _conformed(plain: Trial, broadcast: str, number: int) -> Counter[str]:
    tally, limits = Counter(graphs=1), Contract()
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in plain.model.graph.initializer}
    known = [{**stored, **feeds} for feeds in plain.runs]
    if number % 2 and known:
        inputs = [value.name for value in plain.model.graph.input]
        feeds = {name: known[0][name] for name in inputs if name in known[0]}
        limits = around(random.Random(number), plain.model, feeds)  # noqa: S311 - no cryptography
    options = {"broadcast": broadcast, "contract": limits}
    made = sonnx_ort.conform(plain.model, **options)
    tally["changes"] += len(made.changes)
    tally["graphs with new nodes"] += any(change.added for change in made.changes)
    again = sonnx_ort.conform(made.model, **options)
    assert again.changes == (), f"conformed again: {again.changes[0]}"
    assert len(made.remaining) <= len(made.before.violations)
    _require_true_reports(plain.model, made, options)
    rounded = _rounded(plain.model, options) if number % 4 == 0 else None
    tally["changes that round"] += len(rounded.changes) if rounded else 0
    tally["fixed"] += len(made.before.violations) - len(made.remaining)
    for feeds, complete in zip(plain.runs, known, strict=True):
        if not keeps(limits, plain.model, complete):
            tally["runs beyond a contract"] += 1
            continue
        tally["runs within a contract"] += bool(limits)
        # An integer division may end the process.
        if how_it_ends(lambda given: _run(plain.model, given), feeds):
            tally["runs that fail"] += 1
            continue
        expected = _run(plain.model, feeds)
        # What fails is told with its process.
        actual = _run(made.model, feeds)
        if rounded is not None:
            _run(rounded.model, feeds)
            tally["runs of rounded models"] += 1
        if not (other := _differing(expected, actual)):
            tally["runs with the same bits"] += 1
            continue
        # An LSTM of empty operands reads memory that nobody has written: no two runs are the same.
        if not _has_unchanged_lstm(plain.model, made):
            repeated = (_run(plain.model, feeds) for _ in range(_REPETITIONS))
            assert any(_differing(expected, each) for each in repeated), other
        tally["runs that repeat otherwise without a change"] += 1
    return tally


def _rounded(model: onnx.ModelProto, options: Mapping[str, Any]) -> sonnx_ort.Conformed:
    """The model after all changes, of which some round; it is not changed again."""
    further = {**options, "rounding": True, "name_outputs": True, "both_branches": True}
    made = sonnx_ort.conform(model, **further)
    again = sonnx_ort.conform(made.model, **further)
    assert again.changes == (), f"conformed again: {again.changes[0]}"
    return made


def _require_true_reports(
    model: onnx.ModelProto, made: sonnx_ort.Conformed, options: Mapping[str, Any]
) -> None:
    """`check` tells how many violations are left; the conformed model is as its report says."""
    asked = {"operators": "profile", "backend": "native", **options}
    report = sonnx_ort.check(model, **asked)
    unmarked, new = len(report.violations) - len(report.mendable), report.new_violations
    assert unmarked + sum(new.safe.values()) == len(made.remaining), "the marks are wrong"
    if report.mendable_by_rounding:
        rounded = sonnx_ort.conform(model, **options, rounding=True, measure=False)
        unmarked -= len(report.mendable_by_rounding)
        told = unmarked + sum(new.rounding.values())
        assert told == len(rounded.remaining), "the marks of changes that round are wrong"
    told, found = (
        [(*place_of(o), o.status) for o in report.obligations]
        for report in (made.report, sonnx_ort.check(made.model, **asked, forecast=False))
    )
    assert told == found, f"only in one report: {set(told) ^ set(found)}"


_REPETITIONS = 8


def _has_unchanged_lstm(model: onnx.ModelProto, made: sonnx_ort.Conformed) -> bool:
    """Whether there is an LSTM, and none that a change has touched."""
    changed = any(change.operator == "LSTM" and change.values for change in made.changes)
    return not changed and any(node.op_type == "LSTM" for node in all_nodes(model))


def _differing(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[str]:
    """The outputs that are not the same, as text."""
    return [
        f"{name}: {one} {other}"
        for name, one, other in ((n, a, actual[n]) for n, a in expected.items())
        if (one.dtype, one.shape) != (other.dtype, other.shape)
        or differing_elements(one, other).any()
    ]


def _run(model: onnx.ModelProto, feeds: Feeds) -> Mapping[str, Any]:
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


DEFAULT = 200
ENOUGH = 100
"""How many graphs tell whether they are worth looking at."""
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(DEFAULT)))
FIRST = 1_500_000
"""Far from the numbers of graphs that other tests try."""


@pytest.fixture(scope="module")
def lines(once, part_of_trials):
    numbers = trials(part_of_trials, GRAPHS, FIRST)
    attempt = "soundness.test_conformed_graphs:attempt"
    return once("conformed_graphs", lambda: run_attempts(attempt, numbers, 2))


def test_results_keep_their_bits(lines):
    failures = failures_of(lines, "soundness.test_conformed_graphs:shrunk")
    assert not failures, "\n\n".join(failures)


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < ENOUGH, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = tally_of(lines)
    print("", *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\n")
    assert counts["runs with the same bits"] > GRAPHS
    assert counts["graphs with new nodes"] > GRAPHS // 6
    assert counts["fixed"] > GRAPHS
    assert counts["runs within a contract"] > GRAPHS // 2
    assert counts["runs beyond a contract"] > GRAPHS // 4
