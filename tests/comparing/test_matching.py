"""Values with other names at the same place of two graphs."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from sonnx_ort.comparing.difference import EXACT, Comparison, compare, compared
from sonnx_ort.comparing.runs import by_position, keep, kept, run_both
from support.graphs import parse

NETWORK = """(float[4, 3] x) => (float[n, m] y) <float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
    a = MatMul(x, w) b = Relu(a) y = Neg(b) }"""


def renamed(**names: str) -> onnx.ModelProto:
    """The network with other names of values."""
    model = parse(NETWORK)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for value in (*model.graph.output, *model.graph.initializer):
        value.name = names.get(value.name, value.name)
    return model


QUANTIZED = """(float[4, 3] x) => (float[n, m] y2)
    <uint8[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float s = {0.1}, uint8 o = {128}> {
    q = QuantizeLinear(x, s, o) d = DequantizeLinear(q, s, o) e = DequantizeLinear(w, s, o)
    a2 = MatMul(d, e) q2 = QuantizeLinear(a2, s, o) d2 = DequantizeLinear(q2, s, o)
    b2 = Relu(d2) y2 = Neg(b2) }"""
BRANCHES = """(float[3] x) => (float[3] y) <float[3] u = {1, 2, 3}, float[3] v = {4, 5, 6}> {
    @1 = Mul(x, u) @2 = Mul(x, v) y = Add(@1, @2) }"""


@pytest.mark.parametrize(("other", "matched"), [
    (renamed(), {}),
    (renamed(y="out"), {"y": "out"}),
    (renamed(a="1", b="2", w="onnx::MatMul_7"), {"a": "1", "b": "2"}),
    (renamed(a="1", b="2", y="3"), {"y": "3", "a": "1", "b": "2"}),
    (parse(QUANTIZED), {"y": "y2", "a": "a2", "b": "b2"}),
    (parse(QUANTIZED.replace("Relu(d2)", "Identity(d2)")), {"y": "y2", "a": "a2"}),
    (parse("(float[4, 3] x) => (float[n, m] y) { c = Abs(x) b = Relu(c) y = Neg(b) }"), {}),
    (parse("(float[4, 3] x) => (float[n, m] y, float[n, m] z) { y = Neg(x) z = Neg(y) }"), {}),
], ids=[
    "same names", "output", "between", "all", "quantized", "without Relu",
    "another operator", "more outputs",
])  # fmt: skip
def test_values_with_other_names_are_found_by_the_operators_before_them(
    other: onnx.ModelProto, matched: dict[str, str]
) -> None:
    assert by_position(parse(NETWORK), other) == matched


def test_values_at_one_place_are_matched_in_their_order() -> None:
    one, other = (parse(BRANCHES.replace("@", letter)) for letter in "ab")
    assert by_position(one, other) == {"a1": "b1", "a2": "b2"}


def test_values_at_one_place_are_not_matched_if_one_graph_has_more() -> None:
    one = parse(BRANCHES.replace("@", "a"))
    other = parse(BRANCHES.replace("@", "b"))
    other.graph.node.insert(0, onnx.helper.make_node("Mul", ["x", "u"], ["more"]))
    assert by_position(one, other) == {}


def compared_with(other: onnx.ModelProto) -> Comparison:
    (runs,) = run_both(parse(NETWORK), other, [({}, 0)], match_positions=True)
    return compared(runs, EXACT)


def test_matched_values_are_compared_and_their_other_names_told() -> None:
    found = compared_with(renamed(a="1", y="3"))
    assert found.equal
    assert found.same == ("a", "b", "y")
    assert found.pair.positions == {"a": "1", "y": "3"}
    assert (found.only_first, found.only_second, found.pair.unshared_outputs) == (0, 0, ())


def test_difference_of_matched_values_is_told_by_the_name_in_the_first_model() -> None:
    other = renamed(a="1", b="2", y="3")
    weights = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]], np.float32)
    other.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    found = compared_with(other)
    assert [mismatch.name for mismatch in found.mismatches] == ["a", "b", "y"]
    assert found.mismatches[0].elements[0] != found.mismatches[0].elements[1]


def test_positions_are_left_out_unless_asked_for() -> None:
    found = compare(parse(NETWORK), renamed(y="3"), {})
    assert found.pair.unshared_outputs == ("y", "3")
    assert found.pair.positions == {}


def test_positions_are_kept_with_runs(tmp_path: Path) -> None:
    samples = run_both(parse(NETWORK), renamed(y="3"), [({}, 0)], match_positions=True)
    list(keep((("0", runs) for runs in samples), tmp_path, ("a", "b")))
    ((_, again),) = kept(tmp_path)[1]
    assert compared(again, EXACT).pair.positions == {"y": "3"}
