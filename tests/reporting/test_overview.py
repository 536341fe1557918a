"""What a person reads first of a check: overview, verdict, remedies, and all models together."""

import datetime as dt
import re
import shlex
from dataclasses import replace

import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.reporting.checked_models import Check, CheckedModel, FailOn
from sonnx_ort.reporting.formats import ReportFormat
from sonnx_ort.reporting.next_steps import next_command
from sonnx_ort.reporting.terminal import WIDTH
from sonnx_ort.reporting.text_report import overview, overview_of_models, statistics, text_report
from sonnx_ort.reporting.verdict import causes, verdict
from support.checks import alone, mendable, mixed, together
from support.command import command
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
  4 of 15 checks fail for every input. sonnx-ort rewrite refuses the model. sonnx-ort conform fixes
    4. 1 node was not looked at.
  edition typed, broadcast reject, operators default, backend python

Div.float.R1, 4 checks (stated by SONNX): Tensors A, B and C must have the same shape.
  Div 'first': rank 2 is not rank 1
      A 'x' float (n, 3) [input]
      B 'y' float (3,) [input]
  Div 'second': rank 2 is not rank 1
  Div 'third': rank 2 is not rank 1
  and 1 more
  to fix it: rewrite with --broadcast explicit, which expands B from (3,) to (n, 3)
  [*] sonnx-ort conform fixes it

proved for every run: 11 checks
nodes not looked at: 1; --operators profile covers all
findings, which change no result: 5 GR2, 5 Graph.implicit_shape, 1 Graph.dead_node
-v shows everything, --statistics a table of rules

