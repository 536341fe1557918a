"""Changes are made round by round, chosen by rule, and verified on request."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort.conforming import fixpoint, rounds
from sonnx_ort.conforming.bounds import Bound
from sonnx_ort.conforming.change import Change, NoChangeError, NodeEdit
from sonnx_ort.conforming.rounds import CHANGES
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import examine, load
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Status
from support.graphs import parse

CUT = """(float[2,3] x) => (float[] y) <int64[1] s = {0}, int64[1] e = {2}>
    { [cut] c = Slice(x, s, e) [share] y = Softmax <axis = -1> (c) }"""


def test_every_rule_of_a_change_is_one_of_the_profile() -> None:
    assert {rule for change in CHANGES for rule in change.rules} <= set(RULES)


def test_titles_tell_changes_apart() -> None:
    titles = [(change.title, change.safety) for change in CHANGES]
    assert len(titles) == len(set(titles))


def test_changes_say_what_they_mended_where() -> None:
    changes = sonnx_ort.conform(parse(CUT), operators="Slice,Softmax").changes
    assert [(c.rules, c.place, c.title) for c in changes] == [
        (("Slice.R1", "Slice.R3"), "Slice 'cut'", "name every axis and every step"),
        (("Softmax.R4",), "Softmax 'share'", "count the axis from the front"),
    ]


def test_only_chosen_rules_are_mended() -> None:
    conformed = sonnx_ort.conform(parse(CUT), select="Softmax", operators="Slice,Softmax")
    assert {rule for change in conformed.changes for rule in change.rules} == {"Softmax.R4"}


def test_ignored_rules_are_not_mended() -> None:
    conformed = sonnx_ort.conform(parse(CUT), ignore="Softmax", operators="Slice,Softmax")
    assert "Softmax.R4" in {o.rule.id for o, _ in conformed.remaining}


def test_model_that_keeps_the_profile_is_given_as_it_is() -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Neg(x) }")
    conformed = sonnx_ort.conform(model)
    assert (conformed.changes, conformed.remaining, conformed.model) == ((), (), model)


def test_given_model_is_not_modified() -> None:
    model = parse(CUT)
    before = model.SerializeToString()
    sonnx_ort.conform(model)
    assert model.SerializeToString() == before


def test_graph_of_the_graph_library_gives_one() -> None:
    assert isinstance(sonnx_ort.conform(ir.from_proto(parse(CUT))).model, ir.Model)


def test_nodes_in_branches_are_conformed() -> None:
    model = parse("""(float[2,3] x, bool c) => (float[2,3] y) {
        [choose] y = If(c) <
            then_branch = t () => (float[2,3] p) { [inner] p = Softmax <axis = -1> (x) },
            else_branch = e () => (float[2,3] q) { q = Neg(x) }>
    }""")
    changes = sonnx_ort.conform(model, operators="Softmax").changes
    assert [c.place for c in changes] == ["Softmax 'inner' in If 'choose' then_branch"]


def test_rewritten_model_is_refused() -> None:
    rewritten = sonnx_ort.rewrite(parse("(float[2] x) => (float[2] y) { y = Div(x, x) }"))
    message = "^the model is already rewritten; conform the original, then rewrite it$"
    with pytest.raises(sonnx_ort.SonnxError, match=message):
        sonnx_ort.conform(rewritten)


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_rewrite_conforms_on_request(backend: str) -> None:
    choices = {"operators": "Slice,Softmax", "backend": backend}
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.rewrite(parse(CUT), **choices)
    once = sonnx_ort.rewrite(parse(CUT), conform=True, **choices)
    assert sonnx_ort.rewrite(once, conform=True, **choices) == once


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_session_conforms_on_request(backend: str) -> None:
    session = sonnx_ort.InferenceSession(
        parse(CUT), operators="Slice,Softmax", backend=backend, conform=True
    )
    (y,) = session.run(None, {"x": np.zeros((2, 3), np.float32)})
    np.testing.assert_array_equal(y, np.full((2, 3), np.float32(1) / np.float32(3)))


def with_change(monkeypatch: pytest.MonkeyPatch, make: Callable[[NodeEdit], bool]) -> None:
    rules = frozenset({"Softmax.R4"})
    monkeypatch.setattr(
        rounds, "CHANGES", (Change("break it", rules, make, verified_of("Softmax")), *CHANGES)
    )


def test_change_that_changes_a_bit_is_left_out_if_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(edit: NodeEdit) -> bool:
        edit.set_attribute("axis", 0)
        return True

    with_change(monkeypatch, wrong)
    conformed = sonnx_ort.conform(parse(CUT), verify=True, operators="Slice,Softmax")
    assert [change.title for change in conformed.left_out] == ["break it"]
    assert [change.title for change in conformed.changes] == [
        "name every axis and every step",
        "count the axis from the front",
    ]


def test_change_with_which_a_run_fails_is_left_out_if_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(edit: NodeEdit) -> bool:
        shape = edit.constant([7], "shape")
        edit.set_input(0, edit.add("Reshape", [edit.operand(0), shape], {}))
        edit.set_attribute("axis", 0)
        return True

    with_change(monkeypatch, failing)
    conformed = sonnx_ort.conform(parse(CUT), verify=True, operators="Slice,Softmax")
    assert [change.title for change in conformed.left_out] == ["break it"]


def test_model_that_does_not_run_cannot_be_verified() -> None:
    model = parse("""(float[2,3] x, int64[1] s) => (float[] y)
        { [shaped] r = Reshape(x, s) [share] y = Softmax <axis = -1> (r) }""")
    with pytest.raises(sonnx_ort.SonnxError, match="the original model fails at Reshape 'shaped'"):
        sonnx_ort.conform(model, verify=True, inputs={"s": np.array([5])})


def test_changes_without_an_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(edit: NodeEdit) -> bool:
        edit.set_attribute("axis", -1)
        return True

    with_change(monkeypatch, endless)
    with pytest.raises(sonnx_ort.SonnxError, match=r"^the changes do not end;"):
        sonnx_ort.conform(parse(CUT))


def test_change_that_rounds_is_made_on_request_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(edit: NodeEdit) -> bool:
        edit.set_attribute("axis", 1)
        return True

    change = Change("count it", frozenset({"Softmax.R4"}), count, verified_of("Softmax"), Bound(1))
    monkeypatch.setattr(rounds, "CHANGES", (change,))
    options = {"operators": "Softmax"}
    (remaining,) = sonnx_ort.conform(parse(CUT), **options).remaining
    assert remaining[1] == "rounding=True may fix it: count it"
    assert sonnx_ort.conform(parse(CUT), rounding=True, measure=False, **options).remaining == ()


@pytest.mark.parametrize("reason", ["", "there is nothing to count"])
def test_change_that_rounds_is_named_where_it_would_be_made(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    def count(_: NodeEdit) -> bool:
        if reason:
            raise NoChangeError(reason)
        return False

    change = Change("count it", frozenset({"Softmax.R4"}), count, verified_of("Softmax"), Bound(1))
    monkeypatch.setattr(rounds, "CHANGES", (change,))
    (remaining,) = sonnx_ort.conform(parse(CUT), operators="Softmax").remaining
    assert remaining[1] == (reason or f"no change fixes it: {remaining[0].hint}")


def test_change_that_rounds_that_is_tried_leaves_the_graph_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def edit(edit: NodeEdit) -> bool:
        edit.set_attribute("axis", 1)
        edit.remove_attribute("axis")
        edit.set_input(0, edit.add("Add", [edit.operand(0), edit.constant([1], "one")], {}))
        edit.replace_by(edit.add("Neg", [edit.operand(0)], {}, name="other"))
        return True

    change = Change("count it", frozenset({"Softmax.R4"}), edit, verified_of("Softmax"), Bound(1))
    monkeypatch.setattr(rounds, "CHANGES", (change,))
    model = parse(CUT)
    conformed = sonnx_ort.conform(model, operators="Softmax")
    assert (conformed.changes, conformed.model) == ((), model)


GEMM = """(float[n,3] a, float[4,3] b) => (float[] y) <float[4] c = {1,2,3,4}>
    { [product] y = Gemm <alpha = 1.0, beta = 1.0, transA = 0, transB = 1> (a, b, c) }"""


def test_only_what_is_mended_is_told() -> None:
    """C gets the shape of the product, which the rule compares with the shape of B."""
    conformed = sonnx_ort.conform(parse(GEMM), operators="Gemm")
    fixed = {rule for change in conformed.changes for rule in change.rules}
    left = {obligation.rule.id for obligation, _ in conformed.remaining}
    assert "Gemm.R1" in fixed
    assert "Gemm.R3" in left
    assert not fixed & left
    marked = sonnx_ort.check(parse(GEMM), operators="Gemm").mendable
    assert {obligation.rule.id for obligation in marked} == fixed


def test_nothing_is_examined_again_where_nothing_is_written_down() -> None:
    loaded = load(
        parse("(float[2] x) => (float[2] y) { y = Selu <alpha = 1.0, gamma = 1.0> (x) }"),
        Choices.of(operators="profile"),
    )
    examination = examine(loaded, complete=True).examination

    def again(_: object) -> NoReturn:
        raise AssertionError

    graph = fixpoint.conform_graph(
        loaded.model.graph_model, examination, again, rounds.Selection(frozenset(RULES))
    )
    assert graph.examination is examination


def test_what_a_body_reads_no_more_is_known_at_once() -> None:
    """Behind the Loop a rank depended on the scalar, of which runs may give any shape."""
    model = parse(
        """(float x) => (int64[2] y) <int64 trips = {0}, int32[1,1] first = {2}> {
            last = Loop <body = b (int64 i, bool c, int32[] s) => (bool[] c, int32[] s) {
                sum = ReduceSum(x)
            }> (trips, "", first)
            y = Shape(last)
        }"""
    )
    assert sonnx_ort.conform(sonnx_ort.conform(model).model).changes == ()


def test_external_data_is_loaded_into_the_model(tmp_path: Path) -> None:
    model = parse("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Neg(x) y = Add(a, w) }")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w", size_threshold=0)
    (w,) = sonnx_ort.conform(path).model.graph.initializer
    assert numpy_helper.to_array(w).tolist() == [1, 1]


WITHIN = sonnx_ort.Contract((sonnx_ort.ValueContract("x", (0, 5)),))


@pytest.mark.parametrize("limits", [sonnx_ort.Contract(), WITHIN], ids=["alone", "contract"])
def test_report_says_what_rests_on_the_shapes_that_were_written_down(
    limits: sonnx_ort.Contract,
) -> None:
    """Any shape is taken for an input that is declared as a scalar: that of `s` is not proved."""
    made = sonnx_ort.conform(
        parse("(int64 x) => (int64[1] y) <int64[1] c = {3}> { s = Add(x, c) y = Div(c, s) }"),
        contract=limits,
    )
    assert made.changes
    asked = {"operators": "profile", "backend": "native", "contract": limits, "forecast": False}
    told, found = (
        [(str(o), o.status, o.rests_on_declaration) for o in report.obligations]
        for report in (made.report, sonnx_ort.check(made.model, **asked))
    )
    assert told == found
    assert any(resting for *_, resting in told)


@pytest.mark.parametrize(("result", "changed"), [("int64[]", True), ("int64[n]", False)])
def test_report_says_of_other_declarations_what_the_model_has_of_them(
    result: str, *, changed: bool
) -> None:
    """A model that is written declares a value once; one without a change is that of the file."""
    model = parse(f"(int64[n] x) => ({result} y) {{ y = Add(x, x) }}")
    if changed:
        model.graph.output[0].type.tensor_type.ClearField("shape")
    model.graph.value_info.append(
        onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [1])
    )
    made = sonnx_ort.conform(model)
    assert bool(made.changes) is changed
    told, found = (
        [(str(o), o.status) for o in report.obligations]
        for report in (
            made.report,
            sonnx_ort.check(made.model, operators="profile", backend="native", forecast=False),
        )
    )
    assert told == found
    assert all(status is Status.PROVED for _, status in told) is changed
