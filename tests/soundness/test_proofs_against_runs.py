"""What is proved of numbers is so in enforced sessions, whatever ONNX Runtime runs.

Graphs that its optimizers join or fold, graphs under contracts of any numbers, and long sums; the
campaigns `fusions`, `contracts` and `sums` try more.
`SONNX_ORT_GRAPHS=2000 pytest tests/soundness/test_proofs_against_runs.py -s` does so too, and
`SONNX_ORT_FIRST=400` others.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from support.chosen_cases import trials
from support.soundness import planted_faults
from support.soundness.isolated import Line, failures_of, run_attempts, tally_of
from support.soundness.proof_judge import kind_of

PROCESSES = 2
FIRST = int(os.environ.get("SONNX_ORT_FIRST", "0"))
COUNT = int(os.environ.get("SONNX_ORT_GRAPHS", "0"))
DEFAULTS = {"fused_graphs": 400, "contracted_numbers": 250, "long_sums": 120}
"""How many are tried of each, unless something else is asked for."""

Attempts = tuple[str, list[Line]]


@pytest.fixture(scope="module", params=DEFAULTS)
def attempts(
    request: pytest.FixtureRequest,
    once: Callable[[str, Callable[[], Any]], Any],
    part_of_trials: int,
) -> Attempts:
    """A kind of graphs, and what came of attempts at them."""
    name: str = request.param
    numbers = trials(part_of_trials, COUNT or DEFAULTS[name], FIRST)
    attempt = f"support.soundness.{name}:attempt"
    return name, once(f"proofs_{name}", lambda: run_attempts(attempt, numbers, PROCESSES))


def test_nothing_proved_is_false_in_a_run(attempts: Attempts) -> None:
    name, lines = attempts
    failures = failures_of(lines, f"support.soundness.{name}:shrunk")
    assert not failures, "\n\n".join(failures)


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(0 < COUNT < min(DEFAULTS.values()), reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(attempts: Attempts) -> None:
    name, lines = attempts
    counts = tally_of(lines)
    print("", name, *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\n")
    assert counts["models with a proof"] > len(lines) // 2
    assert counts["models in enforced sessions"] > len(lines) // 5
    assert counts["runs"] > len(lines)


@pytest.mark.skipif(0 < COUNT < min(DEFAULTS.values()), reason="too few graphs to tell")
def test_sessions_start_that_rest_on_proofs(attempts: Attempts) -> None:
    """An optimizer that may act, and makes what nobody knows, would keep sessions from starting."""
    _, lines = attempts
    counts = tally_of(lines)
    refused = {what: count for what, count in counts.items() if "no session: SonnxError" in what}
    assert refused == {}


PLANTED = [
    (planted_faults.no_optimizer_is_off, range(150, 160), "[ConvMulFusion]"),
    (planted_faults.relu_is_narrow, range(10, 20), "[Relu without optimizations]"),
    (planted_faults.sums_are_narrow, range(32, 40), "[ReduceSum without optimizations]"),
]
"""With the numbers of graphs of which one shows the fault, at least, and how."""


@pytest.mark.parametrize(
    ("planted", "graphs", "kind"), PLANTED, ids=lambda each: getattr(each, "__name__", "")
)
def test_planted_fault_is_found(
    planted: Callable[[int], dict[str, int]], graphs: range, kind: str
) -> None:
    attempt = f"{planted.__module__}:{planted.__name__}"
    lines = run_attempts(attempt, graphs, PROCESSES)
    assert kind in {kind_of(line) for line in lines if "result" not in line}
