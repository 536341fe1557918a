"""Exact values from the inputs of a graph to its outputs, and how far a run is from them."""

import flint
import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

from sonnx_ort import models
from sonnx_ort.comparing.enclosing import enclose
from sonnx_ort.errors import SonnxError

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
