"""Exact values of all nodes of a graph, how far a run is from them, and what needs python-flint."""

import json
from functools import cache

import flint
import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

from sonnx_ort import models
from sonnx_ort.errors import SonnxError
from sonnx_ort.meaning.balls import WITHOUT_FLINT
from sonnx_ort.meaning.documented import FOLLOWED
from sonnx_ort.runs.audit.enclosing import enclose
from support.child import run_python

F = np.float32
HEADER = '<ir_version: 10, opset_import: ["": 21, "other": 1]>\n'
SMALL = HEADER + (
    "g (float[1, 2] x) => (float[1, 2] y, int64[2] s)\n"
    "<float[2, 2] w = {1, 2, 3, 4}, float[2] b = {0.5, -20}>\n"
    "{ [multiply] m = MatMul(x, w)\n [add] a = Add(m, b)\n [cut] y = Relu(a)\n s = Shape(y) }"
)


def parsed(text):
    return onnx.parser.parse_model(text)


def run(model, feeds):
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def test_small_network_by_hand():
    feeds = {"x": F([[2, -0.25]])}
    found = {"y": F([[1.75, 0]]), "s": np.int64([1, 2])}
    y, s = enclose(parsed(SMALL), feeds, found)
    assert (y.name, y.shape, y.reason) == ("y", (1, 2), "")
    assert y.lower.tolist() == y.upper.tolist() == [[1.75, 0]]
    assert (y.width, y.distance, y.units) == (0, 0, 0)
    assert s.lower.tolist() == [1, 2]
    assert s.distance == 0


def test_distance_is_that_of_the_farthest_element():
    found = {"y": F([[1.75, 2**-20]])}
    (y,) = enclose(parsed(SMALL), {"x": F([[2, -0.25]])}, found)
    assert (y.distance, y.index, y.found) == (2**-20, (0, 1), 2**-20)
    assert y.units == 2**23
    (y,) = enclose(parsed(SMALL), {"x": F([[2, -0.25]])}, {"y": F([[np.nan, 0]])})
    assert (y.distance, y.units, y.index) == (np.inf, np.inf, (0, 0))


def test_irrational_results_are_rounded_outward():
    model = parsed(HEADER + "g (float[1] x) => (float[1] y) { y = Exp(x) }")
    (y,) = enclose(model, {"x": F([1])}, {"y": F([np.e])})
    assert y.lower < y.upper
    assert y.upper[0] == np.nextafter(y.lower[0], 9)
    assert 0 < y.width < 1e-70
    assert y.units < 0.51


def test_more_operations_than_the_limit_are_an_error():
    feeds, found = {"x": F([[2, 1]])}, {"y": F([[0, 0]])}
    with pytest.raises(SonnxError) as caught:
        enclose(parsed(SMALL), feeds, found, limit=5)
    assert str(caught.value) == (
        "exact values take 6 operations up to Add 'add', more than the limit of 5; audit it with "
        "smaller inputs"
    )
    assert enclose(parsed(SMALL), feeds, found, limit=9)


HALF = (
    HEADER
    + "g (float[1] x) => (float[1] y)\n<float one = {1}, float three = {3}, float six = {6}>\n"
    "{ third = Div(x, three)\n sixth = Div(x, six)\n half = Add(third, sixth)\n BODY }"
)
"""A graph in which the exact value of `half`, of an x of 1, is not known to be exact."""


BRANCH = (
    "c = Less(x, one)\n [branch] y = If(c) <then_branch = t () => (float[1] r) { r = Relu(x) }, "
    "else_branch = e () => (float[1] r) { r = Abs(x) }>"
)


@pytest.mark.parametrize(("body", "reason"), [
    ("[odd] a = NonZero(x)\n y = Cast<to = 1>(a)", "NonZero 'odd': the operator is not followed"),
    ("[own] a = other.Thing(x)\n y = Relu(a)", "Thing 'own': the operator is not followed"),
    ("a = Sub(x, x)\n b = Div(x, a)\n y = Relu(b)", "Div of 'b': a divisor may be 0"),
    ("y = Identity(nothing)", "'nothing' has no value"),
    ("[drop] a, y = Dropout(x)", "Dropout 'drop' is followed without 'y'"),
    ("y = Concat<axis = 0>(x, x)", "it has the shape (2,), and that of the run (1,)"),
    ("q = QuantizeLinear(half, one)\n [square] y = Mul(q, q)",
     "Mul 'square': the integers of 'q' are not certain"),
    ("q = QuantizeLinear(half, one)\n m = Max(q, q)\n [square] y = Mul(m, m)",
     "Mul 'square': the integers of 'm' are not certain"),
    (BRANCH, "If 'branch': the operator is not followed"),
])  # fmt: skip
def test_what_depends_on_a_node_that_is_not_followed_has_its_reason(body, reason):
    model = parsed(HALF.replace("BODY", body))
    (y,) = enclose(model, {"x": F([1])}, {"y": F([1])})
    assert y.reason == reason
    assert (y.lower.tolist(), y.upper.tolist(), y.width) == ([-np.inf], [np.inf], np.inf)


