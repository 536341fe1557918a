"""Long use takes no more memory: `campaigns.py memory` repeats all this more often."""

import contextlib
import gc
import logging
import weakref
from pathlib import Path

import numpy as np
import pytest
from benchmarks.turns import apart
from measure_memory import ALLOWANCE, LEFT_BEHIND, measure_case

import sonnx_ort
from sonnx_ort.backends import Backend
from support.child import run_python
from support.graphs import binary_model
from support.sessions import quiet

LEAK = """
from measure_memory import LEFT_BEHIND, measure
kept = []
growth = measure(lambda number: {}, 5000)
print(growth.exceeds(), growth.grown)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="only Linux tells it so")
class TestGrowth:
    @pytest.mark.parametrize("backend", list(Backend), ids=str)
    @pytest.mark.parametrize(("case", "repetitions"), [("runs", 4000), ("sessions", 300)])
    def test_use_takes_no_more(self, case: str, repetitions: int, backend: Backend) -> None:
        growth = apart(measure_case, case, backend, repetitions)
        assert not growth.exceeds(LEFT_BEHIND[case]), growth

    def test_leak_is_seen(self) -> None:
        child = run_python(LEAK.format("kept.append(bytes(3000))"), fresh=True)
        seen, kib = child.stdout.split()
        assert (seen, int(kib) > ALLOWANCE) == ("True", True), child

    def test_what_is_freed_is_no_growth(self) -> None:
        child = run_python(LEAK.format("bytes(1 << 20 + number % 4)"), fresh=True)
        assert child.stdout.startswith("False"), child


@pytest.mark.parametrize("verify_proofs", [False, True])
@pytest.mark.parametrize("backend", list(Backend), ids=str)
def test_feeds_of_a_broken_rule_are_given_back_at_once(
    backend: Backend, *, verify_proofs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that refers to itself would keep them until the collector of cycles runs."""
    monkeypatch.setattr(logging.getLogger("sonnx_ort"), "disabled", True)
    session = sonnx_ort.InferenceSession(
        binary_model("Div", "int32", ["n"], ["n"]),
        quiet(),
        backend=backend,
        verify_proofs=verify_proofs,
    )

    def break_a_rule() -> weakref.ref[np.ndarray]:
        a = np.ones(3, np.int32)
        with contextlib.suppress(sonnx_ort.ContractViolation):
            session.run(None, {"A": a, "B": np.zeros(3, np.int32)})
            pytest.fail("no rule is told")
        return weakref.ref(a)

    break_a_rule()
    gc.collect()
    gc.disable()
    try:
        assert break_a_rule()() is None
    finally:
        gc.enable()
