"""A Div is enforced wherever it stands, and its violation names it."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from support.backends import on_each_backend, on_python
from support.graphs import model, tensor

pytestmark = on_each_backend

ONES = np.ones(4, np.float32)
HALVES = np.full(4, 0.5, np.float32)
SHORT = np.ones(1, np.float32)


def division(name: str = "inner") -> onnx.NodeProto:
    return helper.make_node("Div", ["x", "y"], ["q"], name=name)


def in_if_branch() -> onnx.ModelProto:
    taken = helper.make_graph([division()], "taken", [], [tensor("q", "float", ["k"])])
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["e"])], "other", [], [tensor("e", "float", ["k"])]
    )
    choose = helper.make_node(
        "If", ["condition"], ["z"], name="choose", then_branch=taken, else_branch=other
    )
    condition = helper.make_node(
        "Constant", [], ["condition"], value=helper.make_tensor("t", TensorProto.BOOL, [], [True])
    )
    return model([condition, choose], _inputs(), [tensor("z", "float", ["m"])])


def in_two_nested_ifs() -> onnx.ModelProto:
    inner = in_if_branch().graph
    taken = helper.make_graph(inner.node, "outer_taken", [], [tensor("z", "float", ["k"])])
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["f"])],
        "outer_other",
        [],
        [tensor("f", "float", None)],
    )
    constant = helper.make_node(
        "Constant", [], ["outer"], value=helper.make_tensor("t", TensorProto.BOOL, [], [True])
    )
    choose = helper.make_node("If", ["outer"], ["w"], then_branch=taken, else_branch=other)
    return model([constant, choose], _inputs(), [tensor("w", "float", ["m"])])


def in_loop_body() -> onnx.ModelProto:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["still"]),
            helper.make_node("Div", ["x", "carried"], ["quotient"], name="inner"),
        ],
        "body",
        [tensor("i", "int64", []), tensor("go_on", "bool", []), tensor("carried", "float", None)],
        [tensor("still", "bool", []), tensor("quotient", "float", None)],
    )
    trips = helper.make_node("Constant", [], ["trips"], value_int=1)
    loop = helper.make_node("Loop", ["trips", "", "y"], ["z"], name="loop", body=body)
    return model([trips, loop], _inputs(), [tensor("z", "float", ["m"])])


def in_scan_body() -> onnx.ModelProto:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["state"], ["kept"]),
            helper.make_node("Div", ["row", "state"], ["scanned"], name="inner"),
        ],
        "body",
        [tensor("state", "float", None), tensor("row", "float", None)],
        [tensor("kept", "float", None), tensor("scanned", "float", None)],
    )
    rows = helper.make_node("Unsqueeze", ["x", "axes"], ["rows"])
    axes = helper.make_node("Constant", [], ["axes"], value_ints=[0])
    scan = helper.make_node("Scan", ["y", "rows"], ["last", "scans"], body=body, num_scan_inputs=1)
    squeeze = helper.make_node("Squeeze", ["scans", "axes"], ["z"])
    return model([axes, rows, scan, squeeze], _inputs(), [tensor("z", "float", ["m"])])


def _inputs() -> list[onnx.ValueInfoProto]:
    return [tensor("x", "float", ["n"]), tensor("y", "float", ["n"])]


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
    assert text.count("sonnx.Div ") == 1


def test_enforced_model_passes_the_checker(nested: onnx.ModelProto) -> None:
    onnx.checker.check_model(sonnx_ort.rewrite(nested), full_check=True)


def test_loop_that_grows_its_state_is_not_rejected() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["still"]),
            helper.make_node("Concat", ["state", "state"], ["grown"], axis=0),
            helper.make_node("Div", ["state", "state"], ["ones"], name="inner"),
        ],
        "body",
        [tensor("i", "int64", []), tensor("go_on", "bool", []), tensor("state", "float", None)],
        [tensor("still", "bool", []), tensor("grown", "float", None)],
    )
    trips = helper.make_node("Constant", [], ["trips"], value_int=2)
    loop = helper.make_node("Loop", ["trips", "", "s"], ["z"], body=body)
    divide = helper.make_node("Div", ["z", "x"], ["w"], name="after")
    grown = model(
        [trips, loop, divide],
        [tensor("s", "float", [1]), tensor("x", "float", [4])],
        [tensor("w", "float", ["k"])],
    )
    session = sonnx_ort.InferenceSession(grown)
    (result,) = session.run(None, {"s": SHORT, "x": HALVES})
    np.testing.assert_array_equal(result, [2, 2, 2, 2])
