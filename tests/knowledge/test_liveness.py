"""Nodes that contribute to nothing."""

import onnx_ir as ir
import pytest
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.obligations.findings import dead_nodes
from support.graphs import parse


@pytest.mark.parametrize(
    ("nodes", "dead"),
    [
        ("[a] y = Neg(x)", []),
        ("[a] y = Neg(x) [b] z = Neg(x)", ["b"]),
        ("[a] y = Neg(x) [b] z = Neg(x) [c] w = Neg(z)", ["b", "c"]),
        ("[b] z = Neg(x) [a] y = Neg(z)", []),
        (
            """[z] z = Neg(x) [i] y = If(c) <
                then_branch = t () => (float[] p) { [p] p = Neg(z) },
                else_branch = e () => (float[] q) { [r] r = Neg(x) [q] q = Neg(x) }>""",
            ["r"],
        ),
    ],
)
def test_node_is_dead_if_nothing_of_it_reaches_an_output(nodes: str, dead: list[str]) -> None:
    graph = f"(float[n] x, bool c) => (float[] y) {{ {nodes} }}"
    model = ir.from_proto(parse(graph))
    found = dead_nodes(list(RecursiveGraphIterator(model.graph)))
    assert [node.name for node in found] == dead
