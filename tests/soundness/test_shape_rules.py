"""Every entry of the list of believed operators gives the shapes that ONNX Runtime computes.

Each operator runs a hundred times and more: attributes, optional inputs, versions, sizes and what
is declared of them vary, also to what its document does not allow.

`SONNX_ORT_RUNS=10 pytest tests/soundness/test_shape_rules.py` has them run ten times.
"""

import os
from collections import Counter

import pytest

from sonnx_ort.kernel.catalog import SHAPE_RULES
from support.changes import INSTALLED
from support.soundness.certified_runs import ATTEMPTS, OPERATORS
from support.soundness.isolated import run_often_enough
from support.soundness.nodes import believed_versions

DEFAULT = 100
NEEDED = int(os.environ.get("SONNX_ORT_RUNS", str(DEFAULT)))


def runs_of(lines):
    """The runs in which at least one shape was certain."""
    results = (line.get("result") or {} for line in lines)
    return [result for result in results if result.get("certain")]


@pytest.fixture(scope="module")
def attempts(once):
    """What came of enough attempts at each operator: twice as many as are needed, or more."""
    function = "support.soundness.certified_runs:attempt"
    enough = function, OPERATORS, ATTEMPTS, NEEDED, runs_of
    return once("shape_rules", lambda: run_often_enough(*enough))


def test_every_attempt_is_a_valid_one(attempts):
    assert [line["error"] for lines in attempts.values() for line in lines if "error" in line] == []


def test_no_kernel_contradicts_a_certain_shape(attempts):
    misfits = [run["misfit"] for lines in attempts.values() for run in runs_of(lines)]
    assert "\n\n".join(filter(None, misfits)) == ""


def test_every_operator_has_run_often_enough(attempts):
    counts = {operator: len(runs_of(lines)) for operator, lines in attempts.items()}
    assert sorted(counts) == sorted(SHAPE_RULES)
    assert {o: count for o, count in counts.items() if count < NEEDED} == {}


@pytest.mark.skipif(NEEDED < DEFAULT, reason="too few runs to tell")
def test_every_version_has_run_that_has_a_kernel(attempts):
    missing = {}
    for operator, lines in attempts.items():
        versions = Counter(run["version"] for run in runs_of(lines))
        absent = [v for v in believed_versions(operator) if not versions[v]]
        absent = [v for v in absent if not (OLDER and has_no_kernel(lines, v))]
        if absent:
            missing[operator] = absent
    assert not missing, missing


OLDER = INSTALLED < (1, 31)
"""Whether the installed ONNX Runtime is older than the one that all versions were verified with."""


NO_KERNEL = ("NOT_IMPLEMENTED", "ValidateOpsetForDomain")
"""What its errors say of an operator that it does not have, and of a version too new for it."""


def has_no_kernel(lines, version):
    """Whether ONNX Runtime refused a version of an operator whenever it was tried."""
    results = [line.get("result") or {} for line in lines]
    refused = [r.get("refused", "") for r in results if r.get("version") == version]
    return all(any(sign in reason for sign in NO_KERNEL) for reason in refused)
