"""What `check` says of random graphs is so in every run, and enforcement agrees with the oracle.

Each graph is enforced by all backends, which have to agree with each other as well.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_random_graphs.py` tries more than the default,
and `SONNX_ORT_FIRST=400` others; what is printed with `-s` tells how many came to what.
"""

import os

import pytest

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.rule import Subject
from support.chosen_cases import trials
from support.soundness import exact_results
from support.soundness.examination import BACKENDS
from support.soundness.isolated import failures_of, run_attempts, tally_of

PROCESSES = 2
DEFAULT = 400
ENOUGH = 100
"""How many graphs tell whether they are worth looking at; not yet whether each operator is."""
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(DEFAULT)))
FIRST = int(os.environ.get("SONNX_ORT_FIRST", "0"))


@pytest.fixture(scope="module")
def lines(once, part_of_trials):
    numbers = trials(part_of_trials, GRAPHS, FIRST)
    attempt = "support.soundness.trials:attempt"
    return once("random_graphs", lambda: run_attempts(attempt, numbers, PROCESSES))


@pytest.fixture(scope="module")
def counts(lines):
    return tally_of(lines)


def test_report_and_enforced_model_agree_with_the_oracle(lines):
    failures = failures_of(lines, "support.soundness.trials:shrunk")
    assert not failures, "\n\n".join(failures)


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < ENOUGH, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(counts):
    print("", *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\n")
    assert counts["graphs"] == GRAPHS
    for what in ("proved kept", "runtime kept", "runtime broken"):
        assert counts[what] > GRAPHS, what
    assert counts["violated broken"] > GRAPHS // 10
    assert counts["empty results of the original's shape"] > GRAPHS // 10
    for what in ("proved kept", "runtime kept", "violated broken"):
        assert counts[f"not enforced: {what}"] > GRAPHS // 4, what


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_every_operator_is_worth_looking_at(operator, counts):
    assert counts[f"{operator}: kept"] > GRAPHS // 40
    subjects = {rule.requirement.subject for rule in OPERATORS[operator].all_rules()}
    if any(subject.in_run for subject in subjects):
        assert counts[f"{operator}: broken"] > 0
    elif Subject.ATTRIBUTES not in subjects:
        assert counts[f"{operator}: broken"] == 0


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
@pytest.mark.parametrize("operator", sorted(exact_results.OPERATORS))
def test_exact_oracle_is_asked_of_every_operator_that_is_its(operator, counts):
    assert counts[f"{operator}: by the oracle"] > GRAPHS // 40


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < ENOUGH, reason="too few graphs to tell")
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_enforced_models_are_worth_looking_at(backend, counts):
    assert counts[f"{backend}: runs"] > GRAPHS
    for what in ("rejected", "runs that broke a rule"):
        assert counts[f"{backend}: {what}"] > GRAPHS // 10, what
    results = counts[f"{backend}: runs that gave the oracle's results"]
    assert results > counts[f"{backend}: runs"] // 5
    for what in ("refused, honest", "refused, type unknown", "fails when the session starts"):
        assert counts[f"{backend}: {what}"] < GRAPHS // 20, what
    # ONNX Runtime refuses many a model whose file says wrong types or shapes.
    assert counts[f"{backend}: refused, lying"] < GRAPHS // 4
