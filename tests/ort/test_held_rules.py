"""A run that breaks a rule that is left to ONNX Runtime raises the violation of that rule."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper
from onnxruntime.capi.onnxruntime_inference_collection import OrtDevice
from onnxruntime.capi.onnxruntime_pybind11_state import OrtValueVector

import sonnx_ort
from sonnx_ort.errors import ContractViolation
from sonnx_ort.ort.violations import violation_of_error
from sonnx_ort.profile.catalog import RULES
from support.backends import on_each_backend
from support.graphs import parse
from support.held_cases import HELD_CASES, HeldCase
from support.sessions import quiet

X = np.ones((2, 3), np.float32)
SIZES = np.array([-1, -1])
RESHAPED = "(float[n, m] x, int64[k] s) => (float[] y) { z = Add(x, x) [r] y = Reshape(z, s) }"
GATHERED = (
    "(float[n, m] x, int64[k] s) => (float[] y, float[] w)"
    " { [r] y = Reshape(x, s) w = Gather(x, s) }"
)
IN_BRANCHES = """
    (float[n, m] x, int64[k] s, bool c, bool d) => (float[] y) {
        z = Add(x, x)
        y = If (c) <
            then_branch = t () => (float[] u) { [r] u = Reshape(z, s) },
            else_branch = e () => (float[] v) {
                [inner] v = If (d) <
                    then_branch = p () => (float[] q) { n = Neg(z) [r] q = Reshape(n, s) },
                    else_branch = f () => (float[] w) { w = Gather(x, s) }
                >
            }
        >
    }
"""
IN_A_LOOP = """
    (float[n, m] x, int64[k] s, int64 c, bool d) => (float[] y) {
        y = Loop (c, d, x) <body = b (int64 i, bool go, float[] a) => (bool on, float[] u) {
            on = Identity(go) [r] u = Reshape(a, s)
        }>
    }
"""


def session(
    graph: str, operators: str = "all,-Graph", **choices: bool
) -> sonnx_ort.InferenceSession:
    made = parse(graph, opset=21)
    return sonnx_ort.InferenceSession(made, quiet(), operators=operators, **choices)


def require_named(violation: sonnx_ort.ContractViolation) -> None:
    assert str(violation) == (
        "Reshape 'r' breaks Reshape.S.C1: 2 sizes are -1; shapes X (2, 3), S (2,). "
        "The rule: At most one size in S is -1."
    )
    assert (violation.rule, violation.operator, violation.node) == ("Reshape.S.C1", "Reshape", "r")
    assert (violation.shapes, violation.index, violation.values) == (((2, 3), (2,)), None, None)
    assert "running Reshape node" in str(violation.__cause__)


@on_each_backend
@pytest.mark.parametrize("verify_proofs", [False, True])
def test_violation_has_its_fields_and_its_cause(verify_proofs: bool) -> None:
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session(RESHAPED, verify_proofs=verify_proofs).run(None, {"x": X, "s": SIZES})
    require_named(caught.value)


def test_violation_is_raised_for_values_of_onnxruntime() -> None:
    values = {name: ort.OrtValue.ortvalue_from_numpy(a) for name, a in (("x", X), ("s", SIZES))}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session(RESHAPED).run_with_ort_values(None, values)
    require_named(caught.value)


def test_callback_gets_the_violation() -> None:
    told, done = [], threading.Event()

    def callback(results: Sequence[object], data: object, message: str) -> None:
        del data
        told.append((results, message))
        done.set()

    session(RESHAPED).run_async(None, {"x": X, "s": SIZES}, callback, None)
    assert done.wait(60)
    ((results, message),) = told
    assert results == []
    assert message.startswith("Reshape 'r' breaks Reshape.S.C1: 2 sizes are -1; ")


@on_each_backend
def test_guard_that_cannot_be_computed_hides_no_violation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Guards of the places of a Slice compute with indices as they are.

    What kernels say of values that were computed for the error alone is nobody's error.
    """
    slices = session(
        "(float[n, m] x, int64[k] s, int64[l] e, int64[i] a, int64[j] t) => (float[] y)"
        " { y = Slice(x, s, e, a, t) }"
    )
    feeds = {"x": X, "s": [0, 0], "e": [2, 2], "a": [0, 2**31], "t": [1, 1]}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        slices.run(None, {name: np.asarray(value) for name, value in feeds.items()})
    assert caught.value.rule == "Slice.A.C2"
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("graph", "operators", "told"),
    [
        (IN_A_LOOP, "all,-Graph", "running Reshape node"),
        (IN_BRANCHES, "all,-Graph", "running Gather node"),
        (RESHAPED, "Div", "running Reshape node"),
        (GATHERED, "all,-Graph", "running Gather node"),
    ],
    ids=["in a loop", "of another branch", "of an operator that is not enforced", "of no rule"],
)
def test_other_errors_stay_those_of_onnxruntime(graph: str, operators: str, told: str) -> None:
    sizes = {GATHERED: [3, 2], IN_BRANCHES: [-1, -5]}.get(graph, SIZES)
    chosen = np.array(2) if graph is IN_A_LOOP else np.array(False)
    feeds = {"x": X, "s": np.array(sizes), "c": chosen, "d": np.array(graph is IN_A_LOOP)}
    started = session(graph, operators)
    read = {each.name for each in started.get_inputs()}
    with pytest.raises(Exception, match=told) as caught:
        started.run(None, {name: value for name, value in feeds.items() if name in read})
    assert not isinstance(caught.value, sonnx_ort.SonnxError)


