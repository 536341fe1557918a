"""A contract is enforced at the door of a model, by every backend."""

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import (
    Contract,
    ContractViolation,
    ShapeContract,
    StateContract,
    ValueContract,
)
from sonnx_ort.checker import check, read_certificate
from support.backends import BACKENDS
from support.graphs import parse

GRAPH = """(float[n, 3] x, float16[n] h, int32[k] i, uint8[k] u, double s, float[2, 3] a,
        int64[2] b, float16[2, k] c, float[k] e, float16[k] f)
    => (float[n, 3] y, float16[n] g, int32[k] j, uint8[k] v, double t, float[2, 3] a2,
        int64[2] b2, float16[2, k] c2, float[k] e2, float16[k] f2)
{
    a2 = Identity(a)
    b2 = Identity(b)
    c2 = Identity(c)
    e2 = Identity(e)
    f2 = Identity(f)
    [twice] y = Add(x, x)
    g = Identity(h)
    j = Identity(i)
    v = Identity(u)
    t = Identity(s)
}"""

CONTRACT = Contract(
    (
        ValueContract("x", (-1, 1), "scale it"),
        ValueContract("h", (0.5, 2)),
        ValueContract("i", (0, 9)),
        ValueContract("u", (1, 200)),
        ValueContract("s", (-1e30, 1e30)),
        ValueContract("y", (-1.5, 1.5)),
        ValueContract("a", ((0, 1), (-1, 0.5), (2, 4)), "calibrate it", axis=-1),
        ValueContract("b", ((0, 2**60), (-5, -1)), axis=0),
        ValueContract("c", ((0, 1), (-2, 0.1)), axis=0),
        ValueContract("e", (0, 9), "count", whole=True),
        ValueContract("f", whole=True),
    )
)

KEPT = {
    "x": np.full((2, 3), 0.5, np.float32),
    "h": np.array([0.5, 2], np.float16),
    "i": np.array([0, 9], np.int32),
    "u": np.array([1, 200], np.uint8),
    "s": np.array(1e30),
    "a": np.array([[0.5, -1, 3], [1, 0.5, 4]], np.float32),
    "b": np.array([2**60, -5]),
    "c": np.array([[1, 0], [-2, 0.1]], np.float16),
    "e": np.array([0, 9], np.float32),
    "f": np.array([-7, 65504], np.float16),
}


@BACKENDS
def test_run_within_the_contract_has_its_results(backend):
    session = sonnx_ort.InferenceSession(parse(GRAPH), backend=backend, contract=CONTRACT)
    y, *others = session.run(None, KEPT)
    np.testing.assert_array_equal(y, np.ones((2, 3), np.float32))
    for given, result in zip("hiusabcef", others, strict=True):
        np.testing.assert_array_equal(result, KEPT[given])


@BACKENDS
@pytest.mark.satisfies("Contract.range", "Contract.whole")
@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("x", 1.25, "Input 'x' breaks Contract.range: x is outside of -1 to 1 (scale it): x[0, 1]"),
        ("x", np.nan, "Input 'x' breaks Contract.range: x is outside of -1 to 1 (scale it): x[0"),
        ("x", -np.inf, "Input 'x' breaks Contract.range: x is outside of -1 to 1 (scale it): x[0"),
        ("h", 0.25, "Input 'h' breaks Contract.range: h is outside of 0.5 to 2: h[1] = 0.25"),
        ("i", 10, "Input 'i' breaks Contract.range: i is outside of 0 to 9: i[1] = 10"),
        ("i", -1, "Input 'i' breaks Contract.range: i is outside of 0 to 9: i[1] = -1"),
        ("u", 0, "Input 'u' breaks Contract.range: u is outside of 1 to 200: u[1] = 0"),
        (
            "s",
            1e31,
            "Input 's' breaks Contract.range: s is outside of -1e+30 to 1e+30: s[] = 1e+31",
        ),
        (
            "x",
            0.875,
            "Add 'twice' breaks Contract.range: y is outside of -1.5 to 1.5: y[0, 1] = 1.75",
        ),
        (
            "a",
            0.75,
            (
                "Input 'a' breaks Contract.range: a is outside of -1 to 0.5 at index 1 of axis -1 "
                "(calibrate it): a[0, 1] = 0.75;"
            ),
        ),
        (
            "a",
            np.nan,
            "Input 'a' breaks Contract.range: a is outside of -1 to 0.5 at index 1 of axis -1 (cal",
        ),
        (
            "b",
            0,
            "Input 'b' breaks Contract.range: b is outside of -5 to -1 at index 1 of axis 0: b[1]",
        ),
        (
            "c",
            -0.5,
            "Input 'c' breaks Contract.range: c is outside of 0 to 1 at index 0 of axis 0: c[0, 1]",
        ),
        ("e", 10, "Input 'e' breaks Contract.range: e is outside of 0 to 9 (count): e[1] = 10.0;"),
        (
            "e",
            2.5,
            "Input 'e' breaks Contract.whole: e is fractional, NaN or infinite (count): e[1] = 2.5",
        ),
        (
            "e",
            1e-30,
            "Input 'e' breaks Contract.whole: e is fractional, NaN or infinite (count): e[1] = 1",
        ),
        (
            "f",
            0.5,
            "Input 'f' breaks Contract.whole: f is fractional, NaN or infinite: f[1] = 0.5;",
        ),
        (
            "f",
            np.nan,
            "Input 'f' breaks Contract.whole: f is fractional, NaN or infinite: f[1] = nan;",
        ),
        (
            "f",
            -np.inf,
            "Input 'f' breaks Contract.whole: f is fractional, NaN or infinite: f[1] = -inf;",
        ),
    ],
)
def test_run_outside_of_the_contract_is_refused(backend, name, number, words):
    session = sonnx_ort.InferenceSession(parse(GRAPH), backend=backend, contract=CONTRACT)
    array = KEPT[name].copy()
    array.flat[min(1, array.size - 1)] = number
    with pytest.raises(ContractViolation) as caught:
        session.run(None, {**KEPT, name: array})
    assert str(caught.value).startswith(words)
    assert f" breaks {caught.value.rule}: " in words


