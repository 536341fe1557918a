"""Each operator of onnx with something extreme ends in a result or in a `SonnxError`."""

import signal
import sys
from collections import Counter

import pytest
from fuzzing.extremes import extreme_model, extremes
from onnx import defs

from support.child import SCRIPTS, run_program
from support.soundness.isolated import run_attempts

FEW = 120
MANY = 4000


@pytest.mark.parametrize(
    "models",
    [FEW, pytest.param(MANY, marks=[pytest.mark.thorough, pytest.mark.weekly])],
    ids=["few", "many"],
)
def test_extremes_end_in_a_result_or_an_error(models: int, part_of_trials: int) -> None:
    """Each part has other models, of other extremes if these are few."""
    command = [sys.executable, SCRIPTS / "campaigns.py", "extremes", "--count", str(models)]
    child = run_program([*command, "--seed", str(part_of_trials - 1)], timeout=1200)
    assert (child.exit_status, child.stdout.splitlines()[0].partition(", ")[2]) == (
        0,
        "0 faults",
    ), child


def test_every_operator_is_tried_with_each_of_its_attributes_and_inputs() -> None:
    places = Counter((each.schema.domain, each.schema.name) for each in extremes())
    schemas = [each for each in defs.get_all_schemas() if not each.deprecated]
    without = {each.name for each in schemas if not places[each.domain, each.name]}
    assert {name for name in without if defs.has(name)} <= {"If"}


def test_model_of_each_place_follows_from_a_seed() -> None:
    known = list(extremes())[::97]
    made = [extreme_model(each, 5).SerializeToString(deterministic=True) for each in known]
    again = [extreme_model(each, 5).SerializeToString(deterministic=True) for each in known]
    assert made == again
    assert all(len(content) > 0 for content in made)


def test_model_that_ends_the_process_is_found_among_many() -> None:
    lines = run_attempts("signal:raise_signal", [0, signal.SIGABRT, 0])
    assert [line.get("death") for line in lines] == [None, signal.SIGABRT, None]
