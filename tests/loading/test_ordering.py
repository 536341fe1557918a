"""Nodes that need their own results are shown as a cycle, not as nodes to sort."""

import onnx
import pytest

import sonnx_ort
from support.graphs import parse

END = "no node can need its own result, so export the model again"
CYCLES = {
    "{ [one] z = Add(x, z) }": "Add 'one' needs Add 'one'",
    "{ [one] y = Add(x, z) [two] z = Neg(y) }": "Add 'one' needs Neg 'two' needs Add 'one'",
    "{ [before] v = Neg(x) [one] y = Add(v, w) [two] w = Neg(y) [after] z = Neg(w) }": (
        "Add 'one' needs Neg 'two' needs Add 'one'"
    ),
    "{ [one] y = If(p) <then_branch = t () => (o) { o = Neg(z) }, "
    "else_branch = e () => (k) { k = Neg(x) }> [two] z = Neg(y) }": (
        "If 'one' needs Neg 'two' needs If 'one'"
    ),
    "{ [outer] z = If(p) <then_branch = t () => (o) { [one] o = Add(x, b) [two] b = Neg(o) }, "
    "else_branch = e () => (k) { k = Neg(x) }> }": "Add 'one' needs Neg 'two' needs Add 'one'",
}


def refusal(body: str) -> str:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(parse(f"(bool p, float[n] x) => (float[n] z) {body}"), operators="default")
    return str(caught.value)


@pytest.mark.parametrize("body", CYCLES)
def test_cycle(body: str) -> None:
    assert refusal(body) == (
        f"the model is not valid ONNX: its nodes form a cycle: {CYCLES[body]}; {END}"
    )


def test_long_cycle_is_cut_short() -> None:
    nodes = " ".join(f"[n{at}] v{at} = Neg(v{(at + 1) % 5000})" for at in range(5000))
    assert refusal(f"{{ {nodes} z = Neg(v0) }}") == (
        "the model is not valid ONNX: its nodes form a cycle: Neg 'n0' needs Neg 'n1' needs "
        "Neg 'n2' needs Neg 'n3' needs Neg 'n4' needs Neg 'n0' (with 4995 more nodes before the "
        f"last); {END}"
    )


@pytest.mark.parametrize("body", ["{ z = Neg(y) y = Neg(x) }", "{ z = Neg(nothing) }"])
def test_nodes_that_are_only_not_sorted(body: str) -> None:
    assert "must be topologically sorted" in refusal(body)


def test_cycle_in_a_function() -> None:
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "local": 1]>
        g (float[n] x) => (float[n] z) { z = local.f(x) }
        <domain: "local", opset_import: ["": 18]> f (x) => (z) {
            [one] y = Add(x, z) [two] z = Neg(y)
        }""")
    with pytest.raises(sonnx_ort.InvalidModel, match="Add 'one' needs Neg 'two' needs Add 'one'"):
        sonnx_ort.check(made, operators="default")
