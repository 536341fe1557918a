"""Optimizers that would undo enforcement are off; others leave the guards.

A model of `PATTERNS` holds what one optimizer of ONNX Runtime looks for, and a node with a rule
that only a run decides. Where shapes are known the native backend adds no guard, and the optimizer
does its work still, unless it is one of those that are switched off; a guard among the nodes that
it looks for stops it. The custom operators of the python backend are nothing that an optimizer
looks for; a Where stays behind one of them.
"""

import json
from contextlib import nullcontext

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.enforcing.metadata import OPTIMIZERS, optimizers_to_switch_off
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.file_traversal import all_attributes
from sonnx_ort.ort import optimizers
from sonnx_ort.ort.canaries import OPTIMIZERS_OF_NUMBERS
from sonnx_ort.ort.disabled_optimizers import (
    OPTIMIZERS_OF_ZEROS,
    UNWANTED_OPTIMIZERS,
    Optimizer,
    has_minus_zero,
    names_needed_off,
)
from sonnx_ort.ort.optimizers import (
    DISABLED_OPTIMIZERS,
    disabled_optimizers,
    switch_off_optimizers,
)
from sonnx_ort.ort.session_options import config_entry, require_same_results
from sonnx_ort.pipeline import claimed_enforcement
from support.backends import BACKENDS, INSTALLED, with_guards
from support.graphs import parse
from support.patterns import FUSIONS, PATTERNS, TAKEN
from support.sessions import ALL_OFF, LEVELS, on_one_thread

OF_GUARDS = [
    *("ReshapeFusion", "QDQPropagationTransformer", "DivMulFusion", "NoopElimination"),
    *("GeluFusionL1", "GeluFusionL2", "LayerNormFusionL1", "LayerNormFusionL2"),
    *("SimplifiedLayerNormFusion", "MatMulScaleFusion", "FuseReluClip"),
    "GemmTransposeFusion",
]
"""The optimizers that undo enforcement, by the names that ONNX Runtime gives them."""


def test_optimizers_that_are_off_stay_off():
    options = ort.SessionOptions()
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "ConvAddFusion")
    switch_off_optimizers(options, ["DivMulFusion"])
    assert config_entry(options, DISABLED_OPTIMIZERS) == "ConvAddFusion;DivMulFusion"


def test_no_optimizer_is_listed_twice():
    options = ort.SessionOptions()
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "ReshapeFusion")
    switch_off_optimizers(options, ALL_OFF)
    switch_off_optimizers(options, ALL_OFF)
    listed = config_entry(options, DISABLED_OPTIMIZERS).split(";")
    assert listed.count("ReshapeFusion") == 1
    assert len({*listed}) == len(listed) > len(OF_GUARDS)


def test_no_optimizer_is_switched_off_if_none_is_named() -> None:
    options = ort.SessionOptions()
    switch_off_optimizers(options, [])
    assert config_entry(options, DISABLED_OPTIMIZERS) == ""


def test_entry_that_has_all_names_is_not_written_again(capfd: pytest.CaptureFixture[str]) -> None:
    options = ort.SessionOptions()
    for _ in range(2):
        switch_off_optimizers(options, ["DivMulFusion"])
    assert capfd.readouterr() == ("", "")


def test_argument_of_a_session_has_those_that_are_off_too():
    options = ort.SessionOptions()
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "ConvAddFusion;;DivMulFusion")
    off = disabled_optimizers(options, ["DivMulFusion", "GeluFusionL1"])
    assert off == ["ConvAddFusion", "DivMulFusion", "GeluFusionL1"]


def test_option_that_would_change_results_may_say_that_it_does_not():
    options = ort.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "0")
    require_same_results(options)
    options.add_session_config_entry("optimization.enable_gelu_approximation", "1")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        require_same_results(options)
    assert str(caught.value) == (
        "the session option optimization.enable_gelu_approximation=1 replaces Gelu by an "
        "approximation; remove it"
    )


def feeds(session):
    generator = np.random.default_rng(0)
    return {i.name: generator.random(i.shape, np.float32) + 1 for i in session.get_inputs()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FUSIONS)
def test_results_are_those_of_no_optimization(name, level):
    enforced = sonnx_ort.rewrite(FUSIONS[name].model, backend="native").SerializeToString()
    results = []
    for chosen in (LEVELS["none"], LEVELS[level]):
        options = ort.SessionOptions()
        options.graph_optimization_level = chosen
        switch_off_optimizers(options, ALL_OFF)
        session = ort.InferenceSession(enforced, options)
        results.append(session.run(None, feeds(session))[0].tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FUSIONS)
