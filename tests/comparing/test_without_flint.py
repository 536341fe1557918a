"""Without python-flint an audit judges all that needs no real functions, and names it for the rest.

One model has a node of each operator; it is audited with and without the package.
"""

import json
from functools import cache

import pytest

from sonnx_ort.oracle.balls import WITHOUT_FLINT
from sonnx_ort.oracle.meaning import FOLLOWED
from support.child import run_python

FUNCTIONS = {"Acos", "Exp", "LSTM", "Log", "Pow", "Sigmoid", "Sin", "Softmax", "Tanh"}
"""The operators whose results are not rational for some operands, and have an admitted error."""

MODEL = """
(float[2, 3] x, float[3, 2] y, float[1, 1, 4, 4] image, float[1, 1, 3, 3] kernel, int32[4] i,
 int32[4] j, bool[4] p, bool[4] q, uint8[1, 1, 4, 4] bytes, float[2] vector, float[2] spread,
 float[2, 1, 4] sequence, float[1, 8, 4] w, float[1, 8, 2] r)
=> (float[2, 3] out)
<float zero = {0}, float one = {1}, float tenth = {0.1}, uint8 middle = {3},
 float[2] positive = {1, 2}, int64[2] places = {2, -1}, int64[1] flat = {-1},
 int64[2] twice = {2, 2},
 int64[4] around = {1, 0, 0, 2}, int64[1] first = {0}, int64[1] last = {1}>
{
    a1 = Abs(x)            a2 = Ceil(x)          a3 = Clip(x, zero, one)  a4 = Floor(x)
    a5 = HardSigmoid(x)    a6 = LeakyRelu(x)     a7 = Neg(x)              a8 = Reciprocal(x)
    a9 = Relu(x)           a10 = Sqrt(a1)        a11 = Identity(x)        a12 = Dropout(x)
    b1 = Add(x, x)         b2 = Sub(x, a5)       b3 = Mul(x, x)           b4 = Div(x, a5)
    b5 = Max(x, a5)        b6 = Min(x, a5)       b7 = PRelu(x, a5)        b8 = Mod<fmod = 1>(x, a5)
    c1 = Less(x, a5)       c2 = LessOrEqual(x, a5) c3 = Greater(x, a5)    c4 = GreaterOrEqual(x, a5)
    c5 = Equal(x, a5)      c6 = Where(c1, x, a5) c7 = ArgMax(x)           c8 = Cast<to = 10>(x)
    d1 = And(p, q)         d2 = Or(p, q)         d3 = Xor(p, q)           d4 = Not(p)
    d5 = BitwiseAnd(i, j)  d6 = BitwiseOr(i, j)  d7 = BitwiseXor(i, j)
    d8 = BitShift<direction = "LEFT">(bytes, bytes)
    e1 = MatMul(x, y)      e2 = Gemm<alpha = 0.5>(x, y, vector)           e3 = Conv(image, kernel)
    e4 = ConvInteger(bytes, bytes)
    e5 = MaxPool<kernel_shape = [2, 2]>(image)
    e6 = AveragePool<kernel_shape = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1>(image)
    e7 = GlobalAveragePool(image)
    e8 = BatchNormalization(y, vector, spread, vector, positive)
    f1 = ReduceMax(x)      f2 = ReduceMean(x)    f3 = ReduceMin(x)        f4 = ReduceSum(x)
    f5 = ReduceSumSquare(x)
    g1 = Concat<axis = 0>(x, x)                  g2 = Constant<value = float[1] {2.5}>()
    g3 = Shape(x)          g4 = ConstantOfShape<value = float[1] {2.5}>(g3)
    g5 = Expand(a10, g3)   g6 = Flatten(image)   g7 = Gather<axis = 1>(x, places)
    g8 = Pad(x, around)    g9 = Reshape(x, flat) g10 = Slice(x, first, last)
    g11, g12 = Split<axis = 0, num_outputs = 2>(x)
    g13 = Squeeze(image)   g14 = Tile(x, twice)  g15 = Transpose(x)       g16 = Unsqueeze(x, first)
    g17 = Range(zero, one, tenth)
    h1 = QuantizeLinear(x, tenth, middle)        h2 = DequantizeLinear(h1, tenth, middle)
    k1 = Acos(x)           k2 = Exp(x)           k3 = Log(a1)             k4 = Pow(a1, x)
    k5 = Sigmoid(x)        k6 = Sin(x)           k7 = Softmax(x)          k8 = Tanh(x)
    k9, k10, k11 = LSTM<hidden_size = 2>(sequence, w, r)
    m1 = Cos(x)            m2 = Erf(x)           m3 = Gelu(x)
    m4 = LayerNormalization(y, vector)
    out = Identity(x)
}
"""

AUDIT = """
import json, sys
if {hidden}:
    sys.modules["flint"] = None
import onnx
from sonnx_ort.comparing.audit import audit
from support.graphs import parse

model = parse('''{model}''')
model.opset_import[0].version, model.ir_version = 20, 10
found = audit(model)
print(json.dumps({{
    node.operator: (str(node.verdict), node.reason, node.worst and node.worst.admitted)
    for node in found.nodes
}}))
"""


@cache
def audited(*, hidden: bool) -> dict[str, list[str]]:
    done = run_python(AUDIT.format(hidden=hidden, model=MODEL), fresh=True)
    assert done.exit_status == 0, done
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_model_has_every_operator_with_a_meaning() -> None:
    assert audited(hidden=False).keys() == FOLLOWED


@pytest.mark.parametrize("operator", sorted(FOLLOWED - FUNCTIONS))
def test_what_needs_no_functions_is_judged_alike(operator: str) -> None:
    assert audited(hidden=True)[operator] == audited(hidden=False)[operator]


@pytest.mark.parametrize("operator", sorted(FUNCTIONS))
def test_what_needs_functions_names_the_package(operator: str) -> None:
    assert audited(hidden=False)[operator][0] != "not known"
    assert audited(hidden=True)[operator][:2] == ["not known", WITHOUT_FLINT]


def test_sentence_says_what_to_install() -> None:
    assert WITHOUT_FLINT == "cannot be judged without python-flint: pip install python-flint"
