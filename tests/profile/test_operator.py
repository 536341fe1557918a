"""What an operator calls its operands and results, and what its rules look at in a run."""

import pytest

from sonnx_ort.profile.catalog import OPERATORS


@pytest.mark.parametrize(
    ("operator", "count", "operands", "results"),
    [
        ("Div", 2, ("A", "B"), ("C", "C")),
        ("Max", 3, ("data_0", "data_1", "data_2"), ("max",) * 3),
        ("Broadcast", 2, ("X0", "X1"), ("Z0", "Z1")),
    ],
)
def test_operands_and_results_are_named_as_often_as_there_are(operator, count, operands, results):
    assert OPERATORS[operator].operand_names(count) == operands
    assert OPERATORS[operator].result_names(count) == results


@pytest.mark.parametrize(
    ("operator", "checked_operands", "elementwise"),
    [
        ("Div", ("A", "B"), True),
        ("BatchNormalization", ("X", "input_var"), False),
        ("Clip", ("input", "min", "max"), False),
        ("Slice", ("X", "starts", "ends", "axes", "steps"), False),
        ("ArgMax", ("X",), False),
    ],
)
def test_runs_look_at_what_rules_speak_of_and_at_the_first_operand(
    operator, checked_operands, elementwise
):
    assert OPERATORS[operator].checked_operands == checked_operands
    assert OPERATORS[operator].elementwise is elementwise


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [("Div", ()), ("ArgMax", ("axis",)), ("Cast", ("to",)), ("BatchNormalization", ())],
)
def test_attributes_are_those_that_decide_in_a_run(operator, attributes):
    assert OPERATORS[operator].attributes == attributes