def test_session_has_the_results_of_the_model_without_optimization(name, level):
    model, options = FUSIONS[name].model, ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    session = sonnx_ort.InferenceSession(model, options, backend="native")
    plain = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    given = feeds(plain)
    assert session.run(None, given)[0].tobytes() == plain.run(None, given)[0].tobytes()


@BACKENDS
def test_session_switches_off_what_undoes_enforcement_and_no_more(backend):
    options = ort.SessionOptions()
    sonnx_ort.InferenceSession(FUSIONS["x / 1"].model, options, backend=backend)
    off = config_entry(options, DISABLED_OPTIMIZERS)
    assert off.split(";") == OF_GUARDS


@BACKENDS
@pytest.mark.parametrize("operators", ["Add", "Mul", "Graph.finite"])
def test_numbers_are_those_of_the_model_if_its_quotient_is_not_enforced(operators, backend):
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 20]>
        g (float[n] x) => (float[n] z) <float one = {1}> { d = Div(one, x) z = Mul(d, x) }"""
    )
    feeds = {"x": np.array([3, 41, 7, 9.3], np.float32)}
    plain = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    session = sonnx_ort.InferenceSession(
        model, operators=operators, broadcast="explicit", backend=backend
    )
    assert session.run(None, feeds)[0].tobytes() == plain.run(None, feeds)[0].tobytes()


each_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=list(PATTERNS))
each_level = pytest.mark.parametrize("level", LEVELS)


def enforced(pattern, backend, level, path=""):
    options = on_one_thread(level)
    options.optimized_model_filepath = str(path)
    return sonnx_ort.InferenceSession(
        pattern.model(),
        options,
        operators="elementwise",
        broadcast=pattern.broadcast,
        backend=backend,
    )


def plain(pattern, level, path=""):
    options = on_one_thread(level)
    options.optimized_model_filepath = str(path)
    return ort.InferenceSession(pattern.model().SerializeToString(), options)


def is_taken(pattern, optimized):
    """Whether a node of that name and operator is gone; a fused one may have the name."""
    (node,) = [n for n in pattern.model().graph.node if n.name == TAKEN]
    left = {(n.name, n.op_type) for n in onnx.load(optimized).graph.node}
    return left.isdisjoint({(TAKEN, node.op_type), (TAKEN, f"Checked{node.op_type}")})


def bits(session, pattern):
    return [output.tobytes() for output in session.run(None, pattern.feeds())]


@each_level
@each_pattern
def test_optimizer_finds_what_it_looks_for(pattern, level, tmp_path):
    """Once it does not, the pattern shows nothing, and another is to be found."""
    plain(pattern, level, tmp_path / "optimized.onnx")
    assert is_taken(pattern, tmp_path / "optimized.onnx") == (level in pattern.levels)


@with_guards
@each_level
@each_pattern
def test_optimizer_does_its_work_where_no_guard_is_in_the_way(pattern, level, backend, tmp_path):
    enforced(pattern, backend, level, tmp_path / "optimized.onnx")
    expected = level in pattern.levels and backend in pattern.survives
    assert is_taken(pattern, tmp_path / "optimized.onnx") == expected


@BACKENDS
@each_level
@each_pattern
def test_results_are_those_of_no_optimization_or_of_the_fusion(pattern, level, backend):
    results = bits(enforced(pattern, backend, level), pattern)
    assert results in (bits(plain(pattern, "none"), pattern), bits(plain(pattern, level), pattern))


@BACKENDS
@each_level
@each_pattern
def test_broken_rule_is_told(pattern, level, backend):
    session = enforced(pattern, backend, level)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, pattern.feeds(breaking=True))
    assert caught.value.node in pattern.told


ZEROS = parse(
    "(float[1] x) => (float[1] z, float[1] v) <float[1] one = {1}> {"
    " a = LeakyRelu <alpha = 0.0> (x) b = LeakyRelu <alpha = -0.0> (x)"
    " p = Div(one, a) q = Div(one, b) z = Neg(p) v = Neg(q) }"
)


@pytest.mark.parametrize("level", ["none", "basic", "all"])
@pytest.mark.parametrize("backend", INSTALLED)
def test_nodes_whose_attributes_are_zeros_of_other_signs_stay_apart(
    backend: str, level: str
) -> None:
    session = sonnx_ort.InferenceSession(ZEROS, on_one_thread(level), backend=backend)
    assert session.run(None, {"x": np.array([-1], np.float32)}) == [[np.inf], [-np.inf]]


@pytest.mark.parametrize("level", ["none", "basic", "all"])
@pytest.mark.parametrize("element_type", ["float", "double"])
@pytest.mark.parametrize("backend", INSTALLED)
def test_relu_stays_before_a_clip(backend: str, element_type: str, level: str) -> None:
    """FuseReluClip makes -0 of -1, and starts no session with a double (R97, R98)."""
    dtype = {"float": np.float32, "double": np.float64}[element_type]
    model = parse(
        f"({element_type}[n] x) => ({element_type}[] z) <{element_type} low = {{-0.0}},"
        f" {element_type} high = {{6}}> {{ r = Relu(x) z = Clip(r, low, high) }}"
    )
    session = sonnx_ort.InferenceSession(model, on_one_thread(level), backend=backend)
    (result,) = session.run(None, {"x": np.array([-1, 7], dtype)})
    assert result.tobytes() == np.array([0, 6], dtype).tobytes()


MINUS = "LeakyRelu <alpha = -0.0>"


@pytest.mark.parametrize(("nodes", "has_one"), [
    (f"z = {MINUS} (x)", True),
    ("z = Own <list = [1.0, -0.0]> (x)", True),
    ("z = Own <first = 1, second = 1.0, third = -0.0> (x)", True),
    ("z = If(c) <then_branch = t () => (float[1] u) { u = " + MINUS + " (x) },"
     " else_branch = e () => (float[1] w) { w = Neg(x) }>", True),
    ("z = Own <one = 0.0, list = [0.0, 1.0], number = 0, text = \"-0.0\"> (x)", False),
    ("z = Neg(x)", False),
])  # fmt: skip
def test_model_has_a_minus_zero_if_an_attribute_is_one(nodes: str, has_one: bool) -> None:
    model = parse(f"(float[1] x, bool c) => (float[1] z) {{ {nodes} }}")
    assert has_minus_zero(all_attributes(model)) == has_one


def of_function(given: str, default: str) -> onnx.ModelProto:
    """A function whose slope is a parameter, with a default, called with another one or not."""
    return onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["": 17, "own": 1]>
        g (float[n] x, float[n] y) => (float[m] z, float[k] v)
            {{ u = own.Sloping {given} (x) z = Div(u, y) v = LeakyRelu <alpha = 0.0> (x) }}
        <domain: "own", opset_import: ["": 17]> Sloping <alpha: float = {default}> (x) => (y)
            {{ y = LeakyRelu <alpha: float = @alpha> (x) }}"""
    )


