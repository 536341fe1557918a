"""`check` says of each violation what `conform` does about it, and changes nothing else."""

import dataclasses
import datetime as dt
import random
from collections.abc import Callable, Iterator
from functools import partial

import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.analysis.report import NewViolations, Report
from sonnx_ort.conforming import forecast
from sonnx_ort.conforming.fixpoint import ConformedGraph
from sonnx_ort.conforming.rounds import Selection
from sonnx_ort.conforming.worsening import Start, conform_without_worsening
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.graph import EDGES, OPERATORS_OF_THE_SET
from support.emitted import FOLDER, Emitted
from support.examined import examined
from support.graphs import parse
from support.soundness.models import random_model

NEGATIVE_AXIS = "(float[2, 3] x) => (float[4, 3] y) { [join] y = Concat<axis = -2>(x, x) }"
NO_ATTRIBUTES = """
    (float[1, 1, 3, 3] x, float[1, 1, 2, 2] w) => (float[?, ?, ?, ?] y) { [filter] y = Conv(x, w) }
"""
NO_TYPES = "(float[2] x) => (float[2] y) { r = Relu(x) [last] y = Relu(r) }"
DEAD = "(float[2] x) => (float[2] y) { [last] y = Relu(x) [unread] r = Concat<axis = -1>(x, x) }"
DROPOUT = "(float[2] x) => (float[2] y) { d = Dropout(x) y = Relu(d) }"
OUTSIDE = "(float[2] x) => (float[2] y) { [grow] y = Selu(x) }"
ROUNDING = "(float[2, 3] x) => (float[2, 3] y) { [soft] y = LogSoftmax(x) }"
IMPOSSIBLE = "(float[2] x) => (int64[1, n] y) { [find] y = NonZero(x) }"
BEHIND = """
    (float[2, 3] x) => (float[n] y) {
        [count] s = Size(x)
        one = Constant<value = int64[1] {1}>()
        shape = Reshape(s, one)
        r = Reshape(x, shape)
        [join] y = Concat<axis = -1>(r, r)
    }"""
IN_BRANCH = """
    (bool c, float[2, 3] x) => (float[?, ?] y) {
        [choose] y = If(c) <
            then_branch = t () => (float[?, ?] p) { [join] p = Concat<axis = -2>(x, x) },
            else_branch = e () => (float[?, ?] q) { q = Relu(x) }>
    }"""

ON_OPERATORS = "profile,-Graph"
WRITTEN = "write what the file omits"


def random_graph(seed: int) -> onnx.ModelProto:
    """A model of random nodes, with subgraphs."""
    return random_model(random.Random(seed)).proto  # noqa: S311 - no cryptography


def mendable(text: str, operators: str = ON_OPERATORS, **choices: str) -> set[tuple[str, str]]:
    """The rules that can be fixed, each with what is done."""
    report = sonnx_ort.check(parse(text), operators=operators, **choices)
    return {(o.rule.id, o.mendable) for o in report.mendable}


@pytest.mark.parametrize(("text", "operators", "expected"), [
    (NEGATIVE_AXIS, ON_OPERATORS, {("Concat.R1", "count the axis from the front")}),
    (IN_BRANCH, ON_OPERATORS, {("Concat.R1", "count the axis from the front")}),
    (NO_ATTRIBUTES, ON_OPERATORS, {("Conv.R2", WRITTEN)}),
    (NO_ATTRIBUTES, "profile", {(rule, WRITTEN) for rule in ("Conv.R2", "GR4", "Graph.edges")}),
    (NO_TYPES, "profile", {("GR2", WRITTEN), ("Graph.implicit_shape", WRITTEN)}),
    (NO_TYPES, ON_OPERATORS, set()),
    (OUTSIDE, ON_OPERATORS, set()),
    (BEHIND, ON_OPERATORS, {("Concat.R1", "count the axis from the front")}),
])  # fmt: skip
def test_each_violation_that_conform_mends_says_how(
    text: str, operators: str, expected: set[tuple[str, str]]
) -> None:
    assert mendable(text, operators) == expected


def test_what_is_violated_at_a_dead_node_is_mended_by_removing_it() -> None:
    assert mendable(DEAD, "profile") == {
        (rule, "remove the node")
        for rule in ("Graph.dead_node", "Concat.R1", "GR2", "Graph.implicit_shape")
    }


def test_what_is_violated_by_a_dropout_is_mended_by_removing_it() -> None:
    found = mendable(DROPOUT, "profile")
    assert ("Graph.inference", "remove the Dropout") in found
    assert {title for _, title in found} == {"remove the Dropout"}


def test_what_no_change_mends_is_not_marked() -> None:
    report = sonnx_ort.check(parse(IMPOSSIBLE), operators="profile")
    (violation,) = (o for o in report.violations if o.rule.id == "Graph.operator_set")
    assert (violation.mendable, violation.rounding) == ("", False)


