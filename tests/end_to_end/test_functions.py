"""A Div in a model-local function is enforced, and its violation names node and calls."""

import numpy as np
import onnx
import pytest

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import parse

pytestmark = on_each_backend

FEEDS = {"x": np.array([1, 2], np.float32), "y": np.array([2, 4], np.float32)}
SHORT = FEEDS | {"y": np.ones(1, np.float32)}


def function(name: str, nodes: str, outputs: str = "c", opset: int = 17) -> str:
    header = f'<domain: "local", opset_import: ["": {opset}, "local": 1]>'
    return f"{header} {name} (a, b) => ({outputs}) {{ {nodes} }}"


QUOTIENT = function("quotient", "[div] c = Div(a, b)")


def calling(
    nodes: str,
    functions: str = QUOTIENT,
    inputs: str = "float[n] x, float[n] y",
    outputs: str = "float[m] z",
) -> onnx.ModelProto:
    text = f"({inputs}) => ({outputs}) {{ {nodes} }} {functions}"
    return parse(text, domains={"local": 1})


def test_function_is_enforced() -> None:
    made = calling("[call] z = local.quotient(x, y)")
    (result,) = sonnx_ort.InferenceSession(made).run(None, FEEDS)
    np.testing.assert_array_equal(result, [0.5, 0.5])


@pytest.mark.parametrize(("failing", "path"), [("y1", "first/div"), ("y2", "second/div")])
def test_violation_names_the_call_that_failed(failing: str, path: str) -> None:
    made = calling(
        "[first] z1 = local.quotient(x, y1) [second] z2 = local.quotient(x, y2)",
        inputs="float[n] x, float[n] y1, float[n] y2",
        outputs="float[m] z1, float[m] z2",
    )
    feeds = {"x": FEEDS["x"], "y1": FEEDS["y"], "y2": FEEDS["y"]} | {failing: SHORT["y"]}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, feeds)
    assert caught.value.node == path


def test_violation_in_a_nested_call_names_all_calls() -> None:
    outer = function("outer", "[inner_call] c = local.quotient(a, b)")
    made = calling("[outer_call] z = local.outer(x, y)", f"{outer} {QUOTIENT}")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, SHORT)
    assert caught.value.node == "outer_call/inner_call/div"


def test_unnamed_call_is_named_by_its_function() -> None:
    made = calling("z = local.quotient(x, y)")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, SHORT)
    assert caught.value.node == "quotient/div"


def test_function_in_a_branch_is_enforced() -> None:
    made = calling(
        """z = If (p) <
            then_branch = taken () => (float[k] q) { [call] q = local.quotient(x, y) },
            else_branch = other () => (float[k] q) { [call_2] q = local.quotient(y, x) }
        >""",
        inputs="bool p, float[n] x, float[n] y",
    )
    session = sonnx_ort.InferenceSession(made)
    (result,) = session.run(None, FEEDS | {"p": np.array(False)})
    np.testing.assert_array_equal(result, [2, 2])
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, SHORT | {"p": np.array(True)})
    assert caught.value.node == "call/div"


def test_branch_in_a_function_is_enforced() -> None:
    chosen = """p = Constant <value = bool {1}> ()
        c = If (p) <
            then_branch = taken () => (float[k] q) { [div] q = Div(a, b) },
            else_branch = other () => (float[k] e) { e = Identity(a) }
        >"""
    made = calling("[call] z = local.chosen(x, y)", function("chosen", chosen))
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, SHORT)
    assert caught.value.node == "call/div"


def test_function_that_passes_an_input_on_keeps_the_names_of_outputs() -> None:
    made = calling(
        "[call] z, same = local.passing(x, y)",
        function("passing", "[div] c = Div(a, b)", outputs="c, a"),
        outputs="float[m] z, float[m] same",
    )
    rewritten = sonnx_ort.rewrite(made)
    assert [output.name for output in rewritten.graph.output] == ["z", "same"]
    results = sonnx_ort.InferenceSession(made).run(["same"], FEEDS)
    np.testing.assert_array_equal(results[0], FEEDS["x"])


def test_function_without_enforced_operators_stays() -> None:
    product = function("product", "c = Mul(a, b)")
    made = calling("m = local.product(x, y) z = Div(m, y)", product)
    assert [f.name for f in sonnx_ort.rewrite(made).functions] == ["product"]


@pytest.mark.parametrize(("opset", "local"), [(15, 1), (17, 24)])
def test_function_that_stays_may_import_versions_of_its_own(opset: int, local: int) -> None:
    own = function("negated_sum", "d = Neg(a) c = Add(d, b)", opset=opset)
    made = calling("s = local.negated_sum(x, x) z = Div(s, y)", own)
    next(entry for entry in made.opset_import if entry.domain == "local").version = local
    (result,) = sonnx_ort.InferenceSession(made).run(None, FEEDS)
    np.testing.assert_array_equal(result, [0, 0])


def test_function_of_another_opset_version_is_enforced_where_the_versions_mean_the_same() -> None:
    older = function("quotient", "[div] c = Div(a, b)", opset=15)
    made = calling("[call] z = local.quotient(x, y)", older)
    with pytest.raises(sonnx_ort.ContractViolation):
        sonnx_ort.InferenceSession(made).run(None, SHORT)


def test_function_of_an_opset_version_that_means_something_else_is_refused() -> None:
    older = function("quotient", "[div] c = Div(a, b)", opset=13)
    made = calling("[call] z = local.quotient(x, y)", older)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model is not valid ONNX: Opset import for domain in function op Divis not compatible "
        "with the version imported by model. FunctionOp imports version 13 whereas model imports "
        "version 17"
    )


def test_recursive_functions_are_refused() -> None:
    ping = function("ping", "c = local.pong(a, b)")
    pong = function("pong", "d = local.ping(a, b) [div] c = Div(d, b)")
    made = calling("z = local.ping(x, y)", f"{ping} {pong}")
    with pytest.raises(sonnx_ort.InvalidModel):
        sonnx_ort.rewrite(made)


def test_names_inside_a_function_do_not_collide_with_names_of_the_graph() -> None:
    made = calling(
        """[call] w = local.twice(x, y)
        z = If (p) <
            then_branch = then () => (float[k] t) { t = Add(w, x) },
            else_branch = else () => (float[k] t) { t = Mul(w, x) }
        >""",
        function("twice", "[div] t = Div(a, b) c = Add(t, t)"),
        inputs="bool p, float[n] x, float[n] y",
    )
    (result,) = sonnx_ort.InferenceSession(made).run(None, FEEDS | {"p": np.array(True)})
    np.testing.assert_array_equal(result, [2, 3])


def test_nodes_without_names_get_one_each() -> None:
    nodes = "p = Div(a, b) q = Div(p, b) c = Add(q, q)"
    made = calling("w = local.f(x, y) z = local.f(w, y)", function("f", nodes))
    (result,) = sonnx_ort.InferenceSession(made).run(None, FEEDS)
    np.testing.assert_array_equal(result, [0.25, 0.03125])
    named = {
        each.node
        for each in sonnx_ort.check(made, operators="default").obligations
        if each.operator == "Div"
    }
    assert named == {"f/Div", "f/Div (2)", "f/Div (3)", "f/Div (4)"}
