"""Graphs in which a proof suggests itself that is none; each has misled an engine or us."""

from dataclasses import dataclass, field

import numpy as np
import onnx
import pytest
from onnx import helper

from support.graphs import parse
from support.soundness.examination import BACKENDS, DryRun, examine
from support.soundness.judge import Tally

pytestmark = pytest.mark.usefixtures("without_log")

FLOAT = np.float32


def ones(*shape):
    return np.ones(shape, FLOAT)


@dataclass(frozen=True)
class Trap:
    """A graph, and feeds that break what seems to be proved, or keep what seems to be violated.

    Attributes:
        name: What misleads.
        graph: Inputs, outputs and nodes in ONNX's text form; "[]" means that the rank is unknown.
        feeds: The feeds.
        functions: Model-local functions of the domain "local", in the same form.
        scalars: The inputs and outputs, of subgraphs too, that are declared as scalars.
        claims: What the file claims of values in between: types, sizes and symbols by name.
        broadcast: What becomes of operands of different shapes.
    """

    name: str
    graph: str
    feeds: dict[str, object]
    functions: str = ""
    scalars: tuple[str, ...] = ()
    claims: dict[str, list[int | str]] = field(default_factory=dict)
    broadcast: str = "reject"


TRAPS = [
    Trap(
        "Squeeze without axes drops what happens to be 1",
        "(float[n, m] x) => (float[] z) { a = Squeeze(x) z = Div(a, x) }",
        {"x": ones(1, 3)},
    ),
    Trap(
        "Squeeze of axes that are known only in the run",
        "(float[n, m] x, int64[1] axes) => (float[] z) { a = Squeeze(x, axes) z = Div(a, x) }",
        {"x": ones(1, 3), "axes": np.array([0])},
    ),
    Trap(
        "Squeeze of one axis leaves the rank as it is where the axis is not 1",
        "(float[1] x) => (float z) { c = Constant<value = int64[1] {0}>()"
        " a = Squeeze(x, c) b = Squeeze(x) z = Div(a, b) }",
        {"x": ones(1)},
    ),
    Trap(
        "n against m is not n",
        "(float[n] x, float[m] y) => (float[] z) { s = Add(x, y) z = Div(s, x) }",
        {"x": ones(1), "y": ones(3)},
    ),
    Trap(
        "n against m is not n behind a Broadcast either",
        "(float[n] x, float[m] y, float[1] one) => (float[] z)"
        " { bx, bo = sonnx.Broadcast(x, one) s = Add(bx, y) z = Div(s, bx) }",
        {"x": ones(1), "y": ones(3), "one": ones(1)},
    ),
    Trap(
        "n against m is not n in Where",
        "(bool[n] c, float[m] x) => (float[] z) { s = Where(c, x, x) z = Div(s, x) }",
        {"c": np.ones(3, bool), "x": ones(1)},
    ),
    Trap(
        "n against m is not n in the batch of a MatMul",
        "(float[n, 2, 2] x, float[m, 2, 2] y) => (float[] z) { s = MatMul(x, y) z = Div(s, x) }",
        {"x": ones(1, 2, 2), "y": ones(3, 2, 2)},
    ),
    Trap(
        "one symbol for two inputs is no equality",
        "(float[n] x, float[n] y) => (float[] z) { z = Div(x, y) }",
        {"x": ones(3), "y": ones(1)},
    ),
    Trap(
        "one symbol for two inputs is no equality behind other operators",
        "(float[n] x, float[n] y) => (float[] z)"
        " { a = Concat<axis = 0>(x, x) b = Concat<axis = 0>(y, y) z = Div(a, b) }",
        {"x": ones(3), "y": ones(1)},
    ),
    Trap(
        "one symbol for two dimensions of one input is no equality",
        "(float[n, n] x) => (float[] z) { t = Transpose(x) z = Div(x, t) }",
        {"x": ones(3, 1)},
    ),
    Trap(
        "one symbol for two inputs is no equality where one is expanded",
        "(float[n, 3] x, float[n, 1] y) => (float[] z) { z = Div(x, y) }",
        {"x": ones(1, 3), "y": ones(2, 1)},
        broadcast="explicit",
    ),
    Trap(
        "size 0 in a target of Reshape stands for the input's own size",
        "(float[a, b] x, float[n, k] y) => (float[] z)"
        " { s = Shape(y) r = Reshape(x, s) z = Div(r, y) }",
        {"x": ones(3, 0), "y": ones(0, 0)},
    ),
    Trap(
        "Cast to bool changes a size",
        "(float[5] x, float[1] one) => (float[] z) { s = Shape(x) b = Cast<to = 9>(s)"
        " i = Cast<to = 7>(b) e = Expand(one, i) z = Div(e, x) }",
        {"x": ones(5), "one": ones(1)},
    ),
    Trap(
        "Cast to int8 changes a size",
        "(float[260] x, float[1] one) => (float[] z) { s = Shape(x) b = Cast<to = 3>(s)"
        " i = Cast<to = 7>(b) e = Expand(one, i) z = Div(e, x) }",
        {"x": ones(260), "one": ones(1)},
    ),
    Trap(
        "product of int32 wraps",
        "(float[3] x, float[1] one) => (float[] z) { c = Constant<value = int32[1] {65536}>()"
        " three = Constant<value = int32[1] {3}>() p = Mul(c, c) q = Add(p, three)"
        " i = Cast<to = 7>(q) e = Expand(one, i) z = Div(e, x) }",
        {"x": ones(3), "one": ones(1)},
    ),
    Trap(
        "function hides a Slice",
        "(float[n] x, float[7] c) => (float[] z) { y = local.fun(x) z = Div(y, c) }",
        {"x": ones(3), "c": ones(7)},
        functions="fun (a) => (b) { s = Constant<value_ints = [0]>()"
        " e = Constant<value_ints = [7]>() b = Slice(a, s, e) }",
    ),
    Trap(
        "function hides a Squeeze",
        "(float[n] x) => (float[] z) { y = local.fun(x) z = Div(y, x) }",
        {"x": ones(1)},
        functions="fun (a) => (b) { b = Squeeze(a) }",
    ),
    Trap(
        "what a Loop collects without an iteration is empty on every axis",
        '(float[n] x, int64 t) => (float[] z) { y = Loop(t, "") <body = b'
        " (int64 i, bool go) => (bool still, float[p] o) { still = Identity(go) o = Identity(x) }>"
        " axes = Constant<value_ints = [0]>() r = ReduceSum<keepdims = 0>(y, axes) z = Div(r, x) }",
        {"x": ones(3), "t": np.array(0)},
        scalars=("t",),
    ),
    Trap(
        "state of a Loop without an iteration is the initial one",
        '(float[n] x, float[7] c, int64 t) => (float[] z) { y = Loop(t, "", x) <body = b'
        " (int64 i, bool go, float[p] s) => (bool still, float[q] o)"
        " { still = Identity(go) o = Identity(c) }> z = Div(y, c) }",
        {"x": ones(3), "c": ones(7), "t": np.array(0)},
        scalars=("t",),
    ),
    Trap(
        "state of a Loop changes its shape",
        '(float[n] x, int64 t) => (float[] z) { y = Loop(t, "", x) <body = b'
        " (int64 i, bool go, float[p] s) => (bool still, float[q] o)"
        " { still = Identity(go) o = Concat<axis = 0>(s, s) }> z = Div(y, x) }",
        {"x": ones(3), "t": np.array(1)},
        scalars=("t",),
    ),
    Trap(
        "state of a Scan changes its shape in ONNX Runtime, if there is one iteration",
        "(float[n] x, float[r, m] y) => (float[] z) { a, b = Scan<num_scan_inputs = 1, body = b"
        " (float[p] s, float[m] e) => (float[q] o, float[m] k)"
        " { o = Add(s, e) k = Identity(e) }>(x, y) z = Div(a, x) }",
        {"x": ones(1), "y": ones(1, 3)},
    ),
    Trap(
        "Concat skips empty tensors in ONNX Runtime, whatever their other sizes are",
        "(float[a, b] x, float[c, d] y, float[e, b] w) => (float[] z)"
        " { k = Concat<axis = 0>(x, y) t = Transpose(k) u = Concat<axis = 0>(t, t)"
        " v = Transpose(w) s = Concat<axis = 0>(v, v) z = Div(u, s) }",
        {"x": ones(4, 0), "y": ones(4, 2), "w": ones(8, 0)},
    ),
    Trap(
        "PRelu broadcasts both ways in ONNX Runtime",
        "(float[1, 3] x, float[2, 1] s) => (float[] z) { p = PRelu(x, s) z = Div(p, x) }",
        {"x": ones(1, 3), "s": ones(2, 1)},
    ),
    Trap(
        "reduced axis that is counted from the end and empty stays empty in ONNX Runtime 1.31",
        "(float[n, m] x, float[n, 1] y) => (float[] z) { axes = Constant<value_ints = [-1]>()"
        " r = ReduceSum<keepdims = 1>(x, axes) z = Div(r, y) }",
        {"x": ones(2, 0), "y": ones(2, 1)},
    ),
    Trap(
        "reduced axis that is counted from the end stays as it is in 1.31 if any size is 0",
        "(float[3, m] x, float[1, m] y) => (float[] z) { axes = Constant<value_ints = [-2]>()"
        " r = ReduceSum<keepdims = 1>(x, axes) z = Div(r, y) }",
        {"x": ones(3, 0), "y": ones(1, 0)},
    ),
    Trap(
        "reduced axis that is counted from the end even stays in 1.31 where it should go",
        "(float[n, 3] x, float[3] y) => (float[] z) { axes = Constant<value_ints = [-2]>()"
        " r = ReduceSum<keepdims = 0>(x, axes) z = Div(r, y) }",
        {"x": ones(0, 3), "y": ones(3)},
    ),
    Trap(
        "MatMul with nothing to sum up gives the first operand's batch in ONNX Runtime 1.31",
        "(float[3, 1, 2, k] x, float[3, k, 2] y, float[3, 3, 2, 2] c) => (float[] z)"
        " { a = MatMul(x, y) z = Div(a, c) }",
        {"x": ones(3, 1, 2, 0), "y": ones(3, 0, 2), "c": ones(3, 3, 2, 2)},
    ),
    Trap(
        "NonZero gives one row for a scalar in ONNX Runtime",
        "(int64 x, int64[0, n] y) => (int64[] z) { a = NonZero(x) z = Sub(a, y) }",
        {"x": np.array(0), "y": np.zeros((0, 0), np.int64)},
        scalars=("x",),
    ),
    Trap(
        "quotient of sizes is no shape",
        "(float[3] x, float[n] y) => (float[] z) { s = Shape(x) zero = Constant<value_int = 0>()"
        " a = Gather(s, zero) q = Div(a, a) f = Cast<to = 1>(q) z = Sub(f, y) }",
        {"x": ones(3), "y": ones(4)},
        broadcast="explicit",
    ),
    Trap(
        "rank of a quotient of sizes is 0",
        "(float[3] x) => (int64 z) { s = Shape(x) zero = Constant<value_int = 0>()"
        " a = Gather(s, zero) q = Div(a, a) c = Identity(q) t = Shape(c) z = Size(t) }",
        {"x": ones(3)},
        scalars=("z",),
    ),
    Trap(
        "false rank of a Loop's state",
        '(float[2, 3] x) => (float[] z) { t = Constant<value_int = 1>() z = Loop(t, "", x)'
        " <body = b (int64 i, bool go, float[2] s) => (bool still, float[] o)"
        " { still = Identity(go) c = Constant<value = float {3.0}>() o = Div(c, s) }> }",
        {"x": ones(2, 3)},
        scalars=("i", "go"),
        broadcast="explicit",
    ),
    Trap(
        "false rank of a Loop's state, which reaches what the Loop collects",
        '(float[3] x) => (float[] z) { t = Constant<value_int = 2>() a, k = Loop(t, "", x)'
        " <body = b (int64 i, bool go, float s) => (bool still, float[] o, float[] p)"
        " { still = Identity(go) o = Identity(s) p = Identity(o) }> z = Div(k, k) }",
        {"x": ones(3)},
        scalars=("i", "go", "s"),
        broadcast="explicit",
    ),
    Trap(
        "false rank of a Scan's state",
        "(float[] x, float[3] y) => (float[] z) { a, b = Scan<num_scan_inputs = 1, body = b"
        " (float[3] s, float e) => (float[3] o, float k) { o = Neg(s) k = Identity(e) }>(x, y)"
        " z = Div(a, a) }",
        {"x": ones(4, 2), "y": ones(3)},
        scalars=("e", "k"),
    ),
    Trap(
        "Expand to a size of 0 is left out by ONNX Runtime's optimizer",
        "(float[1, 1] x, float[1, 0] y) => (float[] z) { c = Constant<value_ints = [0]>()"
        " b = Add(x, x) a = Expand(b, c) z = Div(a, y) }",
        {"x": ones(1, 1), "y": ones(1, 0)},
    ),
    Trap(
        "false rank of an output that is the Shape of an operand",
        "(float[] x, float[2] y) => (float[] z, int64[1] w)"
        " { a = Neg(x) z = Div(y, a) w = Shape(a) }",
        {"x": ones(3, 2), "y": ones(2)},
        broadcast="explicit",
    ),
    Trap(
        "ONNX Runtime takes a tensor of any rank for a scalar",
        "(float x, float y) => (float[] z) { z = Div(x, y) }",
        {"x": ones(3), "y": ones(1)},
        scalars=("x", "y"),
    ),
    Trap(
        "divisor that is computed from constants",
        "(int32[n] x) => (int32[] z) { c = Constant<value = int32[2] {0, 1}>() b = Neg(c)"
        " z = Div(x, b) }",
        {"x": np.ones(2, np.int32)},
    ),
    Trap(
        "false claims",
        "(float[n] x, float[m] y) => (float[] z) { a = Neg(x) b = Neg(y) z = Div(a, b) }",
        {"x": ones(1), "y": ones(3)},
        claims={"a": [3], "b": [3]},
    ),
    Trap(
        "false claims reach no Broadcast",
        "(float[n] x, float[m] y) => (float[] z) { a = Neg(x) b = Neg(y) z = Div(a, b) }",
        {"x": ones(1), "y": ones(1)},
        claims={"a": [3], "b": [3]},
        broadcast="explicit",
    ),
    Trap(
        "false claims of symbols that inputs are declared with",
        "(float[n] x, float[m] y) => (float[] z) { a = Neg(x) b = Neg(y) z = Div(a, b) }",
        {"x": ones(1), "y": ones(3)},
        claims={"a": ["n"], "b": ["n"]},
    ),
    Trap(
        "sum with a positive constant wraps to zero",
        "(int32[n] x, int32[1] y) => (int32[] z) { c = Constant<value = int32[1] {2147483647}>()"
        " b = Add(y, c) z = Div(x, b) }",
        {"x": np.array([1], np.int32), "y": np.array([-2147483647], np.int32)},
    ),
    Trap(
        "sizes of two inputs that bear one name make no number",
        "(float[n, 4, 8] x, float[n] y, float[n, 32] w) => (float[] z)"
        " { s = Shape(y) m = Constant<value_ints = [-1]>() t = Concat<axis = 0>(s, m)"
        " r = Reshape(x, t) z = Div(r, w) }",
        {"x": ones(2, 4, 8), "y": ones(1), "w": ones(2, 32)},
        broadcast="explicit",
    ),
    Trap(
        "size that int32 does not hold is another",
        "(uint8[n] x, float[1] one, float[k] y) => (float[] z) { s = Shape(x)"
        " i = Cast<to = 6>(s) j = Cast<to = 7>(i) e = Expand(one, j) z = Div(e, y) }",
        {"x": np.ones(3, np.uint8), "one": ones(1), "y": ones(3)},
    ),
    Trap(
        "empty constant",
        "(int32[n] x) => (int32[] z) { c = Constant<value = int32[0] {}>() z = Div(x, c) }",
        {"x": np.zeros(0, np.int32)},
    ),
]


def made(trap):
    functions = f'<opset_import: ["" : 17], domain: "local"> {trap.functions}'
    model = parse(
        f"{trap.graph} {functions if trap.functions else ''}", domains={"sonnx": 1, "local": 1}
    )
    subgraphs = [attribute.g for node in model.graph.node for attribute in node.attribute]
    for value in (v for graph in (model.graph, *subgraphs) for v in (*graph.input, *graph.output)):
        if value.name in trap.scalars:
            value.type.tensor_type.shape.SetInParent()
    model.graph.value_info.extend(
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in trap.claims.items()
    )
    # A name by which the oracle and the report speak of each node.
    nodes = [node for graph in (model.graph, *subgraphs) for node in graph.node]
    for number, node in enumerate(nodes):
        node.name = f"{node.op_type}{number}"
    return model


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_nothing_is_proved_or_violated_that_is_not_so(trap, edition):
    tally = Tally()
    examine(DryRun(made(trap), (trap.feeds,), bool(trap.claims), edition, trap.broadcast), tally)
    assert tally["evaluated"] + tally["abandoned"] == 1
    assert not any(tally[f"{backend}: refused, honest"] for backend in BACKENDS), tally
