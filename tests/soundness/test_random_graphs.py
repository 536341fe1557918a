"""What `check` says of random graphs is so in every run, and enforcement agrees with the oracle.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_random_graphs.py` tries more than the default;
what it prints with `-s` tells how many of them came to what.
"""

import logging
import os
import random

import onnx
import pytest
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from support.soundness.examination import Tally, examine
from support.soundness.models import random_feeds, random_model

SHARDS = 4
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", "800"))
FEEDS = 6

GENERATORS = st.integers(0, 2**64 - 1).map(random.Random) | st.randoms(use_true_random=False)
"""Seeds give the more varied graphs; what hypothesis draws itself, it can shrink."""


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Kernels log each of the thousands of violations."""
    monkeypatch.setattr(logging.getLogger("sonnx_ort"), "disabled", True)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_report_and_enforced_model_agree_with_the_oracle(shard):
    tally = Tally()

    @seed(shard)
    @settings(
        max_examples=GRAPHS // SHARDS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(GENERATORS)
    def agree(rng):
        edition = rng.choice(["typed", "preliminary"])
        broadcast = rng.choice(["reject", "explicit"])
        model = random_model(rng)
        note(f"edition {edition}, broadcast {broadcast}\n{onnx.printer.to_text(model.proto)}")
        feeds = [model.nominal, *(random_feeds(rng, model) for _ in range(FEEDS - 1))]
        examine(model, feeds, tally, edition=edition, broadcast=broadcast)

    agree()
    print(f"\nshard {shard}: {tally}")
    assert_not_vacuous(tally)


def assert_not_vacuous(tally):
    graphs = tally["graphs"]
    for what in ("proved kept", "runtime kept", "runtime broken", "runs"):
        assert tally[what] > graphs, what
    for what in ("violated broken", "rejected", "runs that broke a rule"):
        assert tally[what] > graphs // 10, what
    assert tally["runs that gave the oracle's results"] > tally["runs"] // 3
    assert tally["refused, honest"] < graphs // 20
    # ONNX Runtime refuses many a model whose file says wrong types or shapes.
    assert tally["refused, lying"] < graphs // 4
