"""All commands with hostile files end in a result or a sentence, and leave no part of a file."""

import sys

import pytest

from support.child import SCRIPTS, run_program

FEW, MANY = 6, 20


@pytest.mark.parametrize(
    "count",
    [FEW, pytest.param(MANY, marks=[pytest.mark.thorough, pytest.mark.weekly])],
    ids=["few", "many"],
)
def test_hostile_files_end_in_a_result_or_a_sentence(count: int) -> None:
    command = [sys.executable, SCRIPTS / "campaigns.py", "commands", "--count", str(count)]
    child = run_program(command, timeout=3600)
    assert (child.exit_status, child.stdout.partition(";")[0]) == (
        0,
        f"{count} commands, 0 faults",
    ), child
