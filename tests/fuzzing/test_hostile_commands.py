"""All commands with hostile files end in a result or a sentence, and leave no part of a file."""

import sys

import pytest

from support.child import SCRIPTS, run_program
from support.chosen_cases import trials

FEW, MANY = 6, 20


@pytest.mark.parametrize(
    "count",
    [FEW, pytest.param(MANY, marks=[pytest.mark.thorough, pytest.mark.weekly])],
    ids=["few", "many"],
)
def test_hostile_files_end_in_a_result_or_a_sentence(count: int, part_of_trials: int) -> None:
    numbers = trials(part_of_trials, count)
    command = [sys.executable, SCRIPTS / "campaigns.py", "commands", "--count", str(count)]
    child = run_program([*command, "--seed", str(numbers.start)], timeout=3600)
    assert (child.exit_status, child.stdout.partition(";")[0]) == (
        0,
        f"{count} commands, 0 faults",
    ), child