@pytest.mark.parametrize(("given", "default", "has_one"), [
    ("", "0.5", False), ("", "-0.0", True), ("<alpha = -0.0>", "0.5", True),
    ("<alpha = 0.25>", "0.5", False),
])  # fmt: skip
@pytest.mark.parametrize("backend", [each for each in INSTALLED if each != "python"])
def test_minus_zero_of_a_function_counts(
    backend: str, given: str, default: str, has_one: bool
) -> None:
    model = of_function(given, default)
    assert has_minus_zero(all_attributes(model)) == has_one
    made = sonnx_ort.rewrite(model, operators="Div", backend=backend)
    (entry,) = (each.value for each in made.metadata_props if each.key == OPTIMIZERS)
    off = names_needed_off(rests_on_numbers=False, has_minus_zero=has_one)
    assert json.loads(entry) == {"off": off}


@pytest.mark.parametrize("backend", INSTALLED)
def test_session_of_a_model_with_a_minus_zero_logs_nothing(
    backend: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """ONNX Runtime warns where an option is set twice."""
    sonnx_ort.InferenceSession(ZEROS, backend=backend)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("backend", INSTALLED)
def test_registered_session_keeps_zeros_apart(backend: str) -> None:
    enforced_model = sonnx_ort.rewrite(ZEROS, backend=backend).SerializeToString()
    session = ort.InferenceSession(enforced_model, sonnx_ort.register(backend=backend))
    assert session.run(None, {"x": np.array([-1], np.float32)}) == [[np.inf], [-np.inf]]


@pytest.mark.parametrize("named", [True, False], ids=["as rewritten", "earlier version"])
@pytest.mark.parametrize("backend", [each for each in INSTALLED if each != "python"])
def test_plain_session_of_a_rewritten_model_is_told_how_to_keep_zeros_apart(
    backend: str, named: bool
) -> None:
    made = sonnx_ort.rewrite(ZEROS, backend=backend)
    (entry,) = (each for each in made.metadata_props if each.key == OPTIMIZERS)
    if not named:
        entry.value = "{}"
    claim = claimed_enforcement(made)
    assert claim is not None
    off = optimizers_to_switch_off(made, claim)
    assert not named or json.loads(entry.value) == {"off": list(off)}
    options = ort.SessionOptions()
    switch_off_optimizers(options, off)
    if backend == "compiled":
        options.register_custom_ops_library(str(sonnx_ort.kernels_library()))
    session = ort.InferenceSession(made.SerializeToString(), options)
    assert session.run(None, {"x": np.array([-1], np.float32)}) == [[np.inf], [-np.inf]]


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Note what is verified to be off."""
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(optimizers, "require_effective", lambda *given: calls.append(given))
    return calls


@pytest.mark.parametrize(("numbers", "minus_zero", "effective"), [
    (False, False, UNWANTED_OPTIMIZERS),
    (True, False, UNWANTED_OPTIMIZERS + OPTIMIZERS_OF_NUMBERS),
    (False, True, UNWANTED_OPTIMIZERS + OPTIMIZERS_OF_ZEROS),
    (True, True, UNWANTED_OPTIMIZERS + OPTIMIZERS_OF_NUMBERS + OPTIMIZERS_OF_ZEROS),
], ids=["any model", "with numbers", "with -0", "with both"])  # fmt: skip
@pytest.mark.parametrize("optimizing", [True, False])
def test_what_is_switched_off_is_verified_where_anything_is_optimized(
    numbers: bool,
    minus_zero: bool,
    effective: tuple[Optimizer, ...],
    optimizing: bool,
    verified: list[tuple[object, ...]],
) -> None:
    options = ort.SessionOptions()
    if not optimizing:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    needs = {"rests_on_numbers": numbers, "has_minus_zero": minus_zero}
    optimizers.require_off(options, **needs)
    names = names_needed_off(**needs)
    assert verified == ([(effective, names)] if optimizing else [])
    assert config_entry(options, DISABLED_OPTIMIZERS).split(";") == names
    assert {each.name for each in effective} <= set(names)


CANARY = "{ [a] y = Neg(x) [b] z = Abs(y) }"


@pytest.mark.parametrize(("optimized", "acts"), [
    (CANARY, False),
    ("{ [a] y = Neg(x) z = Abs(y) }", True),
    ("{ [a] y = Neg(x) [c] z = Abs(y) }", True),
    ("{ [a] y = Neg(x) [b] z = Neg(y) }", True),
    ("{ [a] y = Neg(x) [b] z = Exp(y) }", True),
    ("{ [a] y = Neg(x) [b] v = Abs(y) [c] z = Neg(v) }", True),
    ("{ [a] y = Neg(x) [b] v = Abs(y) z = Neg(v) }", False),
    ("{ [a] y = Neg(x) [b] v = Abs(y) [c] z = Exp(v) }", False),
])  # fmt: skip
def test_optimizer_acts_if_named_nodes_of_the_operators_of_its_canary_are_others(
    optimized: str, acts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizers, "_proved", set())
    made = parse(f"(float[1] x) => (float[1] z) {optimized}")
    monkeypatch.setattr(optimizers, "_optimized", lambda *_: made)
    canary = '<ir_version: 9, opset_import: ["": 17]> g (float[1] x) => (float[1] z) ' + CANARY
    expected = pytest.raises(SonnxError, match="joins them, although") if acts else nullcontext()
    with expected:
        optimizers.require_effective((Optimizer("Joining", "joins them", canary),))


def test_canary_that_cannot_be_optimized_is_told_with_its_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cause = RuntimeError("because")

    def fail(*_: object) -> None:
        raise cause

    monkeypatch.setattr(optimizers, "_optimized", fail)
    with pytest.raises(SonnxError, match=": because; set options") as caught:
        optimizers.require_effective((OPTIMIZERS_OF_ZEROS[0], OPTIMIZERS_OF_ZEROS[0]))
    assert caught.value.__cause__ is cause


def test_optimizer_that_merges_zeros_of_either_sign_is_seen_to_act(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(optimizers, "_proved", set())
    said = "computes nodes once whose attributes are 0 and -0, although its graph optimizer"
    with pytest.raises(SonnxError, match=said):
        optimizers.require_effective(OPTIMIZERS_OF_ZEROS, ())
