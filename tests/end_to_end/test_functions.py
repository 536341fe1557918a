"""A Div in a model-local function is enforced, and its violation names node and calls."""

import numpy as np
import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import model, tensor

pytestmark = on_each_backend

IMPORTS = [helper.make_opsetid("", 17)]
LOCAL = {"local": 1}
X = tensor("x", "float", ["n"])
Y = tensor("y", "float", ["n"])
Z = tensor("z", "float", ["m"])
FEEDS = {"x": np.array([1, 2], np.float32), "y": np.array([2, 4], np.float32)}
SHORT = FEEDS | {"y": np.ones(1, np.float32)}


def function(
    name: str,
    nodes: list[onnx.NodeProto],
    domain: str = "local",
    opset: int = 17,
    outputs: tuple[str, ...] = ("c",),
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_function(domain, name, ["a", "b"], list(outputs), nodes, imports)


def quotient(name: str = "quotient", **kwargs: int) -> onnx.FunctionProto:
    return function(name, [helper.make_node("Div", ["a", "b"], ["c"], name="div")], **kwargs)


def call(name: str, inputs: list[str], outputs: list[str], label: str = "") -> onnx.NodeProto:
    return helper.make_node(name, inputs, outputs, name=label, domain="local")


def test_function_is_enforced() -> None:
    made = model(
        [call("quotient", ["x", "y"], ["z"], "call")],
        [X, Y],
        [Z],
        functions=[quotient()],
        domains=LOCAL,
    )
    (result,) = sonnx_ort.InferenceSession(made).run(None, FEEDS)
    np.testing.assert_array_equal(result, [0.5, 0.5])


@pytest.mark.parametrize(("failing", "path"), [("y1", "first/div"), ("y2", "second/div")])
def test_violation_names_the_call_that_failed(failing: str, path: str) -> None:
    made = model(
        [
            call("quotient", ["x", "y1"], ["z1"], "first"),
            call("quotient", ["x", "y2"], ["z2"], "second"),
        ],
        [X, tensor("y1", "float", ["n"]), tensor("y2", "float", ["n"])],
        [tensor("z1", "float", ["m"]), tensor("z2", "float", ["m"])],
        functions=[quotient()],
        domains=LOCAL,
    )
    feeds = {"x": FEEDS["x"], "y1": FEEDS["y"], "y2": FEEDS["y"]} | {failing: SHORT["y"]}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, feeds)
    assert caught.value.node == path


def test_violation_in_a_nested_call_names_all_calls() -> None:
    outer = function("outer", [call("quotient", ["a", "b"], ["c"], "inner_call")])
    made = model(
        [call("outer", ["x", "y"], ["z"], "outer_call")],
        [X, Y],
        [Z],
        functions=[outer, quotient()],
        domains=LOCAL,
    )
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, SHORT)
    assert caught.value.node == "outer_call/inner_call/div"


def test_unnamed_call_is_named_by_its_function() -> None:
    made = model(
        [call("quotient", ["x", "y"], ["z"])], [X, Y], [Z], functions=[quotient()], domains=LOCAL
    )
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, SHORT)
    assert caught.value.node == "quotient/div"


def test_function_in_a_branch_is_enforced() -> None:
    taken = helper.make_graph(
        [call("quotient", ["x", "y"], ["q"], "call")], "taken", [], [tensor("q", "float", ["k"])]
    )
    other = helper.make_graph(
        [call("quotient", ["y", "x"], ["q"], "call_2")], "other", [], [tensor("q", "float", ["k"])]
    )
    choose = helper.make_node("If", ["p"], ["z"], then_branch=taken, else_branch=other)
    made = model(
        [choose],
        [tensor("p", "bool", []), X, Y],
        [Z],
        functions=[quotient()],
        domains=LOCAL,
    )
    session = sonnx_ort.InferenceSession(made)
    (result,) = session.run(None, FEEDS | {"p": np.array(False)})
    np.testing.assert_array_equal(result, [2, 2])
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, SHORT | {"p": np.array(True)})
    assert caught.value.node == "call/div"


