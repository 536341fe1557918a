"""What holds only if declared shapes are true is not proved, and is settled once rewritten."""

from typing import NamedTuple

import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.profile.catalog import WHOLE_PROFILE
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.rule import Status
from support.examined import examined
from support.graphs import parse

BEHIND = (
    "(float[n, k] x) => (float[] z) <float[3, 4] a> {"
    " a = Abs(x) s = Shape(a) o = ConstantOfShape(s) [last] z = Add(a, o) }"
)


class Case(NamedTuple):
    """A rule at the node 'last', and the declared shape on which it rests; none if it is proved."""

    rule: str
    text: str
    declared: str = ""


CASES = {
    "operands behind a declared value": Case("Add.float.R1", BEHIND, "'a' is declared (3, 4)"),
    "a declared shape that is certain": Case("Add.float.R1", BEHIND.replace("n, k", "3, 4")),
    "names of sizes": Case("Add.float.R1", BEHIND.replace("3, 4", "p, q")),
    "another rank": Case(
        "Add.float.R1", BEHIND.replace("3, 4", "p"), "'a' is declared (p,)"
    ),
    "types": Case("Add.float.R2", BEHIND),
    "storage": Case("Add.float.RG1", BEHIND),
    "a declared result": Case(
        "Add.float.R1",
        "(float[n] x) => (float[] y) <float[3] z> { [last] z = Add(x, x) y = Neg(z) }",
        "'z' is declared (3,)",
    ),
    "a value beside": Case(
        "Add.float.R1",
        "(float[n] x) => (float[] y, float[] z) <float[3] y> { y = Neg(x) [last] z = Add(x, x) }",
    ),
    "elements of integers": Case(
        "Div.int.C1",
        "(int32[n] x) => (int32[] z) <int32[3] a, int32 one = {1}> {"
        " a = Abs(x) b = Clip(a, one) [last] z = Div(a, b) }",
        "'a' is declared (3,)",
    ),
    "a constant behind it": Case(
        "Div.int.C1",
        "(int32[n] x) => (int32[] z) <int32[3] a, int32[1] two = {2}> {"
        " a = Abs(x) [last] z = Div(a, two) }",
    ),
    "what ONNX Runtime holds": Case(
        "Concat.axis.C1",
        "(float[n] x) => (float[] z) <float[3] a> { a = Abs(x) [last] z = Concat<axis = 0>(a, a) }",
    ),
    "a value of a branch": Case(
        "Add.float.R1",
        "(bool c, float[n] x) => (float[] z) <float[3] a> { a = Abs(x) z = If(c) <"
        "then_branch = t () => (float[] o) { [last] o = Add(a, a) },"
        " else_branch = e () => (float[] p) { p = Identity(x) }> }",
        "'a' is declared (3,)",
    ),
    "what a branch gives": Case(
        "Add.float.R1",
        "(bool c, float[n] x) => (float[] z) { y = If(c) <"
        "then_branch = t () => (float[3] o) { o = Abs(x) },"
        " else_branch = e () => (float[] p) { p = Neg(x) }> [last] z = Add(y, y) }",
        "'o' is declared (3,)",
    ),
    "the shape of a condition": Case(
        "Add.float.R1",
        "(bool[m] c, float[n] x) => (float[] z) <bool[1] d> { d = Not(c) y = If(d) <"
        "then_branch = t () => (float[] o) { o = Abs(x) },"
        " else_branch = e () => (float[] p) { p = Neg(x) }> [last] z = Add(y, y) }",
    ),
    "what a Scan takes": Case(
        "Add.float.R1",
        "(float[n, k] x) => (float[] y, float[] z) <float[n, 4] a, float zero = {0}> { a = Abs(x)"
        " y, z = Scan<num_scan_inputs = 1, body = b (float[] s, float[] e)"
        " => (float[] t, float[] o) { t = Identity(s) [last] o = Add(e, e) }>(zero, a) }",
        "'a' is declared (n, 4)",
    ),
    "the state of a Loop": Case(
        "Add.float.R1",
        "(int64 m, bool c, float[n] x) => (float[] z) <float[3] a> { a = Abs(x) z = Loop<body = b"
        " (int64 i, bool d, float[] s) => (bool e, float[] t) { e = Identity(d)"
        " [last] t = Add(s, s) }>(m, c, a) }",
    ),
    "what a Loop gives": Case(
        "Add.float.R1",
        "(int64 m, bool c, float[n] x) => (float[] z) <float[3] a> { a = Abs(x) y = Loop<body = b"
        " (int64 i, bool d, float[] s) => (bool e, float[] t) { e = Identity(d)"
        " t = Neg(s) }>(m, c, a) [last] z = Add(y, y) }",
        "'a' is declared (3,)",
    ),
}  # fmt: skip


