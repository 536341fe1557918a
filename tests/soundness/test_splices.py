"""Behind every operator, `check` and enforcement are right by what ONNX Runtime computes.

`SONNX_ORT_SPLICES=20000 pytest tests/soundness/test_splices.py -s` tries more than the default,
and `SONNX_ORT_FIRST=400` others.
"""

import os

import pytest

from support.chosen_cases import trials
from support.soundness.isolated import failures_of, run_attempts, tally_of

pytestmark = pytest.mark.thorough

PROCESSES = 2
DEFAULT = 400
ENOUGH = 100
"""How many graphs tell whether they are worth looking at."""
GRAPHS = int(os.environ.get("SONNX_ORT_SPLICES", str(DEFAULT)))
FIRST = int(os.environ.get("SONNX_ORT_FIRST", "0"))


@pytest.fixture(scope="module")
def lines(once, part_of_trials):
    numbers = trials(part_of_trials, GRAPHS, FIRST)
    attempt = "support.soundness.splices:attempt"
    return once("splices", lambda: run_attempts(attempt, numbers, PROCESSES))


def test_kernels_contradict_nothing(lines):
    errors = (line for line in lines if "death" not in line)
    failures = failures_of(errors, "support.soundness.splices:shrunk")
    assert not failures, "\n\n".join(failures)


def test_nothing_ends_the_process_that_the_original_does_not_end(lines):
    deaths = {line["number"]: line for line in lines if "death" in line}
    alone = run_attempts("support.soundness.splices:original_alone", list(deaths))
    ours = [deaths[line["number"]] for line in alone if "death" not in line]
    failures = failures_of(ours, "support.soundness.splices:shrunk")
    assert not failures, "\n\n".join(failures)


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < ENOUGH, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = tally_of(lines)
    print("", *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\n")
    assert counts["runs"] > 5 * GRAPHS
    for what in ("proved", "runtime", "violated", "kept", "broken"):
        assert counts[what] > GRAPHS // 20, what
