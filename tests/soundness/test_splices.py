"""Behind every operator, `check` and enforcement are right by what ONNX Runtime computes.

`SONNX_ORT_SPLICES=20000 pytest tests/soundness/test_splices.py -s` tries more than the default,
and `SONNX_ORT_FIRST=400` others.
"""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.soundness.isolated import run_attempts

pytestmark = pytest.mark.thorough

SHARDS = 2
DEFAULT = 400
GRAPHS = int(os.environ.get("SONNX_ORT_SPLICES", str(DEFAULT)))
FIRST = int(os.environ.get("SONNX_ORT_FIRST", "0"))


def judged(shard):
    return list(
        run_attempts("support.soundness.splices", range(FIRST + shard, FIRST + GRAPHS, SHARDS))
    )


@pytest.fixture(scope="module")
def lines():
    with ThreadPoolExecutor(SHARDS) as threads:
        return [line for part in threads.map(judged, range(SHARDS)) for line in part]


def test_kernels_contradict_nothing(lines):
    failures = [line["result"] for line in lines if isinstance(line.get("result"), str)]
    failures += [f"{line['number']}: {line['error']}" for line in lines if "error" in line]
    assert not failures, "\n\n".join(failures)


def test_nothing_ends_the_process_that_the_original_does_not_end(lines):
    deaths = [line["number"] for line in lines if "death" in line]
    alone = run_attempts("support.soundness.originals", deaths) if deaths else []
    assert [line["number"] for line in alone if "death" not in line] == []


@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = Counter()
    for line in lines:
        counts.update(line["result"] if isinstance(line.get("result"), dict) else ())
    print("", *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\n")
    assert counts["runs"] > 5 * GRAPHS
    for what in ("proved", "runtime", "violated", "kept", "broken"):
        assert counts[what] > GRAPHS // 20, what