def test_texts_are_not_followed():
    model = parsed(HEADER + "g (string[1] x) => (string[1] y) { y = Identity(x) }")
    (y,) = enclose(model, {"x": np.array(["a"], object)}, {"y": np.array(["a"], object)})
    assert y.reason == "'x' is no tensor of numbers"


@pytest.mark.parametrize("element", [np.nan, np.inf])
def test_input_that_is_not_finite_is_not_followed(element):
    (y,) = enclose(parsed(SMALL), {"x": F([[0, element]])}, {"y": F([[1, 1]])})
    assert y.reason == "the element at [0, 1] is NaN or infinite in 'x'"


def test_level_that_is_not_certain_lies_between_two():
    body = "q = QuantizeLinear(half, one)\n r = Identity(q)\n y = DequantizeLinear(r, one)"
    (y,) = enclose(parsed(HALF.replace("BODY", body)), {"x": F([1])}, {"y": F([1])})
    assert (y.lower.round(6), y.upper.round(6), y.distance) == ([0], [1], 0)


def test_float_is_the_number_that_it_is():
    """Casts to other formats, and constants of them, are not rounded over the reals."""
    text = "g (float[1] x) => (float[1] y) { a = Cast<to = 10>(x)\n y = Cast<to = 1>(a) }"
    (y,) = enclose(parsed(HEADER + text), {"x": F([0.1])}, {"y": F([0.099975586])})
    assert y.lower.tolist() == [float(F(0.1))]


@pytest.mark.parametrize(
    ("name", "units"),
    [("digits", 32), ("digits_convolutional", 64), ("tiny_yolo_v2", 64), ("lstm", 1)],
)
def test_bundled_networks_are_within_few_units_of_their_exact_values(name, units):
    model, case = models.load(name), models.example(name).cases[0]
    found = run(model, dict(case.inputs))
    for output in enclose(model, case.inputs, found, limit=30_000_000):
        assert output.reason == ""
        assert output.width < 1e-60
        assert output.units < units


def test_precision_of_the_caller_is_kept():
    before = flint.ctx.prec
    enclose(parsed(SMALL), {"x": F([[2, 1]])}, {"y": F([[0, 0]])})
    assert flint.ctx.prec == before


FUNCTIONS = {"Acos", "Erf", "Exp", "GRU", "LSTM", "Log", "Pow", "Sigmoid", "Sin", "Softmax"}
FUNCTIONS |= {"Softplus", "Tanh"}
"""The operators whose results are not rational for some operands, and have an admitted error."""

MODEL = """
(float[2, 3] x, float[3, 2] y, float[1, 1, 4, 4] image, float[1, 1, 3, 3] kernel, int32[4] i,
 int32[4] j, bool[4] p, bool[4] q, uint8[1, 1, 4, 4] bytes, float[2] vector, float[2] spread,
 float[1, 3] row, float[2, 1, 4] sequence, float[1, 8, 4] w, float[1, 8, 2] r,
 float[1, 6, 4] v, float[1, 6, 2] s)
=> (float[2, 3] out)
<float zero = {0}, float one = {1}, float tenth = {0.1}, uint8 middle = {3},
 float[2] positive = {1, 2}, int64[2] places = {2, -1}, int64[1] flat = {-1},
 int64[2] twice = {2, 2},
 int64[1, 1] spots = {1}, int64[4] double = {1, 1, 8, 6},
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
    l1 = ConvTranspose(image, kernel)            l2 = ScatterND(x, spots, row)
    l3 = Resize<mode = "linear">(image, , , double)
    m1 = Cos(x)            m2 = Erf(x)           m3 = Gelu(x)
    m4 = LayerNormalization(y, vector)           m5 = HardSwish(x)
    m6 = Softplus(x)       m7, m8 = GRU<hidden_size = 2>(sequence, v, s)
    out = Identity(x)
}
"""

AUDIT = """
import json, sys
if {hidden}:
    sys.modules["flint"] = None
import onnx
from sonnx_ort.runs.audit.audit import audit
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
