"""Graphs in which a proof suggests itself that is none; each has misled an engine or us.

In some ONNX Runtime computes other shapes than inference says, or its optimizer does. What is so is
what the original computes, at each level of optimization by itself; `check`, all backends, and
plain and own sessions are held to that.
"""

import pytest

import sonnx_ort
from sonnx_ort.profile.rule import Status
from sonnx_ort.runs.reduce.shrinking import Trial
from support.graphs import parse
from support.sessions import LEVELS
from support.soundness import kernel_truth
from support.soundness.examination import BACKENDS, DryRun, examine
from support.soundness.judge import Tally
from support.soundness.kernel_truth import operands_at_each_level
from support.soundness.traps import traps

pytestmark = pytest.mark.usefixtures("without_log")

TRAPS = traps(
    """
Squeeze without axes drops what happens to be 1
  (float[n, m] x) => (float[] z) { a = Squeeze(x) z = Div(a, x) }
  fed: x (1, 3)
Squeeze of axes that are known only in the run
  (float[n, m] x, int64[1] axes) => (float[] z) { a = Squeeze(x, axes) z = Div(a, x) }
  fed: x (1, 3), axes [0]
Squeeze of one axis leaves the rank as it is where the axis is not 1
  (float[1] x) => (float z) { c = Constant<value = int64[1] {0}>() a = Squeeze(x, c) b = Squeeze(x)
      z = Div(a, b) }
  fed: x (1,)
n against m is not n
  (float[n] x, float[m] y) => (float[] z) { s = Add(x, y) z = Div(s, x) }
  fed: x (1,), y (3,)
n against m is not n behind a Broadcast either
  (float[n] x, float[m] y, float[1] one) => (float[] z) { bx, bo = sonnx.Broadcast(x, one) s =
      Add(bx, y) z = Div(s, bx) }
  fed: x (1,), y (3,), one (1,)
n against m is not n in Where
  (bool[n] c, float[m] x) => (float[] z) { s = Where(c, x, x) z = Div(s, x) }
  fed: c (3,), x (1,)
n against m is not n in the batch of a MatMul
  (float[n, 2, 2] x, float[m, 2, 2] y) => (float[] z) { s = MatMul(x, y) z = Div(s, x) }
  fed: x (1, 2, 2), y (3, 2, 2)
one symbol for two inputs is no equality
  (float[n] x, float[n] y) => (float[] z) { z = Div(x, y) }
  fed: x (3,), y (1,)
one symbol for two inputs is no equality behind other operators
  (float[n] x, float[n] y) => (float[] z) { a = Concat<axis = 0>(x, x) b = Concat<axis = 0>(y, y) z
      = Div(a, b) }
  fed: x (3,), y (1,)
one symbol for two dimensions of one input is no equality
  (float[n, n] x) => (float[] z) { t = Transpose(x) z = Div(x, t) }
  fed: x (3, 1)
one symbol for two inputs is no equality where one is expanded
  (float[n, 3] x, float[n, 1] y) => (float[] z) { z = Div(x, y) }
  fed: x (1, 3), y (2, 1)
  broadcast: explicit
size 0 in a target of Reshape stands for the input's own size
  (float[a, b] x, float[n, k] y) => (float[] z) { s = Shape(y) r = Reshape(x, s) z = Div(r, y) }
  fed: x (3, 0), y (0, 0)
Cast to bool changes a size
  (float[5] x, float[1] one) => (float[] z) { s = Shape(x) b = Cast<to = 9>(s) i = Cast<to = 7>(b) e
      = Expand(one, i) z = Div(e, x) }
  fed: x (5,), one (1,)
Cast to int8 changes a size
  (float[260] x, float[1] one) => (float[] z) { s = Shape(x) b = Cast<to = 3>(s) i = Cast<to = 7>(b)
      e = Expand(one, i) z = Div(e, x) }
  fed: x (260,), one (1,)
product of int32 wraps
  (float[3] x, float[1] one) => (float[] z) { c = Constant<value = int32[1] {65536}>() three =
      Constant<value = int32[1] {3}>() p = Mul(c, c) q = Add(p, three) i = Cast<to = 7>(q) e =
      Expand(one, i) z = Div(e, x) }
  fed: x (3,), one (1,)
function hides a Slice
  (float[n] x, float[7] c) => (float[] z) { y = local.fun(x) z = Div(y, c) }
  functions: fun (a) => (b) { s = Constant<value_ints = [0]>() e = Constant<value_ints = [7]>() b =
      Slice(a, s, e) }
  fed: x (3,), c (7,)
function hides a Squeeze
  (float[n] x) => (float[] z) { y = local.fun(x) z = Div(y, x) }
  functions: fun (a) => (b) { b = Squeeze(a) }
  fed: x (1,)
what a Loop collects without an iteration is empty on every axis
  (float[n] x, int64 t) => (float[] z) { y = Loop(t, "") <body = b (int64 i, bool go) => (bool
      still, float[p] o) { still = Identity(go) o = Identity(x) }> axes = Constant<value_ints =
      [0]>() r = ReduceSum<keepdims = 0>(y, axes) z = Div(r, x) }
  fed: x (3,), t 0
  scalars: t
state of a Loop without an iteration is the initial one
  (float[n] x, float[7] c, int64 t) => (float[] z) { y = Loop(t, "", x) <body = b (int64 i, bool go,
      float[p] s) => (bool still, float[q] o) { still = Identity(go) o = Identity(c) }> z = Div(y,
      c) }
  fed: x (3,), c (7,), t 0
  scalars: t
state of a Loop changes its shape
  (float[n] x, int64 t) => (float[] z) { y = Loop(t, "", x) <body = b (int64 i, bool go, float[p] s)
      => (bool still, float[q] o) { still = Identity(go) o = Concat<axis = 0>(s, s) }> z = Div(y, x)
      }
  fed: x (3,), t 1
  scalars: t
state of a Scan changes its shape in ONNX Runtime, if there is one iteration
  (float[n] x, float[r, m] y) => (float[] z) { a, b = Scan<num_scan_inputs = 1, body = b (float[p]
      s, float[m] e) => (float[q] o, float[m] k) { o = Add(s, e) k = Identity(e) }>(x, y) z = Div(a,
      x) }
  fed: x (1,), y (1, 3)
Concat skips empty tensors in ONNX Runtime, whatever their other sizes are
  (float[a, b] x, float[c, d] y, float[e, b] w) => (float[] z) { k = Concat<axis = 0>(x, y) t =
      Transpose(k) u = Concat<axis = 0>(t, t) v = Transpose(w) s = Concat<axis = 0>(v, v) z = Div(u,
      s) }
  fed: x (4, 0), y (4, 2), w (8, 0)
PRelu broadcasts both ways in ONNX Runtime
  (float[1, 3] x, float[2, 1] s) => (float[] z) { p = PRelu(x, s) z = Div(p, x) }
  fed: x (1, 3), s (2, 1)
reduced axis that is counted from the end and empty stays empty in ONNX Runtime 1.31
  (float[n, m] x, float[n, 1] y) => (float[] z) { axes = Constant<value_ints = [-1]>() r =
      ReduceSum<keepdims = 1>(x, axes) z = Div(r, y) }
  fed: x (2, 0), y (2, 1)
reduced axis that is counted from the end stays as it is in 1.31 if any size is 0
  (float[3, m] x, float[1, m] y) => (float[] z) { axes = Constant<value_ints = [-2]>() r =
      ReduceSum<keepdims = 1>(x, axes) z = Div(r, y) }
  fed: x (3, 0), y (1, 0)
reduced axis that is counted from the end even stays in 1.31 where it should go
  (float[n, 3] x, float[3] y) => (float[] z) { axes = Constant<value_ints = [-2]>() r =
      ReduceSum<keepdims = 0>(x, axes) z = Div(r, y) }
  fed: x (0, 3), y (3,)
MatMul with nothing to sum up gives the first operand's batch in ONNX Runtime 1.31
  (float[3, 1, 2, k] x, float[3, k, 2] y, float[3, 3, 2, 2] c) => (float[] z) { a = MatMul(x, y) z =
      Div(a, c) }
  fed: x (3, 1, 2, 0), y (3, 0, 2), c (3, 3, 2, 2)
NonZero gives one row for a scalar in ONNX Runtime
  (int64 x, int64[0, n] y) => (int64[] z) { a = NonZero(x) z = Sub(a, y) }
  fed: x 0, y (0, 0)
  scalars: x
quotient of sizes is no shape
  (float[3] x, float[n] y) => (float[] z) { s = Shape(x) zero = Constant<value_int = 0>() a =
      Gather(s, zero) q = Div(a, a) f = Cast<to = 1>(q) z = Sub(f, y) }
  fed: x (3,), y (4,)
  broadcast: explicit
rank of a quotient of sizes is 0
  (float[3] x) => (int64 z) { s = Shape(x) zero = Constant<value_int = 0>() a = Gather(s, zero) q =
      Div(a, a) c = Identity(q) t = Shape(c) z = Size(t) }
  fed: x (3,)
  scalars: z
false rank of a Loop's state
  (float[2, 3] x) => (float[] z) { t = Constant<value_int = 1>() z = Loop(t, "", x) <body = b (int64
      i, bool go, float[2] s) => (bool still, float[] o) { still = Identity(go) c = Constant<value =
      float {3.0}>() o = Div(c, s) }> }
  fed: x (2, 3)
  scalars: i, go
  broadcast: explicit
false rank of a Loop's state, which reaches what the Loop collects
  (float[3] x) => (float[] z) { t = Constant<value_int = 2>() a, k = Loop(t, "", x) <body = b (int64
      i, bool go, float s) => (bool still, float[] o, float[] p) { still = Identity(go) o =
      Identity(s) p = Identity(o) }> z = Div(k, k) }
  fed: x (3,)
  scalars: i, go, s
  broadcast: explicit
false rank of a Scan's state
  (float[] x, float[3] y) => (float[] z) { a, b = Scan<num_scan_inputs = 1, body = b (float[3] s,
      float e) => (float[3] o, float k) { o = Neg(s) k = Identity(e) }>(x, y) z = Div(a, a) }
  fed: x (4, 2), y (3,)
  scalars: e, k
Expand to a size of 0 is left out by ONNX Runtime's optimizer
  (float[1, 1] x, float[1, 0] y) => (float[] z) { c = Constant<value_ints = [0]>() b = Add(x, x) a =
      Expand(b, c) z = Div(a, y) }
  fed: x (1, 1), y (1, 0)
false rank of an output that is the Shape of an operand
  (float[] x, float[2] y) => (float[] z, int64[1] w) { a = Neg(x) z = Div(y, a) w = Shape(a) }
  fed: x (3, 2), y (2,)
  broadcast: explicit
ONNX Runtime takes a tensor of any rank for a scalar
  (float x, float y) => (float[] z) { z = Div(x, y) }
  fed: x (3,), y (1,)
  scalars: x, y
divisor that is computed from constants
  (int32[n] x) => (int32[] z) { c = Constant<value = int32[2] {0, 1}>() b = Neg(c) z = Div(x, b) }
  fed: x (2,)
false claims
  (float[n] x, float[m] y) => (float[] z) { a = Neg(x) b = Neg(y) z = Div(a, b) }
  fed: x (1,), y (3,)
  claims: {"a": [3], "b": [3]}
false claims reach no Broadcast
  (float[n] x, float[m] y) => (float[] z) { a = Neg(x) b = Neg(y) z = Div(a, b) }
  fed: x (1,), y (1,)
  claims: {"a": [3], "b": [3]}
  broadcast: explicit
false claims of symbols that inputs are declared with
  (float[n] x, float[m] y) => (float[] z) { a = Neg(x) b = Neg(y) z = Div(a, b) }
  fed: x (1,), y (3,)
  claims: {"a": ["n"], "b": ["n"]}
sum with a positive constant wraps to zero
  (int32[n] x, int32[1] y) => (int32[] z) { c = Constant<value = int32[1] {2147483647}>() b = Add(y,
      c) z = Div(x, b) }
  fed: x (1,), y [-2147483647]
sizes of two inputs that bear one name make no number
  (float[n, 4, 8] x, float[n] y, float[n, 32] w) => (float[] z) { s = Shape(y) m =
      Constant<value_ints = [-1]>() t = Concat<axis = 0>(s, m) r = Reshape(x, t) z = Div(r, w) }
  fed: x (2, 4, 8), y (1,), w (2, 32)
  broadcast: explicit
size that int32 does not hold is another
  (uint8[n] x, float[1] one, float[k] y) => (float[] z) { s = Shape(x) i = Cast<to = 6>(s) j =
      Cast<to = 7>(i) e = Expand(one, j) z = Div(e, y) }
  fed: x (3,), one (1,), y (3,)
empty constant
  (int32[n] x) => (int32[] z) { c = Constant<value = int32[0] {}>() z = Div(x, c) }
  fed: x (0,)
""",
    opset=17,
)

