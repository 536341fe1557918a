"""The outline of a graph: what is drawn, what reads what, and the names that obligations use."""

from collections.abc import Iterator

import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.reporting.checked_models import GraphOutline, VertexKind
from support.examined import check_with_outline
from support.graphs import parse

NESTED = """
    (float[n] x, float[n] y, bool c) => (float[?] z) <float[1] one = {1}> {
        [rectify] r = Relu(x)
        [choose] z = If(c) <
            then_branch = t () => (float[?] p) { [inner] p = Div(r, one) },
            else_branch = e () => (float[?] q) {
                [again] q = If(c) <
                    then_branch = t2 () => (float[?] u) { [deep] u = Sub(y, y) },
                    else_branch = e2 () => (float[?] v) { v = Neg(r) }>
            }>
    }"""

FUNCTION = """
    (float[n] x) => (float[n] z) { [call] y = local.half(x) z = local.quiet(y) }
    <opset_import: ["" : 17], domain: "local"> half (a) => (b)
        { c = Constant<value = float[1] {2}>() [divide] b = Div(a, c) }
    <opset_import: ["" : 17], domain: "local"> quiet (a) => (b) { b = Relu(a) }"""


def graphs_in(graph: GraphOutline) -> Iterator[GraphOutline]:
    yield graph
    for vertex in graph.vertices:
        for body in vertex.bodies:
            yield from graphs_in(body.graph)


def edges_of(graph: GraphOutline) -> set[tuple[str, str]]:
    labels = [vertex.label for vertex in graph.vertices]
    return {(labels[giver], labels[reader]) for giver, reader in graph.edges}


def labels_of(graph: GraphOutline, kind: VertexKind) -> list[str]:
    return [vertex.label for vertex in graph.vertices if vertex.kind is kind]


@pytest.fixture(name="nested", scope="module")
def _nested() -> dict[tuple[str, ...], GraphOutline]:
    _, graph = check_with_outline(parse(NESTED))
    return {inner.path: inner for inner in graphs_in(graph)}


def test_inputs_and_outputs_of_the_graph_are_there(
    nested: dict[tuple[str, ...], GraphOutline],
) -> None:
    assert labels_of(nested[()], VertexKind.INPUT) == ["x", "y", "c"]
    assert labels_of(nested[()], VertexKind.OUTPUT) == ["z"]


def test_a_node_reads_what_its_subgraphs_read(nested: dict[tuple[str, ...], GraphOutline]) -> None:
    assert edges_of(nested[()]) == {
        *(("x", "rectify"), ("rectify", "choose"), ("y", "choose"), ("c", "choose")),
        ("choose", "z"),
    }


def test_subgraphs_at_any_depth_are_there_under_their_paths(
    nested: dict[tuple[str, ...], GraphOutline],
) -> None:
    outer = "If 'choose' else_branch"
    assert list(nested) == [
        (), ("If 'choose' then_branch",), (outer,), (outer, "If 'again' then_branch"),
        (outer, "If 'again' else_branch"),
    ]  # fmt: skip


def test_a_subgraph_has_what_it_captures_without_initializers(
    nested: dict[tuple[str, ...], GraphOutline],
) -> None:
    body = nested["If 'choose' then_branch",]
    assert labels_of(body, VertexKind.CAPTURED) == ["r"]
    assert edges_of(body) == {("r", "inner"), ("inner", "p")}


def test_what_is_captured_passes_through_the_graphs_between(
    nested: dict[tuple[str, ...], GraphOutline],
) -> None:
    assert set(labels_of(nested["If 'choose' else_branch",], VertexKind.CAPTURED)) == {
        *("c", "y", "r")
    }


def test_functions_are_inlined_as_far_as_obligations_speak_of_their_nodes() -> None:
    _, graph = check_with_outline(parse(FUNCTION, domains={"local": 1}))
    nodes = [v for v in graph.vertices if v.is_node]
    assert [(node.kind, node.operator, node.label) for node in nodes] == [
        (VertexKind.NODE, "Constant", "call/Constant"),
        (VertexKind.NODE, "Div", "call/divide"),
        (VertexKind.CALL, "local::quiet", "(output z)"),
    ]