def test_what_is_not_asked_for_is_not_marked() -> None:
    report = sonnx_ort.check(parse(NEGATIVE_AXIS), operators="default")
    assert not any(o.mendable for o in report.obligations)


def test_what_holds_is_not_marked() -> None:
    report = sonnx_ort.check(parse(NEGATIVE_AXIS), operators="profile")
    assert {o.status for o in report.obligations if o.mendable} == {"violated"}


def test_changes_that_round_are_marked_as_such() -> None:
    report = sonnx_ort.check(parse(ROUNDING), operators="profile")
    (violation,) = report.mendable_by_rounding
    assert (violation.rule.id, violation.rounding) == ("Graph.operator_set", True)
    assert violation not in report.mendable


def test_no_forecast_leaves_the_marks_out() -> None:
    report = sonnx_ort.check(parse(NEGATIVE_AXIS), operators=ON_OPERATORS, forecast=False)
    assert [(o.rule.id, o.mendable) for o in report.violations] == [("Concat.R1", "")]


NESTED = """
    (bool c, float[2] x) => (float[2] y) {
        always = Constant<value = bool {1}>()
        [outer] y = If(always) <
            then_branch = t () => (float[2] p) { [inner] p = If(c) <
                then_branch = u () => (float[2] q) { [minus] q = Selu(x) },
                else_branch = v () => (float[2] r) { r = Abs(x) }> },
            else_branch = e () => (float[2] s) { s = Identity(x) }>
    }"""
STEPS = """
    (float[2] x) => (float[2, 2] y) {
        [each] y = Scan<num_scan_inputs = 1, body = b (float e) => (float f) {
            [grow] f = Selu(e)
        }>(x)
    }"""
TWO_LEFT_OUT = """
    (float[1, 1, 2] x, float[1, 3, 2] w, float[1, 3, 1] r) => (float[1, 1, 1, 1] y) {
        [cell] y = GRU<hidden_size = 1>(x, w, r)
    }"""
OF_A_SCALAR = "(float s, float[3] x) => (float[3] y) { r = Add(s, x) [cut] y = HardSigmoid(r) }"


@pytest.mark.parametrize(("text", "fixed"), [(NESTED, ["outer"]), (STEPS, ["each"])])
def test_what_is_outside_the_set_is_marked_if_its_node_is_gone(text: str, fixed: list[str]) -> None:
    """A branch that is taken, and the steps of a Scan, leave their nodes elsewhere."""
    report = sonnx_ort.check(parse(text))
    assert [o.node for o in report.mendable if o.rule is OPERATORS_OF_THE_SET] == fixed


def test_violations_of_one_rule_at_one_node_are_told_apart() -> None:
    report = sonnx_ort.check(parse(TWO_LEFT_OUT))
    left_out = {o.evidence: bool(o.mendable) for o in report.violations if o.rule is EDGES}
    assert left_out["the input 'initial_h' is left out"]
    assert not left_out["the output 'Y_h' is left out"]


def test_violations_at_what_conform_adds_are_counted() -> None:
    report = sonnx_ort.check(parse(OF_A_SCALAR))
    new = {"Mul.float.R1": 1, "Add.float.R1": 1}
    assert report.new_violations == NewViolations(new, new)


def test_new_violations_are_those_of_the_selected_rules() -> None:
    report = sonnx_ort.check(parse(OF_A_SCALAR)).selected("Mul")
    assert report.new_violations == NewViolations({"Mul.float.R1": 1}, {"Mul.float.R1": 1})


def test_conform_tells_new_violations_from_the_others() -> None:
    conformed = sonnx_ort.conform(parse(OF_A_SCALAR))
    assert [o.rule.id for o in conformed.new] == ["Mul.float.R1", "Add.float.R1"]


TEXTS = {
    "nested": NESTED, "steps": STEPS, "two left out": TWO_LEFT_OUT, "of a scalar": OF_A_SCALAR,
    "negative axis": NEGATIVE_AXIS, "no attributes": NO_ATTRIBUTES, "no types": NO_TYPES,
    "dead": DEAD, "dropout": DROPOUT, "outside": OUTSIDE, "in a branch": IN_BRANCH,
    "rounding": ROUNDING, "impossible": IMPOSSIBLE, "behind another": BEHIND,
}  # fmt: skip


