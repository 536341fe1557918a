"""Random graphs that are conformed: every result has the bits that it had.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_conformed_graphs.py` tries as many.
"""

import os

import pytest

from support.soundness.isolated import failures_of, run_attempts, tally_of

DEFAULT = 200
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(DEFAULT)))
FIRST = 1_500_000
"""Far from the numbers of graphs that other tests try."""


@pytest.fixture(scope="module")
def lines(once):
    numbers = range(FIRST, FIRST + GRAPHS)
    attempt = "support.soundness.conformed:attempt"
    return once("conformed_graphs", lambda: run_attempts(attempt, numbers, 2))


def test_results_keep_their_bits(lines):
    failures = failures_of(lines, "support.soundness.conformed:shrunk")
    assert not failures, "\n\n".join(failures)


@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = tally_of(lines)
    print("", *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\n")
    assert counts["runs with the same bits"] > GRAPHS
    assert counts["graphs with new nodes"] > GRAPHS // 6
    assert counts["mended"] > GRAPHS
