"""Which sizes of inputs are looked at once, and for which nodes."""

import re

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.analysis.examination import Examination, examine_model
from sonnx_ort.analysis.obligation import identify
from sonnx_ort.enforcing.native.inputs import Agreement, find_agreements, prove_by_inputs
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.rule import Status
from support.graphs import parse
from support.sessions import quiet


def examined(
    graph: str, broadcasting: Broadcasting = Broadcasting.REJECT
) -> tuple[ir.Model, Examination]:
    loaded = load_canonical(parse(graph))
    demands = Demands(Edition.TYPED, broadcasting, DEFAULT_OPERATORS)
    identity = identify(loaded.sha256, loaded.proto)
    return loaded.graph_model, examine_model(loaded.graph_model, demands, identity)


def agreements(graph: str, broadcasting: Broadcasting = Broadcasting.REJECT) -> list[Agreement]:
    model, examination = examined(graph, broadcasting)
    return list(find_agreements(model, examination.nodes, examination.facts))


def described(found: Agreement) -> str:
    axes = " ".join(f"{place.value.name}[{place.axis}]" for place in found.axes)
    checking_nodes = " ".join(node.ruled.label for node in found.checking_nodes)
    dependent_nodes = " ".join(node.ruled.label for node in found.dependent_nodes)
    return f"{found.symbol}: {axes} held by {checking_nodes} for {dependent_nodes}"


TWO = "(float[n] x, float[n] y) => (float[] p, float[] q) { [d] p = Div(x, y) [s] q = Sub(x, y) }"
ONES = "(float[n, 1] x, float[n, 3] y) => (float[] p, float[] q) { p = Div(x, y) q = Sub(x, y) }"


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        pytest.param(TWO, ["n: x[0] y[0] held by d s for d s"], id="two nodes, one symbol"),
        pytest.param(
            "(float[n, m] x, float[n, m] y) => (float[] p, float[] q)"
            " { [d] p = Div(x, y) a = Mul(p, p) [s] q = Sub(a, y) }",
            ["n: x[0] y[0] held by d for d s", "m: x[1] y[1] held by d for d s"],
            id="two symbols, the second node by way of the first",
        ),
        pytest.param(
            "(float[n] x, float[n] y, float[n] z) => (float[] p, float[] q, float[] r)"
            " { [d] p = Div(x, y) [e] q = Div(y, z) [f] r = Div(x, z) }",
            ["n: x[0] y[0] z[0] held by d e f for d e f"],
            id="three inputs",
        ),
        pytest.param(
            "(float[n] x, float[n] y, float[n] z) => (float[] p, float[] q, float[] r)"
            " { [d] p = Div(x, y) a = Mul(p, p) [e] q = Div(a, y) r = Neg(z) }",
            ["n: x[0] y[0] held by d for d e"],
            id="an input of the same symbol that no node divides by",
        ),
        pytest.param(
            "(float[n, n] x) => (float[] p, float[] q)"
            " { t = Transpose(x) [d] p = Div(x, t) [e] q = Sub(t, x) }",
            [],
            id="two axes of one input come to one node together",
        ),
        pytest.param(
            "(float[3, n] x, float[3, n] y) => (float[] p, float[] q)"
            " { [d] p = Div(x, y) [s] q = Sub(x, y) }",
            ["n: x[1] y[1] held by d s for d s"],
            id="an axis of a fixed size is no part of it",
        ),
        pytest.param(
            "(float[n, m] x, float[n, m] y) => (float[] p, float[] q, float[] r)"
            " <int64[4] more = {1, 0, 0, 0}> { [e] r = Sub(x, y)"
            " a = Pad(x, more) b = Pad(y, more) [d] p = Div(a, b) [s] q = Sub(a, b) }",
            ["n: x[0] y[0] held by e for e d s", "m: x[1] y[1] held by e d s for e d s"],
            id="a size that is computed from a symbol holds nothing, another of the node does",
        ),
    ],
)
def test_sizes_are_looked_at_once_for_all_nodes_that_rest_on_them(
    graph: str, expected: list[str]
) -> None:
    assert [described(found) for found in agreements(graph)] == expected


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(
            "(float[n] x, float[n] y) => (float[] p) { p = Div(x, y) }",
            id="a node alone looks at its operands",
        ),
        pytest.param(
            "(float[n] x, float[m] y) => (float[] p, float[] q) { p = Div(x, y) q = Sub(x, y) }",
            id="two symbols that may differ",
        ),
        pytest.param(
            "(float[n] x) => (float[] p, float[] q) { a = Neg(x) p = Div(a, x) q = Sub(a, x) }",
            id="one axis alone is proved",
        ),
        pytest.param(
            "(float[n] x, float[n] y) => (float[] p) { p = Div(x, y) q = Sub(x, y) }",
            id="a dead node rests on nothing",
        ),
        pytest.param(
            "(float[n] x, float[n] y, float[n] z) => (float[] p, float[] q)"
            " { a = Mean(x, y) p = Div(a, z) q = Sub(a, z) }",
            id="Mean may broadcast x or y, and no rule be broken",
        ),
        pytest.param(
            "(float[n] x, float[n] y, bool c) => (float[] p) { p = If(c) <"
            " then_branch = t () => (float[] a) { h = Div(x, y) i = Sub(x, y) a = Mul(h, i) },"
            " else_branch = e () => (float[] b) { b = Neg(x) }> }",
            id="not every run reaches a branch",
        ),
        pytest.param(
            "(float[n, m] x, float[n, k] y) => (float[] p, float[] q)"
            " { p = Div(x, y) q = Sub(x, y) }",
            id="equal symbols alone do not make the shapes equal",
        ),
    ],
)
def test_nothing_is_looked_at_that_no_node_of_every_run_holds_to_each_other(graph: str) -> None:
    assert agreements(graph) == []


