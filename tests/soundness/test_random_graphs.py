"""What `check` says of random graphs is so in every run, and enforcement agrees with the oracle.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_random_graphs.py` tries more than the default,
and `SONNX_ORT_FIRST=800` others; what is printed with `-s` tells how many came to what.
"""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.soundness.shard import run_trials

SHARDS = 4
DEFAULT = 800
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(DEFAULT)))
FIRST = int(os.environ.get("SONNX_ORT_FIRST", "0"))


@pytest.fixture(scope="module")
def outcomes():
    shards = [range(FIRST + shard, FIRST + GRAPHS, SHARDS) for shard in range(SHARDS)]
    with ThreadPoolExecutor(SHARDS) as threads:
        return list(threads.map(run_trials, shards))


@pytest.mark.parametrize("shard", range(SHARDS))
def test_report_and_enforced_model_agree_with_the_oracle(shard, outcomes):
    failures = outcomes[shard].failures
    assert not failures, "\n\n".join(failures)


@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(outcomes):
    counts = sum((outcome.counts for outcome in outcomes), Counter())
    print("", *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\n")
    assert counts["graphs"] == GRAPHS
    for what in ("proved kept", "runtime kept", "runtime broken", "runs"):
        assert counts[what] > GRAPHS, what
    for what in ("violated broken", "rejected", "runs that broke a rule"):
        assert counts[what] > GRAPHS // 10, what
    assert counts["runs that gave the oracle's results"] > counts["runs"] // 5
    assert counts["refused, honest"] < GRAPHS // 20
    # ONNX Runtime refuses many a model whose file says wrong types or shapes.
    assert counts["refused, lying"] < GRAPHS // 4