def test_branch_in_a_function_is_enforced() -> None:
    taken = helper.make_graph(
        [helper.make_node("Div", ["a", "b"], ["q"], name="div")],
        "taken",
        [],
        [tensor("q", "float", ["k"])],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["a"], ["e"])], "other", [], [tensor("e", "float", ["k"])]
    )
    true = helper.make_node("Constant", [], ["p"], value=onnx.numpy_helper.from_array(np.True_))
    choose = helper.make_node("If", ["p"], ["c"], then_branch=taken, else_branch=other)
    made = model(
        [call("chosen", ["x", "y"], ["z"], "call")],
        [X, Y],
        [Z],
        functions=[function("chosen", [true, choose])],
        domains=LOCAL,
    )
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, SHORT)
    assert caught.value.node == "call/div"


def test_function_that_passes_an_input_on_keeps_the_names_of_outputs() -> None:
    passing = function(
        "passing",
        [helper.make_node("Div", ["a", "b"], ["c"], name="div")],
        outputs=("c", "a"),
    )
    made = model(
        [call("passing", ["x", "y"], ["z", "same"], "call")],
        [X, Y],
        [Z, tensor("same", "float", ["m"])],
        functions=[passing],
        domains=LOCAL,
    )
    rewritten = sonnx_ort.rewrite(made)
    assert [output.name for output in rewritten.graph.output] == ["z", "same"]
    results = sonnx_ort.InferenceSession(made).run(["same"], FEEDS)
    np.testing.assert_array_equal(results[0], FEEDS["x"])


def test_function_without_enforced_operators_stays() -> None:
    other = function("product", [helper.make_node("Mul", ["a", "b"], ["c"])])
    made = model(
        [call("product", ["x", "y"], ["m"]), helper.make_node("Div", ["m", "y"], ["z"])],
        [X, Y],
        [Z],
        functions=[other],
        domains=LOCAL,
    )
    assert [f.name for f in sonnx_ort.rewrite(made).functions] == ["product"]


def test_function_of_another_opset_version_is_enforced_where_the_versions_mean_the_same() -> None:
    made = model(
        [call("quotient", ["x", "y"], ["z"], "call")],
        [X, Y],
        [Z],
        functions=[quotient(opset=15)],
        domains=LOCAL,
    )
    with pytest.raises(sonnx_ort.ContractViolation):
        sonnx_ort.InferenceSession(made).run(None, SHORT)


def test_function_of_an_opset_version_that_means_something_else_is_refused() -> None:
    made = model(
        [call("quotient", ["x", "y"], ["z"], "call")],
        [X, Y],
        [Z],
        functions=[quotient(opset=13)],
        domains=LOCAL,
    )
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model is not valid ONNX: Opset import for domain in function op Divis not compatible "
        "with the version imported by model. FunctionOp imports version 13 whereas model imports "
        "version 17"
    )


def test_recursive_functions_are_refused() -> None:
    ping = function("ping", [call("pong", ["a", "b"], ["c"])])
    pong = function(
        "pong",
        [call("ping", ["a", "b"], ["d"]), helper.make_node("Div", ["d", "b"], ["c"], name="div")],
    )
    made = model(
        [call("ping", ["x", "y"], ["z"])], [X, Y], [Z], functions=[ping, pong], domains=LOCAL
    )
    with pytest.raises(sonnx_ort.InvalidModel):
        sonnx_ort.rewrite(made)


def test_names_inside_a_function_do_not_collide_with_names_of_the_graph() -> None:
    twice = function(
        "twice",
        [
            helper.make_node("Div", ["a", "b"], ["t"], name="div"),
            helper.make_node("Add", ["t", "t"], ["c"]),
        ],
    )
    then = helper.make_graph(
        [helper.make_node("Add", ["w", "x"], ["t"])], "then", [], [tensor("t", "float", ["k"])]
    )
    other = helper.make_graph(
        [helper.make_node("Mul", ["w", "x"], ["t"])], "else", [], [tensor("t", "float", ["k"])]
    )
    made = model(
        [
            call("twice", ["x", "y"], ["w"], "call"),
            helper.make_node("If", ["p"], ["z"], then_branch=then, else_branch=other),
        ],
        [tensor("p", "bool", []), X, Y],
        [Z],
        functions=[twice],
        domains=LOCAL,
    )
    (result,) = sonnx_ort.InferenceSession(made).run(None, FEEDS | {"p": np.array(True)})
    np.testing.assert_array_equal(result, [2, 3])
