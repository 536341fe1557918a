"""What is proved of numbers holds in each graph that a session may run.

Each model is one that an optimizer of ONNX Runtime would change so that other numbers arise: an
infinity, or a sum that wraps. Its contract proves that all numbers are finite.
"""

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort import Contract, SonnxError, ValueContract
from sonnx_ort.enforcing.metadata import OPTIMIZERS
from sonnx_ort.facts.optimizers import MAY_ACT, MUST_BE_OFF
from sonnx_ort.ort import canaries, optimizers
from sonnx_ort.ort import disabled_optimizers as tables
from sonnx_ort.ort.disabled_optimizers import UNWANTED_OPTIMIZERS, names_needed_off, names_of
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread

FINITE = "default,Graph.finite_values"
_F, _H = np.float32, np.float16


def channels(number, dtype=_F):
    """One number for a channel, in the shape of the weights of a Conv of windows of one."""
    return np.full((1, 1, 1), number, dtype)


MODELS = {
    "product of weights overflows": (
        "(float[1,1,4] x) => (float[1,1,4] y) { c = Conv(x, w)  y = Mul(c, m) }",
        {"w": channels(1e18), "m": channels(1e25)},
        {"x": (0, 1e-10)},
    ),
    "product of weights of float16 overflows": (
        "(float16[1,1,4] x) => (float16[1,1,4] y) { c = Conv(x, w)  y = Mul(c, m) }",
        {"w": channels(1000, _H), "m": channels(1000, _H)},
        {"x": (0, 0.01)},
    ),
    "product of weights and the factor of a normalization overflows": (
        (
            "(float[1,1,4] x) => (float[1,1,4] y) { c = Conv(x, w)"
            "  d = BatchNormalization(c, s, z, z, o)  y = Mul(d, m) }"
        ),
        {"w": channels(1e18), "m": channels(1e5), "s": _F([1e18]), "z": _F([0]), "o": _F([1])},
        {"x": (0, 1e-10)},
    ),
    "weights of a MatMul overflow": (
        (
            "(float16[2,4] x) => (float16[2,1] y) { c = MatMul(x, w)"
            "  y = BatchNormalization(c, s, z, z, o) }"
        ),
        {"w": np.full((4, 1), 1000, _H), "s": _H([1000]), "z": _H([0]), "o": _H([1])},
        {"x": (0, 0.01)},
    ),
    "factor of a MatMul overflows": (
        "(float[4,4] a, float[4,4] b) => (float[4,4] y) { t = Mul(a, s)  y = MatMul(t, b) }",
        {"s": _F(1e-20)},
        {"a": (0, 1e20), "b": (0, 1e20)},
    ),
    "sum of products of integers wraps": (
        (
            "(uint8[1,40000] a) => (float[1,1] z) { c = DequantizeLinear(a, s, o)"
            "  d = DequantizeLinear(b, s, o)  y = MatMul(c, d)  z = Sqrt(y) }"
        ),
        {"b": np.full((40000, 1), 255, np.uint8), "s": _F(1), "o": np.uint8(0)},
        {"a": (200, 255)},
    ),
}


def made(name):
    text, constants, ranges = MODELS[name]
    model = parse(text, opset=17)
    for key, array in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), key))
    contract = Contract(tuple(ValueContract(key, ends) for key, ends in ranges.items()))
    feeds = {}
    for value in model.graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [size.dim_value for size in value.type.tensor_type.shape.dim]
        feeds[value.name] = np.full(shape, ranges[value.name][1], np.float64).astype(dtype)
        if feeds[value.name].max() > ranges[value.name][1]:
            feeds[value.name] = np.nextafter(feeds[value.name], dtype.type(0))
    return model, contract, feeds


each_model = pytest.mark.parametrize("name", MODELS)


@each_model
def test_every_number_is_proved_to_be_finite(name):
    model, contract, _ = made(name)
    report = sonnx_ort.check(model, contract=contract, operators=FINITE, forecast=False)
    finite = [str(o.status) for o in report.obligations if o.rule.id == "Graph.finite"]
    assert finite == ["proved"] * len(finite) != []


@each_model
def test_plain_session_of_the_original_forms_other_numbers(name):
    """Once none does, the model shows nothing, and another is to be found."""
    model, _, feeds = made(name)
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread())
    assert not np.isfinite(session.run(None, feeds)[0]).all()


