"""The verdict of a report: what it counts, and how it tells one and several."""

from dataclasses import replace

import pytest

import sonnx_ort
from sonnx_ort.analysis.report import NewViolations
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.text_report import overview, text_reports
from sonnx_ort.reporting.verdict import NodeState, new_violations, node_states, table, verdict
from support.graphs import parse

VIOLATED = "(float[2] x, float[1] y) => (float[2] z) {{ {} }}"


def check(graph: str) -> sonnx_ort.Report:
    return sonnx_ort.check(parse(graph), operators="Div,Sub", forecast=False)


@pytest.mark.parametrize(
    ("nodes", "detail"),
    [
        ("z = Div(x, y)", "1 of 3 checks fails for every input."),
        ("a = Div(x, y) z = Sub(a, y)", "2 of 6 checks fail for every input."),
    ],
)
def test_violations_are_counted_in_one_number(nodes: str, detail: str) -> None:
    found = verdict(check(VIOLATED.format(nodes)))
    assert found.detail == f"{detail} sonnx-ort rewrite refuses the model."


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ("a = Abs(x) z = Sub(a, y)", "1 node was not looked at."),
        ("a = Abs(x) b = Neg(a) z = Sub(b, y)", "2 nodes were not looked at."),
        ("z = Sub(x, y)", "sonnx-ort rewrite refuses the model."),
    ],
)
def test_nodes_that_were_not_looked_at_are_told(nodes: str, told: str) -> None:
    assert verdict(check(VIOLATED.format(nodes))).detail.endswith(f". {told}")


DIV = {"Div.float.R1": 1}

FORECASTS = {
    "none": (NewViolations(), []),
    "the same with each change": (
        NewViolations({"Sub.float.R1": 2, **DIV}, {"Sub.float.R1": 2, **DIV}),
        ["What sonnx-ort conform adds has 3 new violations (Div.float.R1, Sub.float.R1)."],
    ),
    "others with changes that round": (
        NewViolations(DIV, {"Sub.float.R1": 2}),
        [
            "What sonnx-ort conform adds has 1 new violation (Div.float.R1).",
            "What sonnx-ort conform --rounding adds has 2 new violations (Sub.float.R1).",
        ],
    ),
    "with changes that round alone": (
        NewViolations({}, DIV),
        ["What sonnx-ort conform --rounding adds has 1 new violation (Div.float.R1)."],
    ),
}


@pytest.mark.parametrize(("new", "told"), FORECASTS.values(), ids=FORECASTS)
def test_violations_that_changes_bring_about_are_told(new: NewViolations, told: list[str]) -> None:
    report = replace(check(VIOLATED.format("z = Div(x, y)")), new_violations=new)
    assert new_violations(report) == told
    assert verdict(report).detail.endswith(" ".join(["refuses the model.", *told]))


def test_state_of_a_node_is_the_worst_of_its_obligations() -> None:
    report = check(
        "(float[2] x, float[1] y, int32[2] i) => (float[2] z, int32[2] j)"
        " { [a] a = Abs(x) [b] z = Sub(a, y) [c] j = Div(i, i) [d] k = Sub(a, a) }"
    )
    assert {name: state for (name, _), state in node_states(report).items()} == {
        "a": NodeState.NOT_ASKED_FOR,
        "b": NodeState.VIOLATED,
        "c": NodeState.RUNTIME,
        "d": NodeState.PROVED,
    }


def test_nodes_of_one_name_in_two_bodies_have_states_of_their_own() -> None:
    report = check(
        "(float[2] x, float[1] y, bool c) => (float[2] z) { z = If(c)"
        "<then_branch = t () => (float[2] a) { [same] a = Div(x, y) },"
        " else_branch = e () => (float[2] b) { [same] b = Div(x, x) }> }"
    )
    assert [state for (name, _), state in node_states(report).items() if name == "same"] == [
        NodeState.VIOLATED,
        NodeState.PROVED,
    ]


def test_table_has_its_texts_escaped_and_their_lines() -> None:
    style = ' style="text-align: left; vertical-align: top"'
    assert table(("a<", "b"), [("c\nd", "&")]) == (
        f"<table><thead><tr><th{style}>a&lt;</th><th{style}>b</th></tr></thead>"
        f"<tbody><tr><td{style}>c<br>d</td><td{style}>&amp;</td></tr></tbody></table>"
    )


def test_report_of_several_models_says_which_cannot_be_used() -> None:
    good = CheckedModel("good.onnx", check("(float[2] x) => (float[2] z) { z = Div(x, x) }"))
    bad = CheckedModel("bad.onnx", None, "there is no such file")
    first, second = text_reports(Check((good, bad), alone=False)).split("\n\n\n")
    assert first.startswith("== good.onnx\n")
    assert "cannot be used" not in first
    assert second == "== bad.onnx\ncannot be used: there is no such file"


def test_rules_that_are_left_out_are_told_below_the_verdict() -> None:
    whole = check(VIOLATED.format("z = Div(x, y)"))
    report = whole.selected(ignore=["Div.float.R1"])
    told = "  left out: 1 rule with 0 proved, 0 runtime, 1 violated, 0 findings"
    assert told in overview(report, "m.onnx").splitlines()
    assert "left out" not in overview(whole, "m.onnx")


DECLARES_NO_MORE = "The rewritten model declares no shapes of inner values that are not proved."


@pytest.mark.parametrize(
    ("graph", "word", "detail"),
    [
        (
            "(int32[n] x, int32[n] w) => (int32[n] z) <int32[3] a> { a = Neg(x) z = Div(a, w) }",
            "Kept, with 3 checks in each run",
            "The rewritten model checks 3 in each run, and fails with an error if one is violated. "
            + DECLARES_NO_MORE,
        ),
        (
            "(float[n] x) => (float[n] z) <float[3] a> { a = Neg(x) z = Abs(a) }",
            "Kept once rewritten",
            f"proved for every run. {DECLARES_NO_MORE}",
        ),
    ],
    ids=["beside checks", "alone"],
)
def test_declared_shapes_that_are_not_proved_are_no_checks(
    graph: str, word: str, detail: str
) -> None:
    found = verdict(sonnx_ort.check(parse(graph), operators="Div,Graph"))
    assert (found.word, found.state) == (word, NodeState.RUNTIME)
    assert detail in found.detail
