"""Single nodes of any kind, conformed: same bits, same errors, same names, no more violations.

`python3 scripts/campaigns.py changes` tries more of them.
"""

import os

import pytest

from support.changes import INSTALLED
from support.chosen_cases import trials
from support.soundness.changed_nodes import NEWEST, OLDEST, bases
from support.soundness.isolated import failures_of, run_attempts, tally_of

DEFAULT = 131
NODES = int(os.environ.get("SONNX_ORT_GRAPHS", str(DEFAULT)))
FIRST = 2_000_000
"""Far from the numbers of nodes that the campaign tries."""


@pytest.fixture(scope="module")
def lines(once, part_of_trials):
    numbers = trials(part_of_trials, NODES, FIRST)
    attempt = "support.soundness.changed_nodes:attempt"
    return once("changed_nodes", lambda: run_attempts(attempt, numbers, 2))


def test_what_runs_give_stays_what_it_was(lines):
    failures = failures_of(lines, "support.soundness.changed_nodes:shrunk")
    assert not failures, "\n\n".join(failures)


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(NODES < DEFAULT, reason="too few nodes to tell")
def test_the_nodes_are_worth_looking_at(lines):
    counts = tally_of(lines)
    assert counts["models"] > NODES // 2
    assert counts["changes"] > NODES
    assert counts["runs"] > NODES
    assert counts["runs that are refused"] > NODES // 5
    assert counts["runs"] > 2 * counts["runs that are refused"]


def test_most_operators_and_all_versions_are_tried():
    assert len(bases()) > 120
    assert (OLDEST, NEWEST) == (7, 28)


PLANTED = {
    "keeps_dimensions": range(10, 16),
    "takes_any_index": range(FIRST + 8, FIRST + 12),
    "renames": range(FIRST, FIRST + 4),
    "adds_one": range(FIRST, FIRST + 4),
}
"""The numbers of nodes of which one shows the fault, at least."""


@pytest.mark.skipif(INSTALLED < (1, 32), reason="other versions of operators are drawn")
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    lines = run_attempts(f"support.soundness.planted_changes:{fault}", PLANTED[fault], 2)
    assert any("AssertionError" in line.get("error", "") for line in lines)
