"""What is waived is not enforced, all else is, and the model says so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.analysis.waiving import WAIVERS
from support.backends import on_each_backend, on_native, on_python
from support.graphs import binary_model, parse
from support.waivers import (
    CONSTANT_ZERO,
    INTEGER_SHAPES,
    SHAPES,
    WAIVED_CONSTANT,
    recorded,
    run,
    unequal,
    waiver,
)

pytestmark = on_each_backend


@pytest.mark.parametrize(
    ("operator", "element_type", "rules", "edition"),
    [
        ("Div", "float", ["Div.float.R1"], "typed"),
        ("Div", "float16", ["Div.float.R1"], "typed"),
        ("Div", "int32", ["Div.int.R1"], "typed"),
        ("Div", "float", ["Div.R1", "Div.R4"], "preliminary"),
        ("Sub", "double", ["Sub.float.R1"], "typed"),
        ("Sub", "int64", ["Sub.R1"], "preliminary"),
        ("Pow", "int32", ["Pow.int.R1"], "typed"),
        ("PRelu", "float", ["PRelu.float.R1"], "typed"),
    ],
)
def test_node_broadcasts_where_equal_shapes_are_waived(
    operator: str, element_type: str, rules: list[str], edition: str
) -> None:
    waivers = [waiver(rule) for rule in rules]
    model = unequal(operator, element_type)
    result = run(model, [8, 4, 6], [2], operators="all,-Graph", edition=edition, waivers=waivers)
    expected = {"Div": [4, 2, 3], "Sub": [6, 2, 4], "Pow": [64, 16, 36], "PRelu": [8, 4, 6]}
    np.testing.assert_array_equal(result, expected[operator])


@pytest.mark.parametrize(
    ("divisor", "rule"), [([0], "Div.int.C1"), ([-1], "Div.int.C2")], ids=["C1", "C2"]
)
def test_all_other_rules_of_the_node_are_enforced(divisor: list[int], rule: str) -> None:
    model = unequal(element_type="int32")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        run(model, [8, -(2**31), 6], divisor, waivers=[INTEGER_SHAPES])
    assert (caught.value.rule, caught.value.node) == (rule, "the_node")


def test_zero_divisor_gives_infinity_in_the_preliminary_edition_still() -> None:
    waivers = [waiver("Div.R1"), waiver("Div.R4")]
    result = run(unequal(), [-8, 0, 6], [0], edition="preliminary", waivers=waivers)
    np.testing.assert_array_equal(result, [np.inf] * 3)


def test_all_violated_rules_about_shapes_have_to_be_waived() -> None:
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(unequal(), edition="preliminary", waivers=[waiver("Div.R1")])
    assert [o.rule.id for o in caught.value.report.violations] == ["Div.R4"]
    assert [o.rule.id for o in caught.value.report.waived] == ["Div.R1"]


def test_metadata_tells_of_each_waiver() -> None:
    assert recorded(sonnx_ort.rewrite(unequal(), waivers=[SHAPES])) == [
        {
            "rule": "Div.float.R1",
            "node": "the_node",
            "path": [],
            "model": None,
            "reason": "B is one number",
            "who": "the board",
            "until": "9999-12-31",
        }
    ]


def test_model_without_waivers_tells_of_none() -> None:
    kept = binary_model("Div", "float", ["n"], ["m"])
    kept.metadata_props.add(key=WAIVERS, value="[]")
    assert recorded(sonnx_ort.rewrite(kept)) is None


INNER = """
    (float[3] x, float[1] y, bool c) => (float[?] w) {
        [choose] w = If(c) <
            then_branch = t () => (float[?] p) { [the_node] p = Div(x, y) },
            else_branch = e () => (float[?] q) { [the_node] q = Div(y, x) }>
    }"""


def test_waiver_with_a_path_is_for_that_node_alone() -> None:
    path = ("If 'choose' then_branch",)
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(parse(INNER), waivers=[replace(SHAPES, path=path)])
    (violation,) = caught.value.report.violations
    assert violation.path == ("If 'choose' else_branch",)


def test_waivers_of_nodes_in_subgraphs_have_effect() -> None:
    paths = [("If 'choose' then_branch",), ("If 'choose' else_branch",)]
    waivers = [replace(SHAPES, path=path) for path in paths]
    session = sonnx_ort.InferenceSession(parse(INNER), waivers=waivers)
    feeds = {"x": np.array([2, 4, 8], np.float32), "y": np.array([2], np.float32)}
    for condition, expected in ((True, [1, 2, 4]), (False, [1, 0.5, 0.25])):
        (result,) = session.run(None, {**feeds, "c": np.array(condition)})
        np.testing.assert_array_equal(result, expected)


def test_waivers_of_the_main_graph_are_told_first() -> None:
    text = """(bool c, float[3] x, float[1] y) => (float[3] z) {
        [last] w = Div(x, y)
        z = If (c) <
            then_branch = one () => (float[3] p) { [first] p = Div(w, y) },
            else_branch = other () => (float[3] q) { q = Identity(w) }
        >
    }"""
    waivers = [waiver("Div.float.R1", node) for node in ("first", "last")]
    rewritten = sonnx_ort.rewrite(parse(text), waivers=waivers)
    assert [entry["node"] for entry in recorded(rewritten)] == ["last", "first"]


def test_waivers_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "waivers.toml"
    file.write_text(
        '[[waiver]]\nrule = "Div.float.R1"\nnode = "the_node"\nreason = "B is one number"\n'
        'who = "the board"\nuntil = 9999-12-31\n',
        encoding="utf-8",
    )
    model = unequal()
    assert sonnx_ort.rewrite(model, waivers=file) == sonnx_ort.rewrite(model, waivers=[SHAPES])


POWERS = """(int64[n] y, int64[m] v) => (int64[?] z, int64[?] w) <int64[2] x = {-1, 0}> {
    [the_node] z = Pow(x, x)
    [other] w = Pow(y, v)
}"""


def test_rule_about_elements_is_not_enforced_at_that_node() -> None:
    waivers = [waiver("Acos.float.C1")]
    model = parse(WAIVED_CONSTANT.replace("z = Acos(x)", "a = Acos(x)\n z = Add(a, y)"), opset=18)
    result = run(model, [0, 0], operators="Acos", waivers=waivers)
    assert np.isnan(result[0])


def test_that_rule_is_enforced_at_other_nodes() -> None:
    model = parse(POWERS, opset=18)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        run(model, [3], [-1], operators="Pow", waivers=[waiver("Pow.int.C1")])
    assert (caught.value.rule, caught.value.node) == ("Pow.int.C1", "other")


LEFT_TO_THE_RUN = """(int64[n] y) => (int64[?] z) <int64[2] x = {-1, 0}> {
    [the_node] z = Pow(y, x)
}"""


@on_native
def test_what_is_left_to_the_run_is_decided_without_the_waived_rule(backend: str) -> None:
    del backend
    choices = {"operators": "Pow", "waivers": [waiver("Pow.int.C1")], "verify_proofs": False}
    model = parse(LEFT_TO_THE_RUN, opset=18)
    assert run(model, [1, 2], **choices).shape == (2,)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        run(model, [1, 2, 3], **choices)
    assert caught.value.rule == "Pow.int.R1"


@on_python
def test_python_backend_refuses_to_leave_a_rule_out_behind_a_broadcast(backend: str) -> None:
    del backend
    model = parse(LEFT_TO_THE_RUN.replace("int64[n] y", "int64[1] y"), opset=18)
    waivers = [waiver("Pow.int.R1"), waiver("Pow.int.C1")]
    with pytest.raises(
        sonnx_ort.SonnxError, match=r"waiver of Pow\.int\.C1 .* use the native backend"
    ):
        sonnx_ort.rewrite(model, operators="Pow", waivers=waivers)


SAME_IN_EVERY_RUN = """() => (float[2] z) <float[2] x = {2, 4}, float[1] y = {2}> {
    [the_node] z = Div(x, y)
}"""


def test_rewriting_again_what_no_input_decides_changes_nothing() -> None:
    once = sonnx_ort.rewrite(parse(SAME_IN_EVERY_RUN), waivers=[SHAPES])
    assert recorded(once) is not None
    assert sonnx_ort.rewrite(once, waivers=[SHAPES]) == once


BEHIND_A_GUARD = """(float[0] x) => (float[] y) <int64[1] start = {0}, int64[1] end = {1}> {
    d = NODE(x, x)
    [cut] y = Slice(d, start, end, start, end)
}"""


@pytest.mark.parametrize("node", ["Sub", "Max", "Where"])
def test_rewriting_again_knows_the_shape_behind_a_guard_on_which_a_violation_rests(
    node: str,
) -> None:
    graph = BEHIND_A_GUARD.replace("NODE(x", "Where(c, x" if node == "Where" else f"{node}(x")
    made = parse(graph.replace("(float[0] x)", "(float[0] x, bool[0] c)"))
    waivers = [waiver("Slice.R8", "cut"), waiver("Slice.C2", "cut")]
    once = sonnx_ort.rewrite(made, operators="all,-Graph", waivers=waivers)
    assert sonnx_ort.rewrite(once, operators="all,-Graph", waivers=waivers) == once


BOTH_KINDS = """(float[2] x, float[1] y) => (float[2] z, float[1] w) <float[1] c = {2}> {
    [the_node] z = Add(x, y)
    [angle] w = Acos(c)
}"""


def test_order_of_waivers_makes_no_difference() -> None:
    given = [waiver("Add.float.R1"), waiver("Acos.float.C1", "angle")]
    once = sonnx_ort.rewrite(parse(BOTH_KINDS, opset=18), operators="Add,Acos", waivers=given)
    again = sonnx_ort.rewrite(once, operators="Add,Acos", waivers=given[::-1])
    assert recorded(again) == recorded(once)


@on_python
def test_python_backend_refuses_to_leave_one_of_several_rules_out(backend: str) -> None:
    del backend
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(
            parse(LEFT_TO_THE_RUN, opset=18), operators="Pow", waivers=[waiver("Pow.int.C1")]
        )
    assert str(caught.value) == (
        "the waiver of Pow.int.C1 at Pow 'the_node' has no effect: the kernels of the python "
        "backend check all rules of a node; use the native backend"
    )


TWO_DIVISIONS = """(int32[3] x, int32[1] y) => (int32[1] w) {
    [the_node] z = Div(x, y)
    axes = Constant <value = int64[1] {0}> ()
    s = ReduceSum(z, axes)
    [second] w = Div(s, y)
}"""


@on_native
def test_nothing_is_settled_by_a_node_that_waivers_are_for(backend: str) -> None:
    del backend
    model = parse(TWO_DIVISIONS)

    def zero_divisor(**choices: object) -> sonnx_ort.Obligation:
        found = sonnx_ort.check(
            sonnx_ort.rewrite(model, **choices), operators="default"
        ).obligations
        (obligation,) = (o for o in found if (o.node, o.rule.id) == ("second", "Div.int.C1"))
        return obligation

    assert zero_divisor(broadcast="explicit").checked_before
    assert not zero_divisor(waivers=[INTEGER_SHAPES]).settled


TOO_LARGE = """() => (int32[1] z) <int32[1] x = {-2147483648}, int32[1] y = {-1}> {
    [the_node] z = Div(x, y)
}"""


@pytest.mark.parametrize(
    ("text", "rule"),
    [(CONSTANT_ZERO, "Div.int.C1"), (TOO_LARGE, "Div.int.C2")],
    ids=["zero divisor", "smallest by -1"],
)
def test_rule_that_keeps_the_process_alive_takes_no_waiver(text: str, rule: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(parse(text), waivers=[waiver(rule)])
    assert str(caught.value) == (
        f"the waiver of {rule} at Div 'the_node' has no effect: ONNX Runtime may not survive a "
        "violation of that rule, so no model is rewritten without it; fix the model"
    )


BACKWARDS = "(float[2] x) => (int64[?] z) { [the_node] z = ArgMax <axis = -1> (x) }"


def test_rule_that_no_run_decides_takes_no_waiver() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(parse(BACKWARDS), operators="all,-Graph", waivers=[waiver("ArgMax.R4")])
    assert str(caught.value) == (
        "the waiver of ArgMax.R4 at ArgMax 'the_node' has no effect: no run checks that rule, so "
        "there is no check to waive; fix the model"
    )


TOO_FAR = "(float[2] x) => (float[?] z) { [the_node] z = Flatten <axis = 5> (x) }"


def test_rule_that_the_runtime_holds_takes_no_waiver() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(
            parse(TOO_FAR), operators="all,-Graph", waivers=[waiver("Flatten.axis.C1")]
        )
    assert str(caught.value) == (
        "the waiver of Flatten.axis.C1 at Flatten 'the_node' has no effect: ONNX Runtime itself "
        "refuses what violates it, so there is no check to waive; fix the model"
    )


def test_shapes_that_nothing_makes_equal_are_rejected() -> None:
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(binary_model("Div", "float", [3], [2]), waivers=[SHAPES])
    assert [o.rule.id for o in caught.value.report.violations] == ["Broadcast.E1"]


def test_declared_result_that_no_broadcast_gives_cannot_be_waived() -> None:
    model = binary_model("Div", "float", [3], [1], c_shape=[5])
    with pytest.raises(sonnx_ort.SonnxError, match=r"has no effect: .*; fix the model$"):
        sonnx_ort.rewrite(model, waivers=[SHAPES])
