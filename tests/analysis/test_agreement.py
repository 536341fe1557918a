"""Which sizes of inputs are looked at once, and for which nodes."""

import pytest

from sonnx_ort.analysis.agreement import Agreement, find_agreements
from sonnx_ort.analysis.examination import examine_loaded
from sonnx_ort.loading.canonical import load
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.options import Broadcasting, Demands, Edition
from support.graphs import parse


def agreements(graph: str, broadcasting: Broadcasting = Broadcasting.REJECT) -> list[Agreement]:
    loaded = load(parse(graph))
    examination = examine_loaded(loaded, Demands(Edition.TYPED, broadcasting, DEFAULT_OPERATORS))
    found = find_agreements(loaded.graph_model, examination.nodes, examination.facts)
    return list(found)


def described(found: Agreement) -> str:
    axes = " ".join(f"{place.value.name}[{place.axis}]" for place in found.axes)
    holders = " ".join(node.target.label for node in found.holders)
    resting = " ".join(node.target.label for node in found.resting)
    return f"{found.symbol}: {axes} held by {holders} for {resting}"


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        pytest.param(
            "(float[n] x, float[n] y) => (float[] p, float[] q)"
            " { [d] p = Div(x, y) [s] q = Sub(x, y) }",
            ["n: x[0] y[0] held by d s for d s"],
            id="two nodes, one symbol",
        ),
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
            " then_branch = t () => (float[] a) { h = Div(x, y) a = Sub(h, y) },"
            " else_branch = e () => (float[] b) { b = Neg(x) }> }",
            id="not every run reaches a branch",
        ),
    ],
)
def test_nothing_is_looked_at_that_no_node_of_every_run_holds_to_each_other(graph: str) -> None:
    assert agreements(graph) == []


def test_explicit_mode_rests_on_agreements_too() -> None:
    graph = (
        "(float[n] x, float[n] y) => (float[] p, float[] q) { [d] p = Div(x, y) [s] q = Sub(x, y) }"
    )
    (found,) = agreements(graph, Broadcasting.EXPLICIT)
    assert described(found) == "n: x[0] y[0] held by d s for d s"
