"""Layouts of graphs: downwards, without overlaps, and with lines that end where they should."""

import random
import re

import pytest

from sonnx_ort.reporting.checked_models import GraphOutline
from sonnx_ort.reporting.graph_drawing import draw
from sonnx_ort.reporting.layout import Layout, Point, Size, lay_out
from support.examined import check_with_outline
from support.graphs import parse

Graph = tuple[list[Size], list[tuple[int, int]]]


def random_graph(seed: int) -> Graph:
    choose = random.Random(seed)  # noqa: S311 - a test's data
    count = choose.randint(1, 40)
    sizes = [(choose.uniform(20, 200), choose.choice([24.0, 42.0, 300.0])) for _ in range(count)]
    pairs = (
        {tuple(sorted(choose.sample(range(count), 2))) for _ in range(count)} if count > 1 else ()
    )
    return sizes, [(giver, reader) for giver, reader in pairs]


GRAPHS = {f"random {seed}": random_graph(seed) for seed in range(60)}
SQUARE = (40.0, 40.0)


@pytest.fixture(name="graph", params=GRAPHS)
def _graph(request: pytest.FixtureRequest) -> Graph:
    return GRAPHS[request.param]


def boxes(layout: Layout, sizes: list[Size]) -> list[tuple[float, float, float, float]]:
    pairs = zip(layout.corners, sizes, strict=True)
    return [(x, y, x + width, y + height) for (x, y), (width, height) in pairs]


def near(point: Point) -> Point:
    """The point, so that what differs by rounding alone is equal."""
    return round(point[0], 4), round(point[1], 4)


def test_every_edge_leads_downwards(graph: Graph) -> None:
    sizes, edges = graph
    placed = boxes(lay_out(sizes, edges), sizes)
    assert all(placed[giver][3] < placed[reader][1] for giver, reader in edges)


def test_no_two_vertices_overlap(graph: Graph) -> None:
    sizes, edges = graph
    placed = boxes(lay_out(sizes, edges), sizes)
    for index, (left, top, right, bottom) in enumerate(placed):
        for other_left, other_top, other_right, other_bottom in placed[:index]:
            beside = right < other_left or other_right < left
            assert beside or bottom < other_top or other_bottom < top


def test_everything_is_within_the_size(graph: Graph) -> None:
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    for left, top, right, bottom in boxes(layout, sizes):
        assert left > -0.001
        assert top >= 0
        assert right <= layout.size[0]
        assert bottom <= layout.size[1]


def test_lines_lead_from_the_giver_to_each_reader(graph: Graph) -> None:
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    placed = boxes(layout, sizes)
    for line in layout.lines:
        left, _, right, bottom = placed[line.giver]
        steps = [(near(a), near(b)) for a, b in (*line.pieces, *line.passages)]
        reached = {near(((left + right) / 2, bottom))}
        while found := {end for start, end in steps if start in reached} - reached:
            reached |= found
        readers = {reader for giver, reader in edges if giver == line.giver}
        tops = {near(((placed[r][0] + placed[r][2]) / 2, placed[r][1])) for r in readers}
        assert tops <= reached
        assert len(line.ends) == len(readers)


def test_lines_pass_between_the_vertices(graph: Graph) -> None:
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    for left, top, right, bottom in boxes(layout, sizes):
        for line in layout.lines:
            for (x, start), (_, end) in line.passages:
                assert not (left < x < right and start < bottom - 0.001 and end > top + 0.001)


def test_a_chain_is_straight() -> None:
    layout = lay_out([SQUARE] * 30, [(i, i + 1) for i in range(29)])
    assert {round(x, 3) for x, _ in layout.corners} == {0.0}


def test_edges_do_not_cross_where_they_need_not() -> None:
    layout = lay_out([SQUARE] * 4, [(0, 3), (1, 2)])
    (first, _), (second, _), (of_second, _), (of_first, _) = layout.corners
    assert (first < second) == (of_first < of_second)


def test_a_source_stands_right_above_what_reads_it() -> None:
    chain = [(i, i + 1) for i in range(8)]
    layout = lay_out([SQUARE] * 11, [*chain, (9, 10), (8, 10)])
    assert layout.corners[9][1] == layout.corners[8][1]


def test_an_empty_graph_has_a_layout() -> None:
    assert lay_out([], []) == Layout((), (), (0.0, 0.0))


def rectangle(drawing: str, number: str) -> tuple[float, float, float, float]:
    found = re.search(
        rf'id="{number}".*?<rect x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"', drawing
    )
    assert found is not None
    x, y, width, height = map(float, found.groups())
    return x, y, x + width, y + height


def nested() -> GraphOutline:
    _, graph = check_with_outline(
        parse(
            """(bool c, float[n] x) => (float[?] z) {
                [choose] z = If(c) <
                    then_branch = t () => (float[?] p) { [inner] p = Div(x, x) },
                    else_branch = e () => (float[?] q) { [other] q = Neg(x) }>
            }"""
        )
    )
    return graph


@pytest.mark.parametrize("inner", ["inner", "other"])
def test_subgraphs_lie_within_their_node(inner: str) -> None:
    drawing = draw(nested(), {}).svg
    numbers = dict(re.findall(r'id="(v\d+)"[^>]*data-key="\[&quot;(\w+)', drawing))
    by_name = {name: number for number, name in numbers.items()}
    left, top, right, bottom = rectangle(drawing, by_name["choose"])
    inside = rectangle(drawing, by_name[inner])
    assert left < inside[0]
    assert top < inside[1]
    assert inside[2] < right
    assert inside[3] < bottom


@pytest.mark.parametrize("name", ["x" * 5000, "long/" * 200, "名" * 500])
def test_long_names_do_not_widen_the_drawing(name: str) -> None:
    made = parse("(float[n] x) => (float[n] z) { z = own.op(x) }", domains={"own": 1})
    made.graph.node[0].name = made.graph.node[0].op_type = name
    _, graph = check_with_outline(made)
    width = re.search(r'<svg id="graph" width="(\d+)"', draw(graph, {}).svg)
    assert width is not None
    assert int(width[1]) < 450
