"""Rules of sizes say what ONNX Runtime's kernels compute, for every combination of small numbers.

The cubes hold all small sizes and numbers of an operator, and numbers at the ends of int32, int64
and double. What the analysis and the checker say of constants is compared with kernels that get
them in a run; what `conform` makes of them has to give the same elements.
"""

from collections.abc import Callable
from typing import Any

import pytest

from support.changes import changed
from support.soundness.cube_runs import CONFORMED, INFERRED, PARTS
from support.soundness.isolated import Line, run_attempts

pytestmark = pytest.mark.skipif(
    not changed("kernels survive numbers at the ends of int32 and int64"),
    reason="older kernels end the process at the extreme numbers; a newer onnxruntime is needed",
)

PROCESSES = 2
SECONDS = 120
"""Beyond any that a part was seen to take, by far."""

IDS = [f"{name}-{part}" for name, part in PARTS]


@pytest.fixture(scope="module")
def tried(request: pytest.FixtureRequest) -> Callable[[str, int], dict[str, Any]]:
    """Gives what came of a part; all that are chosen are tried at once."""
    lines: dict[str, dict[int, Line]] = {}

    def result(function: str, number: int) -> dict[str, Any]:
        if function not in lines:
            here = [i for i in request.session.items if i.path == request.path]
            numbers = [i.callspec.params[function] for i in here if function in i.callspec.params]
            place = f"support.soundness.cube_runs:{function}"
            found = run_attempts(place, numbers, PROCESSES, SECONDS)
            lines[function] = {line["number"]: line for line in found}
        line = lines[function][number]
        assert "result" in line, line
        return line["result"]

    return result


@pytest.mark.parametrize("attempt", range(len(PARTS)), ids=IDS)
def test_kernels_give_the_sizes_that_rules_state(attempt: int, tried: Callable) -> None:
    found = tried("attempt", attempt)
    assert found["misfits"] == []
    assert found["ran"] > 0
    assert found["analysis"] > 0


@pytest.mark.parametrize("attempt_conformed", CONFORMED, ids=[IDS[n] for n in CONFORMED])
def test_conformed_nodes_give_the_same_elements(attempt_conformed: int, tried: Callable) -> None:
    found = tried("attempt_conformed", attempt_conformed)
    assert found["misfits"] == []
    assert found["changes"] > 0


@pytest.mark.parametrize("attempt_inferred", INFERRED, ids=[IDS[n] for n in INFERRED])
def test_what_is_inferred_wrongly_is_doubted(attempt_inferred: int, tried: Callable) -> None:
    found = tried("attempt_inferred", attempt_inferred)
    assert found["misfits"] == []
    assert found["right"] > 0