@on_each_backend
@pytest.mark.parametrize(("c", "d"), [(True, False), (False, True)])
def test_violation_in_the_branch_that_a_run_takes_is_named(c: bool, d: bool) -> None:
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session(IN_BRANCHES).run(None, {"x": X, "s": SIZES, "c": np.array(c), "d": np.array(d)})
    require_named(caught.value)


OWN_VALUES = """
    (float[n, m] x, int64[k] s, bool c) => (float[] y) {
        y = If (c) <
            then_branch = t () => (float[] u) <int64[2] zero = {0, 0}> {
                sizes = Add(s, zero)
                [r] u = Reshape(x, sizes)
            },
            else_branch = e () => (float[] w) { w = Gather(x, s) }
        >
    }
"""
"""The sizes of the Reshape are computed from an initializer of its branch."""


@on_each_backend
def test_violation_that_an_initializer_of_the_branch_leads_to_is_named() -> None:
    started = session(OWN_VALUES)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        started.run(None, {"x": X, "s": SIZES, "c": np.array(True)})
    require_named(caught.value)


def bound(started: sonnx_ort.InferenceSession) -> ort.IOBinding:
    binding = started.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_input("s", ort.OrtValue.ortvalue_from_numpy(SIZES))
    binding.bind_output("y")
    return binding


def test_violation_of_a_run_with_a_binding_is_named() -> None:
    started = session(RESHAPED, verify_proofs=False)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        started.run_with_iobinding(bound(started))
    require_named(caught.value)


def test_violation_of_a_run_on_a_vector_of_values_is_named() -> None:
    values = OrtValueVector()
    for array in (X, SIZES):
        values.push_back(ort.OrtValue.ortvalue_from_numpy(array)._ortvalue)
    place = [OrtDevice.make("cpu", 0)._get_c_device()]
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session(RESHAPED).run_with_ortvaluevector(
            ort.RunOptions(), ["x", "s"], values, ["y"], OrtValueVector(), place
        )
    require_named(caught.value)


def test_error_of_a_run_with_an_address_is_that_of_onnxruntime() -> None:
    started = session(RESHAPED, verify_proofs=False)
    binding = bound(started)
    binding.bind_input("s", "cpu", 0, np.int64, SIZES.shape, SIZES.ctypes.data)
    with pytest.raises(Exception, match="running Reshape node") as caught:
        started.run_with_iobinding(binding)
    assert not isinstance(caught.value, sonnx_ort.SonnxError)


def outcome(case: HeldCase) -> str | None:
    """The rule that a run breaks; None if the model is refused before."""
    made = parse(case.graph, opset=case.opset)
    types = {value.name: value.type.tensor_type.elem_type for value in made.graph.input}
    try:
        started = sonnx_ort.InferenceSession(made, quiet(), operators="all,-Graph")
    except Exception:  # noqa: BLE001 - of what it knows before, ONNX Runtime says so itself
        return None
    feeds = {
        name: np.array(value, helper.tensor_dtype_to_np_dtype(types[name]))
        for name, value in case.feeds.items()
    }
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        started.run(None, feeds)
    return caught.value.rule


