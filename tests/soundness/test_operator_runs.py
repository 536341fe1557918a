"""Each part of the cases tries every operator with other random choices."""

import pytest

from support.soundness import operator_runs
from support.soundness.isolated import Line
from support.soundness.operator_runs import HeldToRuns, chosen

OPERATORS = ("Add", "Sub")


class Drawn(HeldToRuns):
    """What a number chooses, in the place of runs."""

    attempt = "drawn"
    operators = OPERATORS
    needed = 3


def drawn(number: int) -> Line:
    operator, rng = chosen("drawn", OPERATORS, number)
    return {"number": number, "result": {"misfit": "", "drawn": [operator, rng.random()]}}


def test_each_part_has_other_choices_for_every_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        operator_runs, "run_attempts", lambda _, numbers, **__: [drawn(n) for n in numbers]
    )
    parts = [Drawn._attempts(part) for part in (1, 2, 10)]
    found = [
        (operator, *line["result"]["drawn"])
        for part in parts
        for operator, lines in part.items()
        for line in lines
    ]
    assert all(operator == tried for operator, tried, _ in found)
    assert len({number for *_, number in found}) == len(found) == 3 * 2 * 2 * Drawn.needed