@pytest.mark.parametrize(
    ("graph", "expected"), [(TWO, ["n: x[0] y[0] held by d s for d s"]), (ONES, [])]
)
def test_with_broadcasts_sizes_are_looked_at_that_none_makes_equal(
    graph: str, expected: list[str]
) -> None:
    assert [described(found) for found in agreements(graph, Broadcasting.EXPLICIT)] == expected


def test_settled_is_what_is_said_of_shapes_that_only_a_run_would_tell() -> None:
    graph = "(int32[n] x, int32[n] y) => (int32[] p, int32[] q) { p = Div(x, y) q = Div(p, y) }"
    _, examination = examined(graph)
    nodes = examination.once_rewritten.nodes
    told = [(o.rule.id, o.status, o.evidence) for node in nodes for o in node.obligations]
    of_shapes = [place for place, (rule, *_) in enumerate(told) if rule == "Div.int.R1"]
    assert [told[place][1] for place in of_shapes] == [Status.RUNTIME, Status.PROVED]
    told[of_shapes[0]] = (
        "Div.int.R1",
        Status.PROVED,
        "a check at the start of each run ensures that the inputs agree on these shapes",
    )
    proved_by_inputs = [prove_by_inputs(node) for node in nodes]
    assert [node.ruled for node in proved_by_inputs] == [node.ruled for node in nodes]
    assert told == [
        (o.rule.id, o.status, o.evidence) for n in proved_by_inputs for o in n.obligations
    ]
    assert Status.RUNTIME in {status for _, status, _ in told}


CHAIN = """(float[n, k] x, float[n, k] y, float[n] w)
    => (float[] p, float[] q) {
    a = Relu(x)
    [first] p = Div(a, y)
    b = Mul(p, p)
    [second] q = Sub(b, x)
}"""


def enforced() -> onnx.ModelProto:
    return sonnx_ort.rewrite(parse(CHAIN), backend="native")


def plain_session() -> ort.InferenceSession:
    options = quiet()
    return ort.InferenceSession(enforced().SerializeToString(), options)


def feeds(x: tuple[int, int], y: tuple[int, int], w: int = 7) -> dict[str, np.ndarray]:
    shapes = {"x": x, "y": y, "w": (w,)}
    return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


def test_inputs_that_agree_give_what_the_original_gives() -> None:
    p, q = plain_session().run(None, feeds((2, 3), (2, 3)))
    np.testing.assert_array_equal(p, np.ones((2, 3)))
    np.testing.assert_array_equal(q, np.zeros((2, 3)))


def test_input_of_the_same_symbol_that_no_node_divides_may_be_of_any_size() -> None:
    plain_session().run(None, feeds((2, 3), (2, 3), w=5))


@pytest.mark.parametrize("y", [(1, 3), (2, 1), (1, 1), (3, 3)])
def test_inputs_that_do_not_agree_are_refused_by_a_plain_session(y: tuple[int, int]) -> None:
    told = r"Name:'Div 'first' breaks the SONNX profile;.*got -11$"
    with pytest.raises(Exception, match=re.compile(told, re.DOTALL)):
        plain_session().run(None, feeds((2, 3), y))


def test_our_session_says_which_node_fails_and_with_which_shapes() -> None:
    session = sonnx_ort.InferenceSession(parse(CHAIN), backend="native")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds((2, 3), (1, 3)))
    violation = caught.value
    assert (violation.rule, violation.node) == ("Div.float.R1", "first")
    assert violation.shapes == ((2, 3), (1, 3))
