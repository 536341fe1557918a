"""Which inputs a value depends on."""

import onnx_ir as ir
import pytest
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.knowledge.facts import Provenance
from support.graphs import parse

FLOW = """(float[n] x, float[n] y, bool c, int64 trips) => (float[] z)
    <float[1] w = {1}> {
    a = Relu(x)
    b = Add(a, w)
    k = Add(a, y)
    chosen = If(c) <
        then_branch = t () => (float[] p) { p = Neg(a) },
        else_branch = e () => (float[] q) { inner = Constant<value_float = 1.0>() q = Neg(inner) }
    >
    looped = Loop(trips, , b) <
        body = l (int64 i, bool go, float[] state) => (bool on, float[] next) {
            on = Identity(go)
            mixed = Add(state, y)
            next = Identity(mixed)
        }
    >
    z = Add(k, looped)
}"""


@pytest.mark.parametrize(
    ("value", "inputs"),
    [
        ("a", ["x"]),
        ("b", ["x"]),
        ("k", ["x", "y"]),
        ("p", ["x"]),
        ("inner", []),
        ("chosen", ["x", "c"]),
        ("mixed", ["x", "y", "trips"]),
        ("looped", ["x", "y", "trips"]),
        ("z", ["x", "y", "trips"]),
    ],
)
def test_value_depends_on_the_inputs_that_flow_into_it(value: str, inputs: list[str]) -> None:
    model = ir.from_proto(parse(FLOW))
    outputs = (v for node in RecursiveGraphIterator(model.graph) for v in node.outputs)
    (found,) = [v for v in outputs if v.name == value]
    assert [v.name for v in Provenance(model).inputs_behind([found])] == inputs


def test_state_of_a_loop_depends_on_what_the_body_reads_in_any_trip() -> None:
    model = ir.from_proto(parse(FLOW))
    (loop,) = [node for node in model.graph if node.op_type == "Loop"]
    state = loop.attributes["body"].as_graph().inputs[2]
    behind = Provenance(model).inputs_behind([state])
    assert [v.name for v in behind] == ["x", "y", "trips"]
