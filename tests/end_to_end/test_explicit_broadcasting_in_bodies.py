"""Broadcasts in the bodies of If, Loop and Scan, and in model-local functions."""

import numpy as np
import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend
from support.broadcasting import results, violation
from support.graphs import model, tensor

pytestmark = on_each_backend

EXPLICIT = {"broadcast": "explicit"}
X = np.float32([[2, 4, 6], [8, 10, 12]])
ROW = np.float32([1, 2, 3])
FEEDS = {"x": X, "y": ROW}
MISFIT = {"x": X, "y": np.float32([1, 2])}
QUOTIENT = [[2, 2, 2], [8, 5, 4]]


def division(a, b, output, name="inner"):
    return helper.make_node("Div", [a, b], [output], name=name)


def spread_division(a, b, output):
    """The same by a Broadcast of the model's own, whose outputs a Div reads."""
    names = [f"{output}_{side}" for side in "ab"]
    return [
        helper.make_node("Broadcast", [a, b], names, domain="sonnx", name="inner"),
        helper.make_node("Div", names, [output], name="divide"),
    ]


def nodes(own, a, b, output):
    return spread_division(a, b, output) if own else [division(a, b, output)]


def built(body, initializers=()):
    return model(
        body,
        [tensor("x", "float", ["n", "m"]), tensor("y", "float", ["k"])],
        [tensor("z", "float", [None, None])],
        initializers=initializers,
        domains={"sonnx": 1},
    )


def in_if(own):
    taken = helper.make_graph(nodes(own, "x", "y", "q"), "taken", [], [tensor("q", "float", None)])
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["e"])], "other", [], [tensor("e", "float", None)]
    )
    choose = helper.make_node("If", ["p"], ["z"], then_branch=taken, else_branch=other)
    return built([choose], [helper.make_tensor("p", onnx.TensorProto.BOOL, [], [True])])


def in_loop(own):
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_on"], ["still"]), *nodes(own, "state", "y", "next")],
        "body",
        [tensor("i", "int64", []), tensor("go_on", "bool", []), tensor("state", "float", None)],
        [tensor("still", "bool", []), tensor("next", "float", None)],
    )
    loop = helper.make_node("Loop", ["trips", "", "x"], ["z"], body=body)
    return built([loop], [helper.make_tensor("trips", onnx.TensorProto.INT64, [], [1])])


def in_scan(own):
    body = helper.make_graph(
        [helper.make_node("Identity", ["state"], ["kept"]), *nodes(own, "row", "state", "scanned")],
        "body",
        [tensor("state", "float", None), tensor("row", "float", None)],
        [tensor("kept", "float", None), tensor("scanned", "float", None)],
    )
    return built(
        [helper.make_node("Scan", ["y", "x"], ["last", "z"], body=body, num_scan_inputs=1)]
    )


def in_function(own):
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("sonnx", 1)]
    ratio = helper.make_function(
        "local", "Ratio", ["a", "b"], ["c"], nodes(own, "a", "b", "c"), imports
    )
    made = built([helper.make_node("Ratio", ["x", "y"], ["z"], name="call", domain="local")])
    made.functions.append(ratio)
    made.opset_import.append(helper.make_opsetid("local", 1))
    return made


PLACES = [
    pytest.param(in_if, "inner", id="if"),
    pytest.param(in_loop, "inner", id="loop"),
    pytest.param(in_scan, "inner", id="scan"),
    pytest.param(in_function, "call/inner", id="function"),
]
OWN = pytest.mark.parametrize("own", [False, True], ids=["inserted", "own"])


@OWN
@pytest.mark.parametrize(("place", "name"), PLACES)
def test_result_in_a_body(own, place, name):
    del name
    (result,) = results(place(own), FEEDS, **EXPLICIT)
    assert result.tolist() == QUOTIENT


@OWN
@pytest.mark.parametrize(("place", "name"), PLACES)
def test_violation_in_a_body_names_node_tensors_axis_and_sizes(own, place, name):
    error = violation(place(own), MISFIT, **EXPLICIT)
    assert (error.rule, error.operator, error.node) == ("Broadcast.E1", "Broadcast", name)
    assert "has size 3 in X0 and 2 in X1; shapes X0 '" in str(error)


@OWN
@pytest.mark.parametrize(("place", "name"), PLACES)
def test_rewriting_a_body_twice_changes_nothing(own, place, name):
    del name
    once = sonnx_ort.rewrite(place(own), **EXPLICIT)
    assert sonnx_ort.rewrite(once, **EXPLICIT) == once


@OWN
@pytest.mark.parametrize(("place", "name"), PLACES)
def test_result_passes_the_checker(own, place, name):
    del name
    onnx.checker.check_model(sonnx_ort.rewrite(place(own), **EXPLICIT))


@OWN
def test_branch_that_is_not_taken_breaks_no_rule(own):
    made = in_if(own)
    made.graph.initializer[0].CopyFrom(helper.make_tensor("p", onnx.TensorProto.BOOL, [], [False]))
    (result,) = results(made, MISFIT, **EXPLICIT)
    assert result.tolist() == X.tolist()


def test_operand_that_grows_in_a_loop_is_broadcast_in_each_iteration():
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["still"]),
            helper.make_node("Div", ["state", "y"], ["quotient"], name="inner"),
            helper.make_node("Concat", ["quotient", "quotient"], ["grown"], axis=0),
        ],
        "body",
        [tensor("i", "int64", []), tensor("go_on", "bool", []), tensor("state", "float", None)],
        [tensor("still", "bool", []), tensor("grown", "float", None)],
    )
    loop = helper.make_node("Loop", ["trips", "", "x"], ["z"], body=body)
    made = built([loop], [helper.make_tensor("trips", onnx.TensorProto.INT64, [], [2])])
    halves = {"x": np.float32([[8]]), "y": np.float32([2, 4])}
    (result,) = results(made, halves, **EXPLICIT)
    assert result.tolist() == [[2, 0.5]] * 4


def test_each_call_of_a_function_is_broadcast_by_its_own_operands():
    made = in_function(own=False)
    made.graph.node[0].output[0] = "first"
    made.graph.node.append(
        helper.make_node("Ratio", ["first", "two"], ["z"], name="again", domain="local")
    )
    made.graph.initializer.append(helper.make_tensor("two", onnx.TensorProto.FLOAT, [], [2.0]))
    (result,) = results(made, FEEDS, **EXPLICIT)
    assert result.tolist() == (np.float32(QUOTIENT) / 2).tolist()


def test_nested_bodies_and_constants_of_an_outer_graph():
    inner = helper.make_graph(
        [division("x", "two", "q")], "inner_taken", [], [tensor("q", "float", None)]
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["e"])],
        "inner_other",
        [],
        [tensor("e", "float", None)],
    )
    choose = helper.make_node("If", ["p"], ["r"], then_branch=inner, else_branch=other)
    taken = helper.make_graph([choose], "taken", [], [tensor("r", "float", None)])
    outer = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["f"])], "outer", [], [tensor("f", "float", None)]
    )
    made = built(
        [helper.make_node("If", ["p"], ["z"], then_branch=taken, else_branch=outer)],
        [
            helper.make_tensor("p", onnx.TensorProto.BOOL, [], [True]),
            helper.make_tensor("two", onnx.TensorProto.FLOAT, [], [2.0]),
        ],
    )
    (result,) = results(made, FEEDS, **EXPLICIT)
    assert result.tolist() == (X / 2).tolist()
