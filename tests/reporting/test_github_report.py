"""Annotations for GitHub: one line for each cause, with what its runner escapes."""

import sonnx_ort
from sonnx_ort.reporting.checked_models import Check, CheckedModel, FailOn
from sonnx_ort.reporting.formats import github_report
from support.checks import alone, together
from support.graphs import binary_model

OPEN = binary_model("Div", "float", ["n"], ["m"], c_shape=["n"])


def test_each_cause_is_an_error_and_names_what_cannot_be_used() -> None:
    assert github_report(together()).splitlines() == [
        (
            "::error file=folder/broken.onnx,title=Div.float.R1::Div 'ratio': rank 2 is not rank 1"
            "%0Aand at 1 more place%0Ato fix it: rewrite with --broadcast explicit, which inserts "
            "a Broadcast of B from (3,) to (n, 3)"
        ),
        "::error file=none.onnx,title=unusable::there is no file 'none.onnx'",
    ]


def test_checks_of_runs_are_a_notice_unless_they_fail_the_check() -> None:
    assert github_report(alone(OPEN)) == (
        "::notice file=model.onnx,title=kept::1 check in each run"
    )
    failing = github_report(alone(OPEN, fail_on=FailOn.RUNTIME))
    assert failing.startswith("::error file=model.onnx,title=Div.float.R1::Div 'the_node': ")


def test_what_separates_properties_is_escaped() -> None:
    report = sonnx_ort.check(
        binary_model("Div", "float", [3], [1], node="a%b\nc"), operators="default"
    )
    text = github_report(Check((CheckedModel("a,b:c.onnx", report),)))
    assert text.startswith("::error file=a%2Cb%3Ac.onnx,title=Div.float.R1::Div 'a%25b\\x0ac': ")
    assert "\n" not in text
