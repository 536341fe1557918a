"""Random graphs with waivers for all their violations: all backends do as ONNX Runtime does.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_waived_graphs.py` tries half as many.
"""

import os

import pytest

from support.soundness.isolated import run_attempts, tally_of

DEFAULT = 200
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(2 * DEFAULT))) // 2
FIRST = 900_000
"""Far from the numbers of graphs that are tried without waivers."""


@pytest.fixture(scope="module")
def lines(once):
    numbers = range(FIRST, FIRST + GRAPHS)
    attempt = "support.soundness.waived:attempt"
    return once("waived_graphs", lambda: run_attempts(attempt, numbers, 2))


def test_backends_agree_with_each_other_and_with_no_enforcement(lines):
    failures = [str(line.get("error") or line) for line in lines if "result" not in line]
    assert not failures, "\n\n".join(failures)


@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = tally_of(lines)
    assert counts["sessions"] > GRAPHS // 8
    assert counts["runs that fail"] > GRAPHS // 8
    assert counts["runs as without enforcement"] > GRAPHS // 8
