"""`Graph.finite` on random graphs: what is not finite ends a run, and nothing else is changed."""

import pytest

from support.soundness.isolated import run_attempts, tally_of

GRAPHS = 60

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def lines(once):
    attempt = "support.soundness.finite_runs:attempt"
    return once("finite_values", lambda: run_attempts(attempt, range(GRAPHS), 2))


def test_run_fails_exactly_where_an_output_is_not_finite(lines):
    failures = [line for line in lines if "result" not in line]
    assert not failures, "\n".join(map(str, failures[:3]))


@pytest.mark.parametrize("extent", ["Graph.finite", "Graph.finite_values"])
def test_the_graphs_are_worth_looking_at(lines, extent):
    counts = tally_of(lines)
    assert counts[f"{extent}: passes"] > GRAPHS
    assert counts[f"{extent}: fails"] > 0