next: sonnx-ort rewrite many.onnx -o many.enforced.onnx --record many.record.json \
--broadcast explicit --operators default"""


def test_violations_of_one_cause_are_one_paragraph() -> None:
    assert overview(sonnx_ort.check(parse(MANY), operators="default"), "many.onnx") == TEXT


def test_rules_that_runs_decide_are_a_table() -> None:
    report = sonnx_ort.check(
        parse("(int32[n] a, int32[n] b) => (int32[n] c) { c = Div(a, b) }"), operators="default"
    )
    lines = overview(report, "open.onnx").splitlines()
    assert lines[0] == "open.onnx: kept, with 3 checks in each run"
    start = lines.index("checked in each run, 3 checks:")
    assert [line.split()[:2] for line in lines[start + 1 : start + 4]] == [
        ["1", "Div.int.R1"],
        ["1", "Div.int.C1"],
        ["1", "Div.int.C2"],
    ]


def test_declared_shapes_that_are_not_proved_are_told_apart() -> None:
    text = "(float[n] x) => (float[n] y) <float[3] a> { a = Neg(x) y = Abs(a) }"
    lines = overview(sonnx_ort.check(parse(text)), "m.onnx").splitlines()
    start = lines.index("not proved, Graph.false_claim:")
    assert lines[start + 1 : start + 5] == [
        "  'a' is declared (3,), and what is certain is (n,)",
        (
            "  ONNX Runtime takes declared shapes for true; the rewritten model does not have "
            "them, but for those"
        ),
        "    of outputs that no node reads",
        "",
    ]
    assert not [line for line in lines if line.startswith("checked in each run")]


def test_sentence_of_a_rule_is_cut_to_the_width() -> None:
    text = "(float[n,m] x, int64[k] s, int64[l] e) => (float[?,?] z) { z = Slice(x, s, e) }"
    lines = overview(sonnx_ort.check(parse(text), operators="Slice"), "m.onnx").splitlines()
    (cut,) = [line for line in lines if "Slice.C2" in line]
    assert cut.endswith(" in the direction of the ...")
    assert len(cut) <= WIDTH


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
    assert "to fix it" not in text
    assert "sonnx-ort conform" not in text


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
            "--record folder/broken.record.json --broadcast explicit --operators default"
        ),
    ]


def test_statistics_count_by_rule() -> None:
    check = alone(mendable(), operators="profile,-Graph")
    lines = [line.split() for line in statistics(check).splitlines()]
    assert lines[0] == ["rule", "violated", "[*]", "in", "runs"]
    assert ["Concat.R1", "1", "1", "0"] in lines
    assert ["Softmax.C2", "1", "0", "0"] in lines
    assert " ".join(lines[-1]) == "9 other rules proved wherever they apply; -v shows them"


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
    *lines, last = overview(sonnx_ort.check(made, operators="default"), "m.onnx").splitlines()
    assert max(map(len, lines)) <= WIDTH
    # A command that is broken into lines could not be pasted.
    assert last.startswith("next: sonnx-ort rewrite m.onnx ")


def test_model_without_a_node_of_the_operators_is_told_so() -> None:
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    check = Check((CheckedModel("m.onnx", sonnx_ort.check(made, operators="default")),))
    assert check.models[0].report is not None
    text = overview(check.models[0].report, "m.onnx")
    assert text.startswith("m.onnx: not checked\n")
    assert text.endswith("\n\nnext: sonnx-ort check m.onnx")


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
    assert lines.index("checked in each run, 2 checks:") > start


KEPT = "(float[n] x) => (float[n] y) { [e] e = Exp(x) [h] h = HardSwish(e) [s] y = Min(h, h) }"
DIVIDED = "(float[n, 3] x, float[3] y) => (float[n, 3] z) { [d] d = Div(x, y) [a] z = Add(d, y) }"


@pytest.mark.parametrize(("graph", "options", "word", "detail"), [
    (KEPT, {"make_explicit": True}, "Kept",
     ("21 checks, proved for every run. Of 3 nodes, 1 is bound by a draft, 1 is bound by "
      "rules of sonnx_ort (Min), 1 is bound by general restrictions alone (HardSwish).")),
    (KEPT, {"operators": "Exp"}, "Kept",
     "Exp keeps its rules: 2 checks, proved for every run. 2 nodes were not looked at."),
    (KEPT, {"operators": "Div"}, "Not checked",
     "There is no Div here; 3 nodes were not looked at."),
    (KEPT, {"operators": "default"}, "Not checked",
     "There is no Div or Sub here; 3 nodes were not looked at."),
    (DIVIDED, {"operators": "default"}, "Violated",
     ("1 of 3 checks fails for every input. sonnx-ort rewrite refuses the model. "
      "sonnx-ort conform fixes 1. 1 node was not looked at.")),
    (DIVIDED, {}, "Violated",
     ("4 of 22 checks fail for every input. sonnx-ort rewrite refuses the model. "
      "sonnx-ort conform fixes 4.")),
])  # fmt: skip
def test_verdict_says_what_it_is_about(graph, options, word, detail) -> None:
    made = parse(graph)
    if options.pop("make_explicit", False):
        made = sonnx_ort.conform(made).model
    found = verdict(sonnx_ort.check(made, **options))
    assert (found.word, found.detail) == (word, detail)


@pytest.mark.parametrize(("options", "word", "detail"), [
    ({"ignore": "Div"}, "Violated, and left out",
     ("The selection of rules leaves 1 violated check out; no other is found before a run.")),
    ({"select": "Div.float.R1"}, "Violated", "1 of 1 check fails for every input."),
    ({"ignore": "Sub"}, "Violated", "1 of 3 checks fails for every input."),
])  # fmt: skip
def test_verdict_tells_violations_that_the_selection_leaves_out(options, word, detail) -> None:
    report = sonnx_ort.check(binary_model("Div", "float", [3], [1]), operators="default")
    found = verdict(report.selected(**options))
    assert found.word == word
    assert found.detail.startswith(detail)


def test_next_command_after_violations_are_left_out_checks_all_rules() -> None:
    report = sonnx_ort.check(binary_model("Div", "float", [3], [1]), operators="default")
    assert next_command(report.selected(ignore="Div"), "m.onnx") == "sonnx-ort check m.onnx"


def test_models_with_violations_that_are_left_out_are_not_counted_as_kept() -> None:
    kept, broken, _ = together().models
    left_out = replace(broken, report=broken.report.selected(ignore="Div"))
    lines = overview_of_models(Check((kept, left_out), alone=False)).splitlines()
    row = "0 violated, 2 violated left out, 0 checked in runs, 0 proved"
    assert lines[1] == f"folder/broken.onnx  left out  {row}"
    assert lines[3] == "2 models: 1 kept, 0 violated, 1 violated by rules that are left out"


IN_A_BRANCH = """(bool c, float[3] x, float[1] y) => (float[3] z) {
    [choose] z = If(c) <
        then_branch = t () => (float[3] p) { [divide] p = Div(x, y) },
        else_branch = e () => (float[3] q) { q = Abs(x) }>
    }"""


def test_verdict_tells_violations_that_not_every_run_reaches() -> None:
    found = verdict(sonnx_ort.check(parse(IN_A_BRANCH), operators="default"))
    assert found.detail.startswith(
        "1 of 3 checks fails for every input. 1 of them lies at a node in a branch or "
        "loop, so that only runs that reach it fail."
    )


def test_verdict_counts_what_conform_would_violate_anew() -> None:
    model = parse("(float s, float[3] x) => (float[3] y) { r = Add(s, x) y = HardSigmoid(r) }")
    report = sonnx_ort.check(model)
    said = "What sonnx-ort conform adds has 2 new violations (Add.float.R1, Mul.float.R1)."
    assert said in verdict(report).detail
    assert text_report(report).splitlines()[-1] == said


def test_report_says_what_rewrite_refuses_without_operators() -> None:
    report = sonnx_ort.check(parse(DIVIDED))
    assert {o.rule.id for o in report.violations if o.refused} == {"Div.float.R1"}
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(parse(DIVIDED))
    assert [o.rule.id for o in caught.value.report.violations] == ["Div.float.R1"]


def test_rules_of_this_project_can_be_left_out() -> None:
    made = parse("(int32[2] x) => (int32[2] z) <int32[2] y = {1, -1}> { z = Div(y, y) }")
    every = {o.rule.id for o in sonnx_ort.check(made).obligations}
    stated = {o.rule.id for o in sonnx_ort.check(made).selected(rules="stated").obligations}
    assert {o for o in every - stated if o.startswith("Div.")} == {"Div.int.C2"}
    assert {"Div.int.R1", "Div.int.R2", "Div.int.C1", "GR2"} <= stated
    with pytest.raises(
        sonnx_ort.SonnxError, match="rules='ours' is unknown; choose 'all' or 'stated'"
    ):
        sonnx_ort.check(made).selected(rules="ours")


GRAPHS = {
    "proved": "(float[2] x) => (float[2] y) { y = Div(x, x) }",
    "runtime": "(int32[2] x) => (int32[2] y) { y = Div(x, x) }",
    "violated": "(float[2] x, float[1] z) => (float[2] y) { y = Div(x, z) }",
    "not asked for": "(float[2] x, float[1] z) => (float[2] y) { y = Add(x, z) }",
}
UNUSABLE = CheckedModel("none.onnx", None, "there is no file 'none.onnx'")


def checked(*statuses: str) -> tuple[CheckedModel, ...]:
    return tuple(
        CheckedModel(s, sonnx_ort.check(parse(GRAPHS[s]), operators="default")) for s in statuses
    )


@pytest.mark.parametrize(("statuses", "fail_on", "failed"), [
    (["proved"], FailOn.VIOLATED, False),
    (["proved"], FailOn.RUNTIME, False),
    (["runtime"], FailOn.VIOLATED, False),
    (["runtime"], FailOn.RUNTIME, True),
    (["violated"], FailOn.VIOLATED, True),
    (["violated"], FailOn.RUNTIME, True),
    (["not asked for"], FailOn.RUNTIME, False),
    (["proved", "violated"], FailOn.VIOLATED, True),
    ([], FailOn.VIOLATED, False),
], ids=str)  # fmt: skip
def test_check_fails_on_an_obligation_of_any_model(
    statuses: list[str], fail_on: FailOn, *, failed: bool
) -> None:
    assert Check(checked(*statuses), fail_on).failed is failed
    assert Check((UNUSABLE, *checked(*statuses)), fail_on).failed is failed


@pytest.mark.parametrize(
    ("models", "unusable"),
    [((UNUSABLE,), True), (checked("violated"), False), ((*checked("proved"), UNUSABLE), True)],
    ids=["none", "one", "both"],
)
def test_model_without_a_report_cannot_be_used(
    models: tuple[CheckedModel, ...], *, unusable: bool
) -> None:
    assert Check(models).unusable is unusable


def obligation(status: str) -> Obligation:
    (one,) = checked(status)
    assert one.report is not None
    return next(o for o in one.report.obligations if o.status == status)


@pytest.mark.parametrize(
    ("expired", "failing"), [(True, True), (False, False)], ids=["expired", "not expired"]
)
def test_waived_violation_fails_only_when_the_waiver_expired(
    *, expired: bool, failing: bool
) -> None:
    waiver = Waiver("Div.float.R1", "d", "it fits", "the board", dt.date(2026, 1, 1))
    waived = replace(obligation("violated"), waiver=waiver, waiver_expired=expired)
    assert Check(()).fails(waived) is failing


def test_what_is_proved_fails_nothing() -> None:
    assert Check((), FailOn.RUNTIME).fails(obligation("proved")) is False


BROADCAST = binary_model("Div", "float", [3], [1], c_shape=[3])
MISFIT = binary_model("Div", "float", [3], [4])
OPEN = binary_model("Div", "float", ["n"], ["m"], c_shape=["n"])
NONE = parse("(float[2] x) => (float[2] y) { y = Relu(x) }")


@pytest.mark.parametrize("report_format", sorted({*ReportFormat} - {ReportFormat.OVERLAY}))
def test_every_format_of_the_command_names_its_options(report_format, tmp_path) -> None:
    omitted = "(float[2, 3] x, float[3] y) => (float[2, 3] z) { a = Div(x, y) z = Softmax(a) }"
    onnx.save(parse(omitted), tmp_path / "model.onnx")
    options = ["--operators", "profile", "--format", report_format]
    written = command("check", tmp_path / "model.onnx", *options).stdout
    assert "--broadcast explicit" in written
    assert "--make-explicit" in written
    assert "make_explicit=True" not in written


@pytest.mark.parametrize(("line", "said"), [
    ("rewrite m.onnx -o m.onnx",
     ("'m.onnx' cannot be written: it would replace the input 'm.onnx'; name another file, or add "
      "--force")),
    ("audit m.onnx --size k=3",
     ("size k=3: the model has no open size 'k'; those that it names are n, m; --input-shape sets "
      "all of an input")),
    ("reduce m.onnx -o r.onnx",
     ("ask for one thing that the smaller model still has to show: --violates, --refused, --dies, "
      "--differs, --outside or --check")),
    ("reduce m.onnx -o r.onnx --check ''",
     "the command of --check is empty; give one, such as python fails.py {}"),
    ("audit m.onnx --time-limit 0",
     "--time-limit 0 is no limit; give seconds above 0, such as --time-limit 60"),
    ("diff m.onnx m.onnx --tolerance 0.5",
     "--tolerance 0.5: bits are the same or not; name another --measure"),
    ("audit unknown.onnx",
     "the input 'x' has no declared shape; give it with --input, or its shape with --input-shape"),
])  # fmt: skip
def test_errors_about_options_name_those_of_the_command(line, said, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(OPEN, "m.onnx")
    onnx.save(parse("(float[] x) => (float[] y) { y = Relu(x) }"), "unknown.onnx")
    assert command(*shlex.split(line)).stderr == f"sonnx-ort: {said}\n"


def test_errors_of_the_command_name_its_options(tmp_path) -> None:
    onnx.save(BROADCAST, tmp_path / "model.onnx")
    error = command("rewrite", tmp_path / "model.onnx", "-o", tmp_path / "out.onnx").stderr
    assert "to fix it: rewrite with --broadcast explicit, which expands B from" in error


def test_explanations_of_the_command_name_its_options() -> None:
    assert "rewrite with --make-explicit, which writes" in command("explain", "GR2").stdout


def test_functions_name_their_own_options() -> None:
    assert 'rewrite with broadcast="explicit", which' in str(
        sonnx_ort.check(BROADCAST).violations[0]
    )


STACKS = parse("(float[n,2,3] x, float[n,3,4] y) => (float[n,2,4] z) { z = MatMul(x, y) }")
LEFT_OUT = parse("(float[1,1,4,4] x) => (float[1,1,2,2] y) { y = MaxPool<kernel_shape=[3,3]>(x) }")


@pytest.mark.parametrize(("made", "said"), [
    (STACKS, "fix them: --assume-shape x=1,2,3 --assume-shape y=1,3,4"),
    (LEFT_OUT, "to fix it: conform with --name-outputs, which"),
])  # fmt: skip
def test_option_that_may_fix_a_violation_is_named_once_with_its_value(made, said, tmp_path) -> None:
    onnx.save(made, tmp_path / "model.onnx")
    shown = " ".join(command("check", tmp_path / "model.onnx").stdout.split())
    assert said in shown
    assert shown.count("--name-outputs") + shown.count("x=1,2,3") == 1


REWRITE = "rewrite m.onnx -o m.enforced.onnx --record m.record.json"


@pytest.mark.parametrize(("model", "options", "next_one"), [
    (BROADCAST, {}, f"{REWRITE} --broadcast explicit --operators default"),
    (BROADCAST, {"edition": "preliminary", "operators": "elementwise"},
     f"{REWRITE} --edition preliminary --broadcast explicit --operators elementwise"),
    (mendable(), {"operators": "profile"}, "conform m.onnx -o m.conforming.onnx"),
    (MISFIT, {}, "explain Div.float.R1"),
    (OPEN, {}, f"{REWRITE} --operators default"),
    (OPEN, {"operators": "profile"}, REWRITE),
    (OPEN, {"operators": "Div"}, f"{REWRITE} --operators Div"),
    (NONE, {}, "check m.onnx"),
    (mendable(), {"operators": "Concat,Softmax"},
     "conform m.onnx -o m.conforming.onnx --operators Concat,Softmax"),
])  # fmt: skip
def test_next_command_fits_the_report(model, options: dict[str, str], next_one: str) -> None:
    report = sonnx_ort.check(model, **{"operators": "default", **options})
    assert next_command(report, "m.onnx") == f"sonnx-ort {next_one}"


@pytest.mark.parametrize(
    ("name", "shown"), [("my models/a.onnx", "'my models/a.onnx'"), ("-", "model.onnx")]
)
def test_names_of_files_can_be_typed(name: str, shown: str) -> None:
    command = next_command(sonnx_ort.check(OPEN, operators="default"), name)
    assert command.startswith(f"sonnx-ort rewrite {shown} -o ")