@pytest.mark.parametrize("rule", HELD_CASES)
def test_no_run_that_breaks_a_rule_ends_with_another_error(rule: str) -> None:
    cases = HELD_CASES[rule]
    broken = {outcome(case) for case in cases[:: max(1, len(cases) // 12)]} - {None}
    operator = rule.partition(".")[0]
    assert {RULES[each].id.partition(".")[0] for each in broken} <= {operator}
    assert rule in broken or not broken


def test_violation_is_raised_where_weights_stand_in_another_file(tmp_path: Path) -> None:
    graph = "(float[n, 3] x, int64[k] s) => (float[] y) { z = MatMul(x, w) [r] y = Reshape(z, s) }"
    made = parse(graph, constants={"w": np.ones((3, 3), np.float32)})
    path = tmp_path / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights", size_threshold=0)
    started = sonnx_ort.InferenceSession(path, quiet(), operators="all,-Graph")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        started.run(None, {"x": X, "s": SIZES})
    require_named(caught.value)


GUARD = "Div 'd' breaks the SONNX profile; the number at the end tells the rule: -24 Div.int.C1"
REFUSED = f"Node ({GUARD}) Op (Reshape) [ShapeInferenceError] Invalid dimension value: -24"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(f"[ONNXRuntimeError] : 1 : FAIL : {REFUSED}", id="in the main graph"),
        pytest.param(
            "[ONNXRuntimeError] : 1 : FAIL : Node (if1) Op (If) [TypeInferenceError] Graph "
            f"attribute inferencing failed: {REFUSED}",
            id="in a branch",
        ),
        pytest.param(
            f"[ONNXRuntimeError] : 1 : FAIL : {REFUSED.replace('Div.int.C1)', 'Div.int.C1 (B))')}",
            id="at the other operand's guard",
        ),
    ],
)
def test_violation_is_read_from_the_message(message: str) -> None:
    found = violation_of_error(message)
    assert isinstance(found, ContractViolation)
    assert (found.rule, found.operator, found.node) == ("Div.int.C1", "Div", "d")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("Node (r) Op (Reshape) [ShapeInferenceError] Invalid dimension value: -24"),
        pytest.param(f"{REFUSED}; and something else"),
    ],
)
def test_other_message_is_no_violation(message: str) -> None:
    assert violation_of_error(message) is None


SENTENCE = RULES["Div.int.C1"].sentence
OF_A_KERNEL = (
    "[ONNXRuntimeError] : 1 : FAIL : Status Message: SONNX: Div 'd' breaks Div.int.C1: a zero "
    "divisor: A[1] = 9, B[1] = 0; shapes {}. The rule: {}"
)


@pytest.mark.parametrize(
    ("said", "shapes"),
    [
        ("A (2,), B (2,)", ((2,), (2,))),
        ("X0 'a' (2,), X1 'b' (3, 4)", ((2,), (3, 4))),
        ("X0 'a' (2,), X2 'b' (3, 4)", None),
    ],
    ids=["of two operands", "of any number", "hidden by a name"],
)
def test_violation_is_read_from_the_sentence_of_a_compiled_kernel(
    said: str, shapes: tuple[tuple[int, ...], ...] | None
) -> None:
    found = violation_of_error(OF_A_KERNEL.format(said, SENTENCE))
    assert isinstance(found, ContractViolation)
    told = (found.rule, found.node, found.index, found.values, found.shapes)
    assert told == ("Div.int.C1", "d", (1,), (9, 0), shapes)


def test_sentence_that_is_not_of_the_rule_is_no_violation() -> None:
    assert violation_of_error(OF_A_KERNEL.format("A (2,), B (2,)", "All is well.")) is None


@pytest.mark.parametrize("size", [2, "n"])
def test_divisor_that_onnxruntime_computes_to_be_zero_is_a_violation_of_the_node(
    size: int | str,
) -> None:
    model = parse(
        f"(int32[{size}] x) => (int32[] z) {{"
        " c = Constant<value = float[2] {0.5, 0.5}>() b = Cast<to = 6>(c) [d] z = Div(x, b) }"
    )
    with pytest.raises(ContractViolation) as caught:
        # At the start or in the run, as ONNX Runtime chooses.
        sonnx_ort.InferenceSession(model, backend="native").run(None, {"x": np.ones(2, np.int32)})
    assert (caught.value.rule, caught.value.node) == ("Div.int.C1", "d")


OF_ANOTHER_BRANCH = """(float[2, 3] x, bool c, int64[2] i, int64[2] k) => (float[?, ?] y) {
    y = If(c) <
        then_branch = t () => (float[?, ?] a) { s = Div(i, k) a = Reshape(x, s) },
        else_branch = e () => (float[?, ?] b) { b = Reshape(x, i) }
    > }"""
"""Reshapes without names, so that either may be the one that ONNX Runtime names."""


def test_kernel_that_fails_for_the_error_alone_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    feeds = {"x": X, "c": np.array(False), "i": np.array([-1, -1]), "k": np.array([0, 1])}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session(OF_ANOTHER_BRANCH).run(None, feeds)
    assert caught.value.rule == "Reshape.S.C1"
    assert caplog.messages == []
