"""What the index of a graph has: its graphs, nodes and values, and those of its subgraphs."""

import onnx_ir as ir

from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.traversal import defined_values, every_graph, every_node, index_of
from support.graphs import parse

NESTED = """(float[2] x, bool c, int64 trips) => (float[2] y) <float[2] w = {1, 2}> {
    [before] a = Abs(x)
    [If] y = If(c) <
        then_branch = first () => (float[2] b) {
            [Loop] b = Loop(trips, c, a) <
                body = inner (int64 i, bool going, float[2] s) => (bool still, float[2] t) {
                    [still] still = Identity(going)
                    [div] t = Div(s, w)
                }>
        },
        else_branch = second () => (float[2] d) { [else] d = Neg(a) }>
}"""


def index_names() -> tuple[list[str], list[str], list[str]]:
    index = index_of(nested())
    names = (index.graphs, index.nodes, index.values)
    graphs, nodes, values = ([str(each.name) for each in group] for group in names)
    return graphs, nodes, values


def nested() -> ir.Graph:
    return load_canonical(parse(NESTED)).graph_model.graph


def test_each_graph_stands_before_those_inside_it() -> None:
    assert index_names()[0] == ["graph", "first", "second", "inner"]


def test_each_node_stands_before_those_inside_it() -> None:
    assert index_names()[1] == ["before", "If", "Loop", "still", "div", "else"]


def test_inputs_initializers_and_results_are_values_at_any_depth() -> None:
    results, inputs = ["a", "y", "b", "still", "t", "d"], ["x", "c", "trips", "w", "i", "going"]
    assert index_names()[2] == [*results, *inputs, "s"]


def test_an_initializer_that_is_an_input_too_is_one_value() -> None:
    made = parse("(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Div(x, w) }")
    index = index_of(ir.from_proto(made).graph)
    assert [value.name for value in index.values] == ["y", "x", "w"]


def test_single_walks_give_the_same() -> None:
    graph = nested()
    index = index_of(graph)
    assert (every_graph(graph), every_node(graph)) == (index.graphs, index.nodes)
    assert defined_values(graph) == index.values
