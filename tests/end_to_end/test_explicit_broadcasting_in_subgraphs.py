"""Broadcasts in the subgraphs of If, Loop and Scan, and in model-local functions."""

import numpy as np
import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend
from support.broadcasting import results, violation
from support.graphs import parse

pytestmark = on_each_backend

EXPLICIT = {"broadcast": "explicit"}
X = np.float32([[2, 4, 6], [8, 10, 12]])
ROW = np.float32([1, 2, 3])
FEEDS = {"x": X, "y": ROW}
MISFIT = {"x": X, "y": np.float32([1, 2])}
QUOTIENT = [[2, 2, 2], [8, 5, 4]]


def division(own, a, b, output):
    """A Div, or the same by a Broadcast of the model's own, whose outputs a Div reads."""
    if not own:
        return f"[inner] {output} = Div({a}, {b})"
    spread = f"{output}_a, {output}_b"
    return f"[inner] {spread} = sonnx.Broadcast({a}, {b}) [divide] {output} = Div({spread})"


def built(nodes, functions="", constants=""):
    return parse(
        f"(float[n,m] x, float[k] y) => (float[?,?] z) <{constants}> {{ {nodes} }} {functions}",
        domains={"sonnx": 1, "local": 1},
    )


def in_if(own):
    nodes = f"""z = If (p) <
        then_branch = taken () => (float[] q) {{ {division(own, "x", "y", "q")} }},
        else_branch = other () => (float[] e) {{ e = Identity(x) }}
    >"""
    return built(nodes, constants="bool p = {1}")


def in_loop(own, trips=1, nodes="", grown="next"):
    nodes = nodes or division(own, "state", "y", "next")
    return built(
        f"""z = Loop (trips, , x) <
            body = body (int64 i, bool go_on, float[] state) => (bool still, float[] {grown}) {{
                still = Identity(go_on)
                {nodes}
            }}
        >""",
        constants=f"int64 trips = {{{trips}}}",
    )


def in_scan(own):
    return built(f"""last, z = Scan (y, x) <
        body = body (float[] state, float[] row) => (float[] kept, float[] scanned) {{
            kept = Identity(state)
            {division(own, "row", "state", "scanned")}
        }},
        num_scan_inputs = 1
    >""")


def in_function(own, nodes="[call] z = local.Ratio(x, y)", constants=""):
    function = f"""<domain: "local", opset_import: ["": 17, "sonnx": 1]>
        Ratio (a, b) => (c) {{ {division(own, "a", "b", "c")} }}"""
    return built(nodes, function, constants)


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
    nodes = """[inner] quotient = Div(state, y)
        grown = Concat <axis = 0> (quotient, quotient)"""
    made = in_loop(own=False, trips=2, nodes=nodes, grown="grown")
    halves = {"x": np.float32([[8]]), "y": np.float32([2, 4])}
    (result,) = results(made, halves, **EXPLICIT)
    assert result.tolist() == [[2, 0.5]] * 4


def test_each_call_of_a_function_is_broadcast_by_its_own_operands():
    nodes = "[call] first = local.Ratio(x, y) [again] z = local.Ratio(first, two)"
    made = in_function(own=False, nodes=nodes, constants="float two = {2}")
    (result,) = results(made, FEEDS, **EXPLICIT)
    assert result.tolist() == (np.float32(QUOTIENT) / 2).tolist()


def test_nested_bodies_and_constants_of_an_outer_graph():
    nodes = """z = If (p) <
        then_branch = taken () => (float[] r) {
            r = If (p) <
                then_branch = inner_taken () => (float[] q) { [inner] q = Div(x, two) },
                else_branch = inner_other () => (float[] e) { e = Identity(x) }
            >
        },
        else_branch = outer () => (float[] f) { f = Identity(x) }
    >"""
    made = built(nodes, constants="bool p = {1}, float two = {2}")
    (result,) = results(made, FEEDS, **EXPLICIT)
    assert result.tolist() == (X / 2).tolist()
