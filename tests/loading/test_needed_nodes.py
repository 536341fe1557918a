"""Which nodes of a file's graph the values that are asked for need."""

import pytest

from sonnx_ort.loading.file_traversal import nodes_needed
from support.graphs import parse

TEXT = """(float[n] x, bool c) => (float[n] y) {
    a = Neg(x)
    b = Abs(x)
    d = If(c) <
        then_branch = then_graph () => (t) { t = Exp(a) },
        else_branch = else_graph () => (e) { e = Identity(x) }
    >
    y = Add(d, d)
}"""


@pytest.mark.parametrize(
    ("results", "needed"),
    [
        (["y"], ["Neg", "If", "Add"]),  # a body reads the result of Neg
        (["d"], ["Neg", "If"]),
        (["b"], ["Abs"]),
        (["b", "a"], ["Neg", "Abs"]),  # in the order of the graph
        (["x"], []),
        ([], []),
    ],
)
def test_value_needs_its_producer_and_what_that_reads(
    results: list[str], needed: list[str]
) -> None:
    found = nodes_needed(parse(TEXT).graph.node, results)
    assert [node.op_type for node in found] == needed
