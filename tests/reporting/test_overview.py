"""The overview of a check: what a person reads first."""

import datetime as dt
import re

import onnx
import pytest

import sonnx_ort
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.terminal import WIDTH
from sonnx_ort.reporting.text_report import overview, overview_of_models, statistics
from sonnx_ort.reporting.verdict import causes
from support.checks import alone, mendable, mixed, together
from support.graphs import binary_model, parse

MANY = """
    (float[n, 3] x, float[3] y, float[m] a) => (float[?, ?] z) {
        [first] p = Div(x, y)
        [second] q = Div(p, y)
        [third] r = Div(q, y)
        [fourth] s = Div(r, y)
        [open] o = Sub(a, a)
        [last] z = Softplus(s)
    }"""

TEXT = """\
many.onnx: violated
  4 of 15 obligations fail whatever the inputs are. sonnx-ort rewrite refuses the model. sonnx-ort
    conform fixes 4. 1 node was not looked at.
  edition typed, broadcast reject, operators default, backend python

[!] Div.float.R1 at 4 places (stated by SONNX): Tensors A, B and C must have the same shape.
  Div 'first': rank 2 is not rank 1
      A 'x' float (n, 3) [input]
      B 'y' float (3,) [input]
  Div 'second': rank 2 is not rank 1
  Div 'third': rank 2 is not rank 1
  and 1 more
  to fix it: rewrite with --broadcast explicit, which inserts a Broadcast of B from (3,) to (n, 3)
  [*] sonnx-ort conform fixes it

proved for every run: 11 obligations
nodes not looked at: 1; --operators profile covers all
findings, which change no result: 5 GR2, 5 Graph.implicit_shape, 1 Graph.dead_node
-v shows everything, --statistics a table of rules

next: sonnx-ort rewrite many.onnx -o many.enforced.onnx --broadcast explicit"""


def test_violations_of_one_cause_are_one_paragraph() -> None:
    assert overview(sonnx_ort.check(parse(MANY), operators="default"), "many.onnx") == TEXT


def test_rules_that_runs_decide_are_a_table() -> None:
    report = sonnx_ort.check(
        parse("(int32[n] a, int32[n] b) => (int32[n] c) { c = Div(a, b) }"), operators="default"
    )
    lines = overview(report, "open.onnx").splitlines()
    assert lines[0] == "open.onnx: kept, with 3 checks in each run"
    start = lines.index("checked in each run, at 3 places:")
    assert [line.split()[:2] for line in lines[start + 1 : start + 4]] == [
        ["1", "Div.int.R1"],
        ["1", "Div.int.C1"],
        ["1", "Div.int.C2"],
    ]


def test_rules_on_graphs_come_behind_those_on_operators() -> None:
    report = sonnx_ort.check(parse(MANY), operators="profile")
    subjects = [alike[0].rule.id.startswith("G") for alike in causes(report.violations)]
    assert subjects == sorted(subjects)
    assert len({alike[0].rule.id for alike in causes(report.violations)}) == len(subjects)


def test_waived_violations_are_told_with_the_waiver() -> None:
    waiver = sonnx_ort.Waiver(
        "Div.float.R1", None, "measured", "a board", dt.date.max, operator="Div", count=4
    )
    report = sonnx_ort.check(parse(MANY), operators="default", waivers=[waiver])
    text = overview(report, "many.onnx")
    assert text.startswith("many.onnx: violated, and waived\n")
    assert text.count("      waived by a board until 9999-12-31, 4 in all: measured\n") == 3
    assert "to mend it" not in text


def test_several_models_have_a_line_each_and_a_summary() -> None:
    assert overview_of_models(together()).splitlines() == [
        "kept.onnx           kept      0 violated, 0 checked in runs, 3 proved",
        "folder/broken.onnx  violated  2 violated ([*] 2), 2 checked in runs, 7 proved",
        "none.onnx           unusable  there is no file 'none.onnx'",
        "",
        "3 models: 1 kept, 1 violated, 1 unusable",
        "most violated:",
        "  2  Div.float.R1  stated  Tensors A, B and C must have the same shape.",
        "",
        (
            "next: sonnx-ort rewrite folder/broken.onnx -o folder/broken.enforced.onnx "
            "--broadcast explicit"
        ),
    ]


def test_statistics_count_by_rule() -> None:
    check = alone(mendable(), operators="profile,-Graph")
    lines = [line.split() for line in statistics(check).splitlines()]
    assert lines[0] == ["rule", "violated", "[*]", "in", "runs", "proved", "findings", "models"]
    assert ["Concat.R1", "1", "1", "0", "0", "0", "1"] in lines
    assert ["Softmax.C2", "1", "0", "0", "0", "0", "1"] in lines


def test_colours_change_nothing_but_colours() -> None:
    for check in (alone(mixed()), together()):
        report = check.models[0].report
        assert report is not None
        for coloured, plain in (
            (overview(report, "x", coloured=True), overview(report, "x")),
            (overview_of_models(check, coloured=True), overview_of_models(check)),
        ):
            assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
            assert coloured != plain


@pytest.mark.parametrize("name", ["x" * 300, "a/very/long/path/" * 20, "two\nlines", "ümläut" * 40])
def test_lines_stay_within_the_width_whatever_the_names_of_nodes(name: str) -> None:
    made = binary_model("Div", "float", [3], [1], node=name)
    lines = overview(sonnx_ort.check(made, operators="default"), "m.onnx").splitlines()
    assert max(map(len, lines)) <= WIDTH


def test_model_without_a_node_of_the_operators_is_told_so() -> None:
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    check = Check((CheckedModel("m.onnx", sonnx_ort.check(made, operators="default")),))
    assert check.models[0].report is not None
    text = overview(check.models[0].report, "m.onnx")
    assert text.startswith("m.onnx: not checked\n")
    assert text.endswith("\n\nnext: sonnx-ort check m.onnx --operators profile")


def test_values_of_unknown_rank_have_one_cause_in_front() -> None:
    graph = "{ a = Add(x, y) z = Mul(w, y) }"
    made = parse(f"(float[n] x, float[n] w, float[n] y) => (float[n] a, float[n] z) {graph}")
    for unknown in made.graph.input[:2]:
        unknown.type.tensor_type.ClearField("shape")
    lines = overview(sonnx_ort.check(made), "m.onnx").splitlines()
    start = lines.index("the rank of 2 values is not known:")
    said = " ".join(line.strip() for line in lines[start + 1 : lines.index("", start)])
    assert said == (
        "'x' [input] is the first; declare its shape, or export the model with fixed sizes, and "
        "more is decided before a run"
    )
    assert lines.index("checked in each run, at 2 places:") > start
