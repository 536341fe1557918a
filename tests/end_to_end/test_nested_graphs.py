"""A Div is enforced wherever it stands, and its violation names it."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import on_each_backend, on_python
from support.graphs import parse

pytestmark = on_each_backend

ONES = np.ones(4, np.float32)
HALVES = np.full(4, 0.5, np.float32)
SHORT = np.ones(1, np.float32)


def in_if_branch() -> onnx.ModelProto:
    return parse("""(float[n] x, float[n] y) => (float[m] z) {
        condition = Constant <value = bool {1}> ()
        [choose] z = If (condition) <
            then_branch = taken () => (float[k] q) { [inner] q = Div(x, y) },
            else_branch = other () => (float[k] e) { e = Identity(x) }
        >
    }""")


def in_two_nested_ifs() -> onnx.ModelProto:
    return parse("""(float[n] x, float[n] y) => (float[m] w) {
        outer = Constant <value = bool {1}> ()
        w = If (outer) <
            then_branch = outer_taken () => (float[k] z) {
                condition = Constant <value = bool {1}> ()
                [choose] z = If (condition) <
                    then_branch = taken () => (float[k] q) { [inner] q = Div(x, y) },
                    else_branch = other () => (float[k] e) { e = Identity(x) }
                >
            },
            else_branch = outer_other () => (float[] f) { f = Identity(x) }
        >
    }""")


def in_loop_body() -> onnx.ModelProto:
    return parse("""(float[n] x, float[n] y) => (float[m] z) {
        trips = Constant <value_int = 1> ()
        [loop] z = Loop (trips, , y) <
            body = body (int64 i, bool go_on, float[] carried) => (bool still, float[] quotient) {
                still = Identity(go_on)
                [inner] quotient = Div(x, carried)
            }
        >
    }""")


def in_scan_body() -> onnx.ModelProto:
    return parse("""(float[n] x, float[n] y) => (float[m] z) {
        axes = Constant <value_ints = [0]> ()
        rows = Unsqueeze(x, axes)
        last, scans = Scan (y, rows) <
            body = body (float[] state, float[] row) => (float[] kept, float[] scanned) {
                kept = Identity(state)
                [inner] scanned = Div(row, state)
            },
            num_scan_inputs = 1
        >
        z = Squeeze(scans, axes)
    }""")


PLACES = {
    "if": in_if_branch,
    "nested ifs": in_two_nested_ifs,
    "loop": in_loop_body,
    "scan": in_scan_body,
}


@pytest.fixture(params=PLACES.values(), ids=PLACES.keys())
def nested(request: pytest.FixtureRequest) -> onnx.ModelProto:
    built: onnx.ModelProto = request.param()
    onnx.checker.check_model(built, full_check=True)
    return built


@pytest.mark.parametrize("mode", [ort.ExecutionMode.ORT_SEQUENTIAL, ort.ExecutionMode.ORT_PARALLEL])
def test_violation_in_a_body_names_the_node(
    nested: onnx.ModelProto, mode: ort.ExecutionMode
) -> None:
    options = ort.SessionOptions()
    options.execution_mode = mode
    session = sonnx_ort.InferenceSession(nested, options)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": ONES, "y": SHORT})
    assert caught.value.node == "inner"
    assert caught.value.rule == "Div.float.R1"
    assert caught.value.shapes == ((4,), (1,))


def test_result_in_a_body_is_the_quotient(nested: onnx.ModelProto) -> None:
    (result,) = sonnx_ort.InferenceSession(nested).run(None, {"x": ONES, "y": HALVES})
    np.testing.assert_array_equal(result, [2, 2, 2, 2])


@on_python
def test_no_standard_division_is_left(nested: onnx.ModelProto) -> None:
    text = onnx.printer.to_text(sonnx_ort.rewrite(nested))
    assert text.count(" Div ") == 0
    assert text.count("sonnx.CheckedDiv ") == 1


def test_enforced_model_passes_the_checker(nested: onnx.ModelProto) -> None:
    onnx.checker.check_model(sonnx_ort.rewrite(nested), full_check=True)


def test_loop_that_grows_its_state_is_not_rejected() -> None:
    grown = parse("""(float[1] s, float[4] x) => (float[k] w) {
        trips = Constant <value_int = 2> ()
        z = Loop (trips, , s) <
            body = body (int64 i, bool go_on, float[] state) => (bool still, float[] grown) {
                still = Identity(go_on)
                grown = Concat <axis = 0> (state, state)
                [inner] ones = Div(state, state)
            }
        >
        [after] w = Div(z, x)
    }""")
    session = sonnx_ort.InferenceSession(grown)
    (result,) = session.run(None, {"s": SHORT, "x": HALVES})
    np.testing.assert_array_equal(result, [2, 2, 2, 2])
