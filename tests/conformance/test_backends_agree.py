"""The native backend against the python backend: equal bits, and equal verdicts.

Each part runs in a child process: an integer division that no guard stops ends it, and the last
line of its output tells at which model.
"""

import pytest

from support.child import run_python


@pytest.mark.parametrize("declarations", [5, pytest.param(40, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("operator", ["Div", "Sub", "Broadcast"])
def test_random_models_have_the_same_outcome_on_random_feeds(
    operator: str, declarations: int
) -> None:
    child = run_python(
        f"""
        from support.agreement import compare
        print("runs compared:", compare({operator!r}, seed=1, declarations={declarations}))
        """
    )
    assert child.exit_status == 0, child
    assert int(child.stdout.rpartition("runs compared:")[2]) > 20 * declarations