MODELS = {
    **{name: partial(parse, text) for name, text in TEXTS.items()},
    **{name: partial(models.load, name) for name in models.names()},
    **{path.stem: Emitted.read(path).model for path in sorted(FOLDER.iterdir())},
    **{f"random {seed}": partial(random_graph, seed) for seed in (*range(12), 77)},
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_marks_and_new_violations_tell_how_many_conform_leaves(
    model: Callable[[], onnx.ModelProto],
) -> None:
    proto = model()
    report = sonnx_ort.check(proto)
    unmarked = len(report.violations) - len(report.mendable)
    told = [
        unmarked + sum(report.new_violations.safe.values()),
        unmarked - len(report.mendable_by_rounding) + sum(report.new_violations.rounding.values()),
    ]
    left = [
        len(sonnx_ort.conform(proto, rounding=rounding, measure=False).remaining)
        for rounding in (False, True)
    ]
    assert told == left


@pytest.mark.parametrize("text", [NEGATIVE_AXIS, NO_ATTRIBUTES, NO_TYPES, DEAD, DROPOUT])
@pytest.mark.parametrize("operators", ["default", "profile"])
def test_nothing_else_of_the_report_changes(text: str, operators: str) -> None:
    made = parse(text)
    report = sonnx_ort.check(made, operators=operators)
    demands = report.demands
    plain = examined(made, demands, complete=True).report
    assert _without_marks(report).to_document() == plain.to_document()


def _without_marks(report: Report) -> Report:
    plain = tuple(dataclasses.replace(o, mendable="") for o in report.obligations)
    return dataclasses.replace(report, obligations=plain)


@pytest.mark.parametrize("text", [NEGATIVE_AXIS, NO_ATTRIBUTES, NO_TYPES, DEAD, DROPOUT])
def test_the_given_model_is_not_changed(text: str) -> None:
    made = parse(text)
    before = made.SerializeToString(deterministic=True)
    graph_model = ir.from_proto(made)
    sonnx_ort.check(made, operators="profile")
    sonnx_ort.check(graph_model, operators="profile")
    assert made.SerializeToString(deterministic=True) == before
    assert ir.to_proto(graph_model).SerializeToString(deterministic=True) == before


def test_nothing_is_marked_in_a_model_that_the_python_backend_made() -> None:
    text = "(float[k] x) => (float[k] z) { z = Div(x, x) [unread] r = Sub(x, x) }"
    rewritten = sonnx_ort.rewrite(parse(text))
    report = sonnx_ort.check(rewritten, operators="default,Graph")
    assert "Graph.dead_node" in {o.rule.id for o in report.violations}
    assert report.mendable == ()


def test_nothing_is_marked_in_a_model_that_the_native_backend_made() -> None:
    text = "(float[2] x, float[1] y) => (float[2] z) { [divide] z = Div(x, y) }"
    until = dt.date.today() + dt.timedelta(days=1)
    waiver = sonnx_ort.Waiver("Div.float.R1", "divide", "a test", "nobody", until)
    rewritten = sonnx_ort.rewrite(parse(text), backend="native", waivers=[waiver])
    report = sonnx_ort.check(rewritten, operators="default", backend="native")
    assert [o.rule.id for o in report.violations] == ["Div.float.R1"]
    assert report.mendable == ()


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each time that a forecast makes changes, whether with those that round."""
    found = []

    def noted(starts: Iterator[Start], selection: Selection) -> ConformedGraph:
        found.append(selection.rounding)
        return conform_without_worsening(starts, selection)

    monkeypatch.setattr(forecast, "conform_without_worsening", noted)
    return found


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_no_change_rounds_where_changes_are_made_once(
    model: Callable[[], onnx.ModelProto], passes: list[bool]
) -> None:
    proto = model()
    report = sonnx_ort.check(proto)
    if passes == [False] and len(report.mendable) < len(report.violations):
        one, other = (
            sonnx_ort.conform(proto, rounding=rounding, measure=False).model
            for rounding in (False, True)
        )
        assert one == other


@pytest.mark.parametrize(("text", "expected"), [(IMPOSSIBLE, [False]), (ROUNDING, [False, True])])
def test_changes_are_made_once_more_where_some_round(
    text: str, expected: list[bool], passes: list[bool]
) -> None:
    sonnx_ort.check(parse(text))
    assert passes == expected


@pytest.mark.parametrize("error", [SonnxError("no end"), ValueError("unforeseen")])
def test_violations_are_reported_also_if_the_forecast_fails(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(forecast, "conform_without_worsening", fail)
    report = sonnx_ort.check(parse(NEGATIVE_AXIS), operators=ON_OPERATORS)
    assert [(o.rule.id, o.mendable) for o in report.violations] == [("Concat.R1", "")]


def test_rewrite_finds_nothing_out_about_it() -> None:
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(parse(NEGATIVE_AXIS), operators=ON_OPERATORS)
    assert [o.mendable for o in caught.value.report.violations] == [""]


def test_external_data_need_not_be_there() -> None:
    """A model object may refer to data that lies nowhere, and its report needs none."""
    weights = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[1, 1, 2, 2])
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    made = parse(NO_ATTRIBUTES)
    del made.graph.input[1]
    made.graph.initializer.append(weights)
    report = sonnx_ort.check(made, operators=ON_OPERATORS)
    assert [o.rule.id for o in report.mendable] == ["Conv.R2"]
