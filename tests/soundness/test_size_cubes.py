"""Rules of sizes say what ONNX Runtime's kernels compute, for every combination of small numbers.

The cubes hold all small sizes and numbers of an operator, and numbers at the ends of int32, int64
and double. What the analysis and the checker say of constants is compared with kernels that get
them in a run; what `conform` makes of them has to give the same elements.
"""

import pytest

from support.soundness.cube_runs import CONFORMED, PARTS
from support.soundness.isolated import run_attempts

IDS = [f"{name}-{part}" for name, part in PARTS]


def tried(function: str, number: int) -> dict:
    (line,) = run_attempts(f"support.soundness.cube_runs:{function}", [number], seconds=300)
    assert "result" in line, line
    return line["result"]


@pytest.mark.parametrize("number", range(len(PARTS)), ids=IDS)
def test_kernels_give_the_sizes_that_rules_state(number: int) -> None:
    found = tried("attempt", number)
    assert found["misfits"] == []
    assert found["ran"] > 0
    assert found["analysis"] > 0


@pytest.mark.parametrize("number", CONFORMED, ids=[IDS[number] for number in CONFORMED])
def test_conformed_nodes_give_the_same_elements(number: int) -> None:
    found = tried("attempt_conformed", number)
    assert found["misfits"] == []
    assert found["changes"] > 0
