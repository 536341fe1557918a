"""Natively rewritten models where there is no sonnx_ort: in a bare Python, and in Node.js."""

import functools
import sys

import pytest
from node_packages import what_is_missing

from sonnx_ort.models import Classification, same_elements
from support.child import TESTS, run_python
from support.plain_runs.bundled import bundled_runs, network_runs
from support.plain_runs.folder import outcomes_in
from support.plain_runs.operators import operator_runs
from support.plain_runs.run import CannotHold, Failure, failure_in

PYTHON = [sys.executable, "-I", TESTS / "plain_python" / "run_models.py"]
NODE = ["node", TESTS / "node" / "run_models.mjs"]

BUNDLED = {run.name: run for run in bundled_runs()}
OPERATORS = {run.name: run for run in operator_runs()}
NETWORKS = network_runs()


@functools.cache
def outcomes_of(*program):
    pairs = [run for original, rewritten, _ in NETWORKS for run in (original, rewritten)]
    return outcomes_in(program, [*BUNDLED.values(), *OPERATORS.values(), *pairs])


@pytest.fixture(scope="module", params=[PYTHON, NODE], ids=["python", "node"])
def outcomes(request):
    if request.param is NODE and (reason := what_is_missing()):
        pytest.skip(reason)
    return outcomes_of(*request.param)


def assert_as_expected(run, outcome):
    if isinstance(run.expected, Failure):
        assert isinstance(outcome, str), f"not refused: {outcome}"
        assert failure_in(outcome) == run.expected
        return
    assert isinstance(outcome, dict), outcome
    for name, expected in run.expected.items():
        assert same_elements(expected, outcome[name]), (expected, outcome[name])


@pytest.mark.parametrize("package", ["sonnx_ort", "onnxruntime_extensions"])
def test_bare_python_has_none_of_the_packages(package):
    done = run_python(
        f"""
        import runpy
        runpy.run_path({str(PYTHON[-1])!r})
        import {package}
        """
    )
    assert done.exit_status == 1, done
    assert done.stderr.endswith(f"ModuleNotFoundError: {package} is not here\n")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_model_ends_as_the_manifest_says(outcomes, name):
    assert_as_expected(BUNDLED[name], outcomes[name])


@pytest.mark.parametrize("name", OPERATORS)
def test_single_node_ends_as_the_oracle_says(outcomes, name):
    if outcomes[name] == CannotHold("bfloat16"):
        pytest.skip("the language has no tensors of bfloat16")
    assert_as_expected(OPERATORS[name], outcomes[name])


def test_everything_is_run_except_bfloat16_in_javascript(outcomes):
    left_out = {name for name, outcome in outcomes.items() if isinstance(outcome, CannotHold)}
    in_javascript = outcomes is not outcomes_of(*PYTHON)
    assert left_out == {name for name in OPERATORS if in_javascript and "bfloat16" in name}


@pytest.mark.parametrize(
    ("original", "rewritten", "expected"),
    [pytest.param(*network, id=network[0].name) for network in NETWORKS],
)
def test_network_gives_the_same_bits_before_and_after(outcomes, original, rewritten, expected):
    before, after = outcomes[original.name], outcomes[rewritten.name]
    assert before.keys() == after.keys()
    for name in before:
        assert same_elements(before[name], after[name])
    if isinstance(expected, Classification):
        assert expected.count(after[expected.output]) == expected.correct
    else:
        [name] = after
        assert expected.distance(name, after[name]) <= expected.tolerance