def obligation(model: onnx.ModelProto | bytes, rule: str, **choices: str) -> Obligation:
    asked = {"operators": "all,-Graph", **choices}
    found = sonnx_ort.check(model, forecast=False, **asked).obligations
    (one,) = (each for each in found if (each.node, each.rule.id) == ("last", rule))
    return one


@pytest.mark.parametrize("name", CASES)
def test_proof_that_rests_on_a_declared_shape_is_none(name: str) -> None:
    rule, text, declared = CASES[name]
    found = obligation(parse(text), rule)
    assert found.status is (Status.RUNTIME if declared else Status.PROVED)
    assert (found.rests_on_declaration, found.settled) == (bool(declared), True)
    if declared:
        assert found.evidence.endswith(f"; but {declared}, which is not proved")


def test_rewritten_model_proves_what_rested_on_a_declared_shape() -> None:
    for backend in ("python", "native", "compiled"):
        rewritten = sonnx_ort.rewrite(parse(BEHIND), operators="Add", backend=backend)
        found = obligation(rewritten, "Add.float.R1", operators="Add")
        assert (found.status, found.evidence) == (Status.PROVED, "both shapes are (n, k)")


def test_rewritten_model_tells_nothing_of_the_declaration_whatever_its_value_is_called() -> None:
    model = parse(BEHIND)
    for names in (*(n.input for n in model.graph.node), *(n.output for n in model.graph.node)):
        names[:] = ["a; but b" if name == "a" else name for name in names]
    model.graph.value_info[0].name = "a; but b"
    rewritten = sonnx_ort.rewrite(model, operators="Add", backend="native")
    found = obligation(rewritten, "Add.float.R1", operators="Add")
    assert (found.status, found.evidence) == (Status.PROVED, "both shapes are (n, k)")


def test_rewritten_model_has_no_guard_for_it() -> None:
    added = [
        [node.op_type for node in rewritten.graph.node]
        for text in (BEHIND, BEHIND.replace("<float[3, 4] a>", ""))
        for rewritten in [sonnx_ort.rewrite(parse(text), operators="Add", backend="native")]
    ]
    assert added[0] == added[1] == ["Abs", "Shape", "ConstantOfShape", "Add"]


def test_broadcast_in_front_is_told_of_the_rewritten_model() -> None:
    text = BEHIND.replace("ConstantOfShape(s)", "Constant<value = float[1] {1}>()")
    found = obligation(parse(text), "Add.float.R1", broadcast="explicit")
    assert (found.status, found.rests_on_declaration) == (Status.PROVED, False)


def test_value_behind_a_declared_shape_is_not_proved_finite() -> None:
    text = "(int32[n] x) => (float[] z) <int32[3] a> { a = Abs(x) z = Cast<to = 1>(a) }"
    found = [
        [
            (o.status, o.rests_on_declaration)
            for o in sonnx_ort.check(parse(each), operators="Graph.finite").obligations
            if o.rule.id == "Graph.finite"
        ]
        for each in (text, text.replace("<int32[3] a>", ""))
    ]
    assert found == [[(Status.RUNTIME, True)], [(Status.PROVED, False)]]


def test_document_names_what_settles_an_obligation() -> None:
    report = sonnx_ort.check(parse(BEHIND), operators="profile", forecast=False).to_document()
    told = {(o["rule"], o["node"]) for o in report["obligations"] if o.get("rests_on_declaration")}
    assert told == {("Graph.false_claim", ""), ("Add.float.R1", "last")}


def test_once_rewritten_examination_has_it_proved() -> None:
    demands = Demands(Edition.TYPED, Broadcasting.REJECT, WHOLE_PROFILE)
    found = examined(parse(BEHIND), demands)
    statuses = [
        [o.status for node in each.nodes for o in node.obligations if o.rule.id == "Add.float.R1"]
        for each in (found, found.once_rewritten)
    ]
    assert statuses == [[Status.RUNTIME], [Status.PROVED]]
