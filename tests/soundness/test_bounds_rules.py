"""Every entry of the list of bounded operators holds what ONNX Runtime computes.

Each operator runs often: types, attributes, versions and numbers vary, numbers at the ends of the
types among them. An interval that were narrower by one would not hold: both its ends are reached.

`SONNX_ORT_RUNS=10 pytest tests/soundness/test_bounds_rules.py` has them run ten times.
"""

import os

import pytest

from sonnx_ort.kernel.bounds import BOUNDS_RULES
from support.soundness.bounds_runs import ATTEMPTS, OPERATORS
from support.soundness.isolated import run_often_enough

DEFAULT = 12
NEEDED = int(os.environ.get("SONNX_ORT_RUNS", str(DEFAULT)))

COUNTED = {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"}
"""Of these only the lower end can be reached."""


def runs_of(lines):
    """The runs in which something was bounded."""
    results = (line.get("result") or {} for line in lines)
    return [result for result in results if "misfit" in result]


@pytest.fixture(scope="module")
def attempts(once):
    """What came of enough attempts at each operator: twice as many as are needed, or more."""
    function = "support.soundness.bounds_runs:attempt"
    enough = function, OPERATORS, ATTEMPTS, NEEDED, runs_of
    return once("bounds_rules", lambda: run_often_enough(*enough))


def test_every_attempt_is_a_valid_one(attempts):
    assert [line["error"] for lines in attempts.values() for line in lines if "error" in line] == []


def test_no_kernel_leaves_an_interval(attempts):
    misfits = [run["misfit"] for lines in attempts.values() for run in runs_of(lines)]
    assert "\n\n".join(filter(None, misfits)) == ""


def test_every_operator_has_run_often_enough(attempts):
    counts = {operator: len(runs_of(lines)) for operator, lines in attempts.items()}
    assert sorted(counts) == sorted(BOUNDS_RULES)
    assert {o: count for o, count in counts.items() if count < NEEDED} == {}


@pytest.mark.skipif(NEEDED < DEFAULT, reason="too few runs to tell")
def test_both_ends_of_intervals_are_reached(attempts):
    reached = {
        operator: {end for run in runs_of(lines) for end in run["reached"]}
        for operator, lines in attempts.items()
    }
    wanted = {o: {"lower"} if o in COUNTED else {"lower", "upper"} for o in BOUNDS_RULES}
    assert {o: ends for o, ends in reached.items() if ends < wanted[o]} == {}