STATEFUL = """(float[2] x, float[2] h) => (float[2] y) { [next] y = Add(x, h) }"""


@BACKENDS
def test_output_that_would_break_the_contract_of_the_next_call_is_refused(backend):
    contract = Contract(
        (ValueContract("x", (-1, 1)), ValueContract("h", (-1, 1))),
        states=(StateContract("h", "y"),),
    )
    session = sonnx_ort.InferenceSession(parse(STATEFUL), backend=backend, contract=contract)
    x, state = np.full(2, 0.5, np.float32), np.zeros(2, np.float32)
    for _ in range(2):
        (state,) = session.run(None, {"x": x, "h": state})
    with pytest.raises(ContractViolation) as caught:
        session.run(None, {"x": x, "h": state})
    assert str(caught.value).startswith(
        "Add 'next' breaks Contract.range: y is outside of -1 to 1: y[0] = 1.5;"
    )


@BACKENDS
def test_sizes_are_checked_in_front_of_the_ranges_of_an_axis(backend):
    model = parse("(float[n, c] x) => (float[n, c] y) { y = Relu(x) }")
    contract = Contract(
        (ValueContract("x", ((0, 1), (-1, 1)), axis=1),), (ShapeContract("x", (None, 2)),)
    )
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    for size in (0, 1, 3):
        with pytest.raises(ContractViolation, match=r"Contract\.sizes"):
            session.run(None, {"x": np.ones((1, size), np.float32)})


@BACKENDS
@pytest.mark.satisfies("Contract.finite")
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_number_that_is_not_finite_is_refused(backend, number):
    graph = "(float[n] x) => (float[n] y) { y = Relu(x) }"
    contract = Contract((ValueContract("x"),))
    session = sonnx_ort.InferenceSession(parse(graph), backend=backend, contract=contract)
    largest = np.array([np.finfo(np.float32).max, 0], np.float32)
    assert session.run(None, {"x": largest})[0][0] == largest[0]
    with pytest.raises(ContractViolation) as caught:
        session.run(None, {"x": np.array([0, number], np.float32)})
    assert str(caught.value).startswith(
        f"Input 'x' breaks Contract.finite: x is NaN or infinite: x[1] = {number}"
    )


@BACKENDS
def test_empty_tensor_keeps_every_range(backend):
    session = sonnx_ort.InferenceSession(parse(GRAPH), backend=backend, contract=CONTRACT)
    empty = {n: a[:0] if n in "xhiuef" else a[:, :0] if n == "c" else a for n, a in KEPT.items()}
    assert session.run(None, empty)[0].shape == (0, 3)


def test_contract_in_the_metadata_is_demanded_and_not_believed():
    """A file that says that it has a contract, and has no guard, is not taken for enforced."""
    enforced = sonnx_ort.rewrite(parse(GRAPH), backend="native", contract=CONTRACT)
    claiming = parse(GRAPH)
    onnx.helper.set_model_props(claiming, {e.key: e.value for e in enforced.metadata_props})
    report = sonnx_ort.check(claiming, operators="Graph.finite_values")
    assert "Graph.false_claim" in {o.rule.id for o in report.violations}
    session = sonnx_ort.InferenceSession(claiming, operators="Graph.finite_values")
    with pytest.raises(sonnx_ort.ContractViolation, match="x is outside of -1 to 1"):
        session.run(None, {**KEPT, "x": np.full((2, 3), 9, np.float32)})


@BACKENDS
def test_number_that_the_type_rounds_is_within(backend):
    """0.1 is no float: the float next to it is the end of the range."""
    graph = "(float[1] x) => (float[1] y) { y = Relu(x) }"
    contract = Contract((ValueContract("x", (0.1, 0.1)),))
    session = sonnx_ort.InferenceSession(parse(graph), backend=backend, contract=contract)
    assert session.run(None, {"x": np.array([0.1], np.float32)})[0] == np.float32(0.1)