OF_KERNELS = pytest.mark.parametrize(
    "trap",
    traps(
        """
flag of -1, for which inference keeps what the kernel reduces
  (float[3, 2, 2] x, float[3, 2, 2] y) => (float[] z) { axes = Constant<value = int64[0] {}>() r =
      ReduceL2<keepdims = 0, noop_with_empty_axes = -1>(x, axes) z = Div(y, r) }
  fed: x (3, 2, 2), y (3, 2, 2)
  operands: ((3, 2, 2), ())
flag of -1, and the shape that the kernel gives
  (float[3, 2, 2] x, float y) => (float[] z) { axes = Constant<value = int64[0] {}>() r =
      ReduceL2<keepdims = 0, noop_with_empty_axes = -1>(x, axes) z = Div(y, r) }
  fed: x (3, 2, 2), y 1.0
  scalars: y
  operands: ((), ())
flag of 2, for which inference keeps what the kernel reduces
  (float[3, 3, 3] x, float[3, 3, 3] y) => (float[] z) { r = ReduceMax<keepdims = 1,
      noop_with_empty_axes = 2>(x) z = Div(y, r) }
  fed: x (3, 3, 3), y (3, 3, 3)
  operands: ((3, 3, 3), (1, 1, 1))
flag of 2, and the shape that the kernel gives
  (float[3, 3, 3] x, float[1, 1, 1] y) => (float[] z) { r = ReduceMax<keepdims = 1,
      noop_with_empty_axes = 2>(x) z = Div(y, r) }
  fed: x (3, 3, 3), y (1, 1, 1)
  operands: ((1, 1, 1), (1, 1, 1))
keepdims of 2
  (float[3, 4] x, float[3, 1] y) => (float[] z) { axes = Constant<value_ints = [1]>() r =
      ReduceSum<keepdims = 2>(x, axes) z = Div(y, r) }
  fed: x (3, 4), y (3, 1)
  operands: ((3, 1), (3,))
ceil_mode leaves out a window that begins behind the end
  (float[2, 3, 3, 7] x, float[2, 3, 2, 7] y) => (float[] z) { p = MaxPool<kernel_shape = [2, 1],
      strides = [3, 1], ceil_mode = 1>(x) z = Div(p, y) }
  fed: x (2, 3, 3, 7), y (2, 3, 2, 7)
  operands: ((2, 3, 1, 7), (2, 3, 2, 7))
ceil_mode leaves out a window that begins behind an open end
  (float[2, 3, n, 7] x, float[2, 3, 2, 7] y) => (float[] z) { p = MaxPool<kernel_shape = [2, 1],
      strides = [3, 1], ceil_mode = 1>(x) z = Div(p, y) }
  fed: x (2, 3, 3, 7), y (2, 3, 2, 7)
  operands: ((2, 3, 1, 7), (2, 3, 2, 7))
ceil_mode and dilations in three dimensions
  (float[2, 2, 16, 16, 16] x, float[2, 2, 9, 9, 9] y) => (float[] z) { p = MaxPool<kernel_shape =
      [1, 1, 1], strides = [2, 2, 2], dilations = [2, 2, 2], ceil_mode = 1>(x) q = Concat<axis =
      0>(p, p) z = Div(p, y) }
  fed: x (2, 2, 16, 16, 16), y (2, 2, 9, 9, 9)
  operands: ((2, 2, 8, 8, 8), (2, 2, 9, 9, 9))
auto_pad pads for a window that is not dilated
  (float[0, 1, 9, 9, 9] x, float[0, 1, 9, 9, 9] y) => (float[] z) { p = AveragePool<kernel_shape =
      [2, 2, 2], dilations = [2, 2, 2], auto_pad = "SAME_UPPER">(x) z = Div(p, y) }
  fed: x (0, 1, 9, 9, 9), y (0, 1, 9, 9, 9)
  opset: 19
  operands: ((0, 1, 8, 8, 8), (0, 1, 9, 9, 9))
auto_pad pads for a window that is not dilated, and the shape that the kernel gives
  (float[0, 1, 9, 9, 9] x, float[0, 1, 8, 8, 8] y) => (float[] z) { p = AveragePool<kernel_shape =
      [2, 2, 2], dilations = [2, 2, 2], auto_pad = "SAME_UPPER">(x) z = Div(p, y) }
  fed: x (0, 1, 9, 9, 9), y (0, 1, 8, 8, 8)
  opset: 19
  operands: ((0, 1, 8, 8, 8), (0, 1, 8, 8, 8))
auto_pad makes nothing of pads
  (float[1, 3, 3, 4] x, float[1, 3, 3, 4] y) => (float[] z) { p = LpPool<kernel_shape = [3, 3], pads
      = [1, 1, 1, 1], auto_pad = "VALID">(x) z = Div(p, y) }
  fed: x (1, 3, 3, 4), y (1, 3, 3, 4)
  operands: ((1, 3, 1, 2), (1, 3, 3, 4))
window larger than the tensor, of which a kernel rounds the number towards zero
  (float[1, 1, n] x, float[1, 1, 1] y) => (float[] z) { p = LpPool<kernel_shape = [3], strides =
      [3]>(x) z = Div(p, y) }
  fed: x (1, 1, 1), y (1, 1, 1)
  operands: ((1, 1, 1), (1, 1, 1))
Slice backwards from the largest number
  (float[1] x, float[1] y) => (float[] z) { s = Constant<value_ints = [2]>() e = Constant<value_ints
      = [2147483647]>() a = Constant<value_ints = [0]>() k = Constant<value_ints = [-2]>() p =
      Slice(x, s, e, a, k) z = Div(y, p) }
  fed: x (1,), y (1,)
  operands: ((1,), (1,))
what a Loop collects without an iteration has the declared shape
  (float[1] x, int64 t, float[a, b] y) => (float[] z) { k, r = Loop(t, "", x) <body = b (int64 i,
      bool go, float[1] s) => (bool still, float[1] o, float[1] c) { still = Identity(go) o = Add(s,
      s) c = Identity(o) }> z = Div(r, y) }
  fed: x (1,), t 0, y (0, 1)
  opset: 11
  scalars: t, i, go, still
  operands: ((0, 1), (0, 1))
a ratio that is computed takes the place of a Dropout
  (float[3, 4] x, float[3, 4] y, float[] r) => (float[] z) { s = Add(r, r) d = Dropout(x, s) z =
      Div(d, y) }
  fed: x (3, 4), y (3, 4), r 0.0
  opset: 13
  operands: None
a ratio that is an input takes no place
  (float[3, 4] x, float[3, 4] y, float r) => (float[] z) { d = Dropout(x, r) z = Div(d, y) }
  fed: x (3, 4), y (3, 4), r 0.0
  opset: 13
  scalars: r
  operands: ((3, 4), (3, 4))
a ratio that is an operand too takes no place
  (float[3, 4] x, float r, bool t) => (float[] z) { d = Dropout(x, r, t) z = Div(r, d) }
  fed: x (3, 4), r 0.0, t 0
  opset: 13
  scalars: r, t
  operands: ((), (3, 4))
""",
        opset=18,
    ),
    ids=str,
)
"""Graphs whose last node is a Div or Sub, and the shapes of its operands."""


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize("trap", TRAPS, ids=str)
def test_nothing_is_proved_or_violated_that_is_not_so(trap, edition):
    tally = Tally()
    broadcast = trap.said.get("broadcast", "reject")
    examine(DryRun(trap.model, (trap.feeds,), bool(trap.claims), edition, broadcast), tally)
    assert tally["evaluated"] + tally["abandoned"] == 1
    assert not any(tally[f"{backend}: refused, honest"] for backend in BACKENDS), tally


@OF_KERNELS
def test_kernels_contradict_nothing(trap):
    counts = kernel_truth.judge(Trial(trap.model, (trap.feeds,)))
    assert counts["kept"] + counts["broken"] == len(LEVELS), counts


@OF_KERNELS
def test_kernels_still_do_so(trap):
    by_level = operands_at_each_level(Trial(trap.model, (trap.feeds,)))
    shapes = {tuple(a.shape for a in pair) for pair in by_level.values()}
    assert len(shapes) > 1 if trap.operands is None else shapes == {trap.operands}


@pytest.mark.parametrize("value", [-1, 2])
def test_attribute_beyond_its_document_leaves_the_shape_open(value):
    graph = (
        "(float[3, 2] x) => (float[] z) { a = Constant<value_ints = [0]>()"
        f" r = ReduceSum<keepdims = {value}>(x, a) z = Div(r, r) }}"
    )
    model = parse(f"{graph}", opset=18)
    (rule,) = [
        o
        for o in sonnx_ort.check(model, operators="default").obligations
        if o.rule.id == "Div.float.R1"
    ]
    assert rule.status is Status.RUNTIME
    assert rule.operands[0].shape is None