@BACKENDS
@each_model
@pytest.mark.parametrize("level", LEVELS)
def test_session_forms_the_numbers_that_are_proved(name, backend, level):
    model, contract, feeds = made(name)
    options = on_one_thread(level)
    session = sonnx_ort.InferenceSession(
        model, options, backend=backend, operators=FINITE, contract=contract
    )
    assert np.isfinite(session.run(None, feeds)[0]).all()


@BACKENDS
@each_model
def test_registered_session_of_the_rewritten_model_forms_them_too(name, backend):
    model, contract, feeds = made(name)
    enforced = sonnx_ort.rewrite(model, backend=backend, operators=FINITE, contract=contract)
    options = sonnx_ort.register(on_one_thread(), backend=backend)
    session = ort.InferenceSession(enforced.SerializeToString(), options)
    assert np.isfinite(session.run(None, feeds)[0]).all()


@BACKENDS
def test_session_of_a_rewritten_model_switches_them_off_again(backend):
    model, contract, feeds = made("product of weights overflows")
    enforced = sonnx_ort.rewrite(model, backend=backend, operators=FINITE, contract=contract)
    options = on_one_thread()
    session = sonnx_ort.InferenceSession(enforced, options, backend=backend, operators=FINITE)
    assert np.isfinite(session.run(None, feeds)[0]).all()
    off = options.get_session_config_entry(DISABLED_OPTIMIZERS)
    assert off.split(";") == names_needed_off(rests_on_numbers=True, has_minus_zero=False)


@BACKENDS
def test_enforced_model_names_what_must_be_off_and_what_may_act(backend):
    model, contract, _ = made("product of weights overflows")
    enforced = sonnx_ort.rewrite(model, backend=backend, operators=FINITE, contract=contract)
    (entry,) = [each.value for each in enforced.metadata_props if each.key == OPTIMIZERS]
    off = list(dict.fromkeys((*names_of(UNWANTED_OPTIMIZERS), *MUST_BE_OFF)))
    may_act = [name for name in MAY_ACT if name not in off]
    assert json.loads(entry) == {"off": off, "may_act": may_act}


@pytest.mark.parametrize(
    ("backend", "named"),
    [
        pytest.param("python", [], id="python, which register switches off"),
        pytest.param("native", [{"off": names_of(UNWANTED_OPTIMIZERS)}], id="native"),
        pytest.param("compiled", [{"off": names_of(UNWANTED_OPTIMIZERS)}], id="compiled"),
    ],
)
def test_model_names_what_a_plain_session_has_to_switch_off(backend, named):
    """Nothing is proved of its numbers, so that the others may act."""
    model = parse("(float[n] x, float[m] w) => (float[k] y) { y = Mul(x, w) }", opset=17)
    enforced = sonnx_ort.rewrite(model, backend=backend, operators="Mul")
    entries = [each.value for each in enforced.metadata_props if each.key == OPTIMIZERS]
    assert [json.loads(entry) for entry in entries] == named


@each_model
def test_plain_session_with_the_option_of_the_metadata_forms_the_numbers_that_are_proved(name):
    model, contract, feeds = made(name)
    enforced = sonnx_ort.rewrite(model, backend="native", operators=FINITE, contract=contract)
    metadata = {entry.key: entry.value for entry in enforced.metadata_props}
    options = on_one_thread()
    off = ";".join(json.loads(metadata[OPTIMIZERS])["off"])
    options.add_session_config_entry(DISABLED_OPTIMIZERS, off)
    session = ort.InferenceSession(enforced.SerializeToString(), options)
    assert np.isfinite(session.run(None, feeds)[0]).all()


@BACKENDS
def test_lists_of_another_version_are_no_reason_to_forget_the_contract(backend):
    model, contract, feeds = made("product of weights overflows")
    enforced = sonnx_ort.rewrite(model, backend=backend, operators=FINITE, contract=contract)
    (entry,) = [each for each in enforced.metadata_props if each.key == OPTIMIZERS]
    entry.value = json.dumps({"off": [], "may_act": ["ConvMulFusion"]})
    session = sonnx_ort.InferenceSession(enforced, backend=backend, operators=FINITE)
    assert session.contract == contract
    assert np.isfinite(session.run(None, feeds)[0]).all()


@BACKENDS
@pytest.mark.parametrize("operators", ["default", FINITE])
def test_model_of_which_no_number_is_proved_keeps_every_optimizer(backend, operators):
    model, _, _ = made("product of weights overflows")
    options = on_one_thread()
    sonnx_ort.InferenceSession(model, options, backend=backend, operators=operators)
    assert "ConvMulFusion" not in options.get_session_config_entry(DISABLED_OPTIMIZERS)