@BACKENDS
def test_input_that_a_loop_and_a_scan_read_is_checked(backend):
    graph = """(int64 n, float[2] x) => (float[2] y, float[2] z) {
        go = Constant<value = bool {1}>()
        y = Loop(n, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] o) {
            d = Identity(c) o = Add(s, s) }>
        z = Scan<num_scan_inputs = 1, body = t (float e) => (float f) { f = Abs(e) }>(x)
    }"""
    contract = Contract((ValueContract("n", (0, 4)), ValueContract("x", (-2, 2))))
    session = sonnx_ort.InferenceSession(parse(graph), backend=backend, contract=contract)
    x = np.array([1, -2], np.float32)
    np.testing.assert_array_equal(session.run(None, {"n": np.array(2), "x": x})[0], x * 4)
    for bad in ({"n": np.array(5), "x": x}, {"n": np.array(2), "x": x * 2}):
        with pytest.raises(ContractViolation):
            session.run(None, bad)


IN_BODIES = """(bool[1] c, int64[1] n, float[2] x) => (float[2] y, float[2] z) {
    go = Constant<value = bool {1}>()
    y = If(c) <then_branch = t () => (float[2] a) { [square] s = Mul(x, x) a = Exp(s) },
        else_branch = e () => (float[2] b) { b = Neg(x) }>
    z = Loop(n, go, x) <body = l (int64 i, bool d, float[2] h) => (bool k, float[2] o) {
        k = Identity(d) [next] o = Add(h, h) }>
}"""


@BACKENDS
@pytest.mark.parametrize(
    ("feeds", "refused"),
    [
        ((True, 2, 1.5), None),
        ((False, 2, 2), None),
        (
            (True, 1, 2.5),
            r"Mul 'square' breaks Contract\.range: s is outside of 0 to 4: s\[0\] = 6",
        ),
        (
            (False, 2, 2.5),
            r"Add 'next' breaks Contract\.range: o is outside of -8 to 8: o\[0\] = 10",
        ),
        ((False, 1, 2.5), None),
    ],
)
def test_value_in_a_body_is_checked_where_it_is_computed(backend, feeds, refused):
    contract = Contract((ValueContract("s", (0, 4)), ValueContract("o", (-8, 8))))
    session = sonnx_ort.InferenceSession(parse(IN_BODIES), backend=backend, contract=contract)
    c, n, x = feeds
    values = {"c": np.array([c]), "n": np.array([n]), "x": np.full(2, x, np.float32)}
    if refused:
        with pytest.raises(ContractViolation, match=refused):
            session.run(None, values)
    else:
        np.testing.assert_array_equal(session.run(["z"], values)[0], values["x"] * 2**n)


@BACKENDS
@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 2)])
def test_input_that_is_declared_as_a_scalar_keeps_its_shape(backend, shape):
    model = parse("(double s) => (double t) { t = Identity(s) }")
    contract = Contract((ValueContract("s", (0.0, 1.0)),))
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    (t,) = session.run(None, {"s": np.full(shape, 0.5)})
    assert (t.shape, t.tolist()) == (shape, np.full(shape, 0.5).tolist())
    with pytest.raises(ContractViolation, match=r"Contract\.range"):
        session.run(None, {"s": np.full(shape, 1.5)})


def test_certificate_covers_a_contract_of_values_in_bodies(tmp_path):
    source, target, certificate = (tmp_path / name for name in ("m.onnx", "e.onnx", "c.json"))
    onnx.save(parse(IN_BODIES), source)
    values = ValueContract("s", (0, 4)), ValueContract("o", (-8, 8))
    sonnx_ort.rewrite_file(
        source,
        target,
        backend="native",
        contract=Contract(values),
        operators="Exp,Graph.finite_values",
        certificate=certificate,
    )
    made = read_certificate(certificate.read_bytes())
    assert [each for each in made["guarded"] if each[1] == "Contract.range"] == [
        ["s", "Contract.range"],
        ["o", "Contract.range"],
    ]
    assert ["a", "Graph.finite"] in made["obligations"]
    assert check(source.read_bytes(), made, target.read_bytes()).endswith(
        " by guards; the optimizers that it names must be off"
    )


def test_certificate_covers_a_contract_of_every_type(tmp_path):
    source, target, certificate = (tmp_path / name for name in ("m.onnx", "e.onnx", "c.json"))
    onnx.save(parse(GRAPH), source)
    sonnx_ort.rewrite_file(
        source, target, backend="native", contract=CONTRACT, certificate=certificate
    )
    made = read_certificate(certificate.read_bytes())
    assert check(source.read_bytes(), made, target.read_bytes()) == (
        "12 checks hold in every run: 0 by proof, 12 by guards"
    )
