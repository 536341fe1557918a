"""What is told of a rule, and which operands it speaks of."""

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Subject
from sonnx_ort.profile.source import Source, Standing


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (Source("Paper", "Inputs", "R1"), "Paper, Inputs [R1]"),
        (Source("Paper", "Inputs", None), "Paper, Inputs"),
        (Source("Paper", "none", None, Standing.OWN), "Paper, none (added by sonnx_ort)"),
    ],
)
def test_source_on_one_line(source, text):
    assert str(source) == text


@pytest.mark.parametrize(
    ("rule_id", "select_operands"),
    [("Div.int.R1", ["x", "y"]), ("BatchNormalization.R4", ["x", "z"])],
)
def test_rule_speaks_of_the_operands_that_it_names_or_of_all(rule_id, select_operands):
    names = ["input_mean", "B", "input_var"]
    values = ["x", "y", "z"] if rule_id.startswith("Batch") else ["x", "y"]
    assert RULES[rule_id].select_operands(names[: len(values)], values) == select_operands


def test_subjects_that_runs_decide():
    left = {subject for subject in Subject if not subject.in_run}
    assert left == {
        Subject.TYPES,
        Subject.ATTRIBUTES,
        Subject.STORAGE,
        Subject.HELD,
        Subject.GRAPH,
    }


@pytest.mark.parametrize(
    ("rule", "waivable"),
    [
        pytest.param("Div.float.R1", True, id="equal shapes, for which a Broadcast can stand in"),
        pytest.param("Acos.float.C1", True, id="elements that ONNX Runtime survives"),
        pytest.param("Slice.R8", True, id="places that ONNX Runtime cuts off"),
        pytest.param("Slice.R4", False, id="storage"),
        pytest.param("Div.int.C2", False, id="elements that end the process"),
        pytest.param("Div.float.R2", False, id="types"),
        pytest.param("Broadcast.E1", False, id="a common shape"),
    ],
)
def test_rules_that_take_waivers(rule: str, *, waivable: bool) -> None:
    assert RULES[rule].waivable is waivable