@BACKENDS
def test_division_that_a_range_proves_is_a_proof_of_numbers(backend):
    """The divisor is known by the result of a Cast, which a kernel computes of floats."""
    model = parse("""(float[3] x, int32[3] a) => (int32[3] z) {
        s = Exp(x)  b = Cast <to = 6> (s)  z = Div(a, b)
    }""")
    contract = Contract((ValueContract("x", (1, 2)),))
    options = on_one_thread()
    sonnx_ort.InferenceSession(model, options, backend=backend, contract=contract)
    assert "ConvMulFusion" in options.get_session_config_entry(DISABLED_OPTIMIZERS)


@BACKENDS
@pytest.mark.parametrize("scale", [3.0, 1e-45, 1e36])
def test_transposed_quantities_are_quantized_again_with_the_same_numbers(backend, scale):
    """The optimizer that moves a Transpose does so, and may act."""
    model = parse("""(uint8[4,8,4,4] x) => (float[a,b,c,d] z) {
        v = DequantizeLinear(x, s)  t = Transpose <perm = [3, 2, 1, 0]> (v)
        z = AveragePool <kernel_shape = [3, 3]> (t)
    }""")
    model.graph.initializer.append(numpy_helper.from_array(_F(scale), "s"))
    contract = Contract((ValueContract("x", (0, 20)),))
    numbers = (np.arange(512) % 21).astype(np.uint8).reshape(4, 8, 4, 4)
    results = [
        sonnx_ort.InferenceSession(
            model, on_one_thread(level), backend=backend, operators=FINITE, contract=contract
        ).run(None, {"x": numbers})[0]
        for level in LEVELS
    ]
    assert all(np.array_equal(results[0], each) for each in results)


@BACKENDS
def test_operator_without_a_kernel_may_take_the_place_of_an_identity(backend):
    """ONNX Runtime computes a Relu of float16 by the Max of its definition, and no Identity."""
    model = parse("(float16[3] x) => (float16[3] z) { r = Relu(x)  z = Identity(r) }", opset=18)
    contract = Contract((ValueContract("x", (-1, 1)),))
    session = sonnx_ort.InferenceSession(
        model, on_one_thread(), backend=backend, operators=FINITE, contract=contract
    )
    assert session.run(None, {"x": _H([-1, 0, 1])})[0].tolist() == [0, 0, 1]


@BACKENDS
@pytest.mark.parametrize("operators", ["Graph.finite", "Graph.finite_values"])
@pytest.mark.parametrize("inner", ["p = Expand(x, s)", "o = Expand(x, s)  p = Identity(o)"])
def test_branch_of_a_constant_condition_may_take_the_place_of_its_if(backend, operators, inner):
    model = parse(f"""(float[3] x) => (float[] z, float[] w) <int64[2] s = {{2, 3}}> {{
        c = Constant <value = bool {{1}}> ()
        z = If(c) <then_branch = t () => (float[] p) {{ {inner} }},
            else_branch = e () => (float[] q) {{ q = Neg(x) }}>
        w = Exp(x)
    }}""")
    contract = Contract((ValueContract("x", (-1, 1)),))
    for level in LEVELS:
        session = sonnx_ort.InferenceSession(
            model, on_one_thread(level), backend=backend, operators=operators, contract=contract
        )
        found, _ = session.run(None, {"x": _F([-1, 0, 1])})
        assert found.tolist() == [[-1, 0, 1]] * 2


@BACKENDS
def test_what_an_unknown_optimizer_makes_is_an_error(backend, monkeypatch):
    """Here ConvMulFusion is one of which nothing is known."""
    off = tuple(name for name in MUST_BE_OFF if name != "ConvMulFusion")
    known = tuple(o for o in canaries.OPTIMIZERS_OF_NUMBERS if o.name != "ConvMulFusion")
    monkeypatch.setattr(tables, "MUST_BE_OFF", off)
    monkeypatch.setattr(optimizers, "OPTIMIZERS_OF_NUMBERS", known)
    model, contract, _ = made("product of weights overflows")
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.InferenceSession(
            model, on_one_thread(), backend=backend, operators=FINITE, contract=contract
        )
    assert str(caught.value) == (
        f"an optimizer of ONNX Runtime {ort.__version__} made what no proof knows: "
        "Conv '(output y)' computes 'y', which Mul computed. Set options.graph_optimization_level "
        "to ORT_DISABLE_ALL, and report the model: the optimizer is in no list of sonnx_ort"
    )
