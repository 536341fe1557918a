"""The other backends against the python backend: equal bits, and equal verdicts.

Each part runs in a child process: an integer division that no guard stops ends it, and the last
line of its output tells at which model.
"""

import re

import pytest

from support.child import run_python

OPERATORS = ("Div", "Sub", "Broadcast")


@pytest.mark.parametrize("backend", ["native", "compiled"])
@pytest.mark.parametrize(
    ("operators", "declarations"),
    [(OPERATORS, 5), *(pytest.param((o,), 40, marks=pytest.mark.thorough) for o in OPERATORS)],
)
def test_random_models_have_the_same_outcome_on_random_feeds(
    operators: tuple[str, ...], declarations: int, backend: str
) -> None:
    child = run_python(
        f"""
        from sonnx_ort.backends import Backend
        from support.agreement import compare
        for operator in {operators}:
            compared = compare(operator, Backend("{backend}"), 1, {declarations})
            print("runs compared:", compared)
        """
    )
    assert child.exit_status == 0, child
    compared = re.findall("^runs compared: (.*)$", child.stdout, re.MULTILINE)
    assert len(compared) == len(operators)
    assert min(map(int, compared)) > 20 * declarations
