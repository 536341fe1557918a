"""What is proved of numbers is so in enforced sessions, whatever ONNX Runtime runs.

Graphs that its optimizers join or fold, graphs under contracts of any numbers, and long sums; the
campaigns `fusions`, `contracts` and `sums` try more than the default.
`SONNX_ORT_PROOFS=2000 pytest tests/soundness/test_proofs_against_runs.py -s` does so too, and
`SONNX_ORT_FIRST=400` others.
"""

import os
from collections import Counter

import numpy as np
import pytest

from sonnx_ort.kernel import interval_functions
from sonnx_ort.kernel.interval_layout import INTERVAL_RULES
from sonnx_ort.kernel.ranges import Interval
from support.soundness import contracted_numbers, fused_graphs, long_sums
from support.soundness.isolated import failures_of, run_attempts, tally_of
from support.soundness.proof_judge import FalseProofError, FalseRuleError

FIRST = int(os.environ.get("SONNX_ORT_FIRST", "0"))
DEFAULTS = {"fused_graphs": 500, "contracted_numbers": 300, "long_sums": 150}
COUNT = int(os.environ.get("SONNX_ORT_PROOFS", "0"))


@pytest.fixture(scope="module", params=DEFAULTS)
def attempts(request, once):
    """A campaign, and what came of its attempts."""
    name = request.param
    numbers = range(FIRST, FIRST + (COUNT or DEFAULTS[name]))
    attempt = f"support.soundness.{name}:attempt"
    return name, once(f"proofs_{name}", lambda: run_attempts(attempt, numbers, 2))


def test_nothing_proved_is_false_in_a_run(attempts):
    name, lines = attempts
    failures = failures_of(lines, f"support.soundness.{name}:shrunk")
    assert not failures, "\n\n".join(failures)