@pytest.mark.parametrize("form", ["original", *Backend])
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_every_obligation_speaks_of_a_node_that_is_there(name: str, form: str) -> None:
    model = sonnx_ort.models.load(name)
    if form != "original" and sonnx_ort.check(model, operators="default", broadcast="explicit").ok:
        model = sonnx_ort.rewrite(model, broadcast="explicit", backend=form)
    report, graph = check_with_outline(model, broadcast="explicit")
    there = {
        (v.label, inner.path) for inner in graphs_in(graph) for v in inner.vertices if v.is_node
    }
    assert {(o.node, o.path) for o in report.obligations if o.operator} <= there


@pytest.mark.parametrize("name", ["div_in_if_in_loop", "sub_in_scan"])
def test_an_enforced_node_in_a_subgraph_keeps_its_path(name: str) -> None:
    model = sonnx_ort.models.load(name)
    paths = {o.path for o in sonnx_ort.check(model, operators="default").enforced}
    enforced = sonnx_ort.check(sonnx_ort.rewrite(model), operators="default")
    assert {o.path for o in enforced.enforced} == paths != {()}


def test_a_natively_enforced_model_is_outlined_as_what_it_was_made_from() -> None:
    model = sonnx_ort.models.load("div_open_sizes")
    _, graph = check_with_outline(model)
    _, enforced = check_with_outline(sonnx_ort.rewrite(model, backend="native"))
    assert enforced == graph


def test_the_report_is_that_of_check() -> None:
    model = sonnx_ort.models.load("div_in_if")
    report, _ = check_with_outline(model)
    assert report.to_json() == sonnx_ort.check(model, operators="default").to_json()


def told(graph: GraphOutline) -> list[str]:
    """The vertices and edges of a graph and of its bodies, in their order."""
    lines = [f"{graph.name} in {' / '.join(graph.path)}"]
    lines += [f"  {vertex.kind} {vertex.label}" for vertex in graph.vertices]
    lines.append("  " + " ".join(f"{giver}-{reader}" for giver, reader in graph.edges))
    for vertex in graph.vertices:
        for body in vertex.bodies:
            lines += [f"{vertex.label} {body.attribute}:", *told(body.graph)]
    return lines


def test_whole_outline() -> None:
    made = parse("""(float[n] x, int64 trips, bool go) => (float[] z, float[n] x) {
        [a] a = Mul(x, x)
        [l] z = Loop (trips, go, a) <body = step (int64 i, bool g, float[] s)
            => (bool still, float[] t) <float[1] one = {1}> {
                [k] still = Identity(g)
                [t] u = Add(s, a)
                [o] v = Add(u, one)
                [p] t = Add(v, x)
            }>
    }""")
    _, graph = check_with_outline(made)
    kinds = {kind.name: str(kind) for kind in VertexKind}
    node, given, output = (kinds[name] for name in ("NODE", "INPUT", "OUTPUT"))
    assert told(graph) == [
        "graph in ",
        *(f"  {given} x", f"  {given} trips", f"  {given} go", f"  {node} a", f"  {node} l"),
        *(f"  {output} z", f"  {output} x"),
        "  0-3 1-4 2-4 3-4 0-4 4-5 0-6",
        "l body:",
        "step in Loop 'l' body",
        *(f"  {given} i", f"  {given} g", f"  {given} s"),
        *(f"  {kinds['CAPTURED']} a", f"  {kinds['CAPTURED']} x"),
        *(f"  {node} k", f"  {node} t", f"  {node} o", f"  {node} p"),
        *(f"  {output} still", f"  {output} t"),
        "  1-5 2-6 3-6 6-7 7-8 4-8 5-9 8-10",
    ]
