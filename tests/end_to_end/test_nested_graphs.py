"""A Div is enforced in branches, bodies and functions, and its violation names it."""

import itertools

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import on_each_backend, on_python
from support.broadcasting import outcome, run
from support.graphs import parse
from support.sessions import quiet

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


FEEDS = {"x": np.array([1, 2], np.float32), "y": np.array([2, 4], np.float32)}
SHORT_FEEDS = FEEDS | {"y": np.ones(1, np.float32)}


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
    feeds = {"x": FEEDS["x"], "y1": FEEDS["y"], "y2": FEEDS["y"]} | {failing: SHORT_FEEDS["y"]}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, feeds)
    assert caught.value.node == path


OUTER = function("outer", "[inner_call] c = local.quotient(a, b)")
CHOSEN = function(
    "chosen",
    """p = Constant <value = bool {1}> ()
    c = If (p) <
        then_branch = taken () => (float[k] q) { [div] q = Div(a, b) },
        else_branch = other () => (float[k] e) { e = Identity(a) }
    >""",
)


@pytest.mark.parametrize(
    ("made", "path"),
    [
        pytest.param(
            calling("[outer_call] z = local.outer(x, y)", f"{OUTER} {QUOTIENT}"),
            "outer_call/inner_call/div",
            id="all calls",
        ),
        pytest.param(calling("z = local.quotient(x, y)"), "quotient/div", id="without a name"),
        pytest.param(
            calling("[call] z = local.chosen(x, y)", CHOSEN), "call/div", id="branch in a function"
        ),
    ],
)
def test_violation_in_a_function_names_the_calls(made: onnx.ModelProto, path: str) -> None:
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, SHORT_FEEDS)
    assert caught.value.node == path


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
        session.run(None, SHORT_FEEDS | {"p": np.array(True)})
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
        sonnx_ort.InferenceSession(made).run(None, SHORT_FEEDS)


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


FORMS = [
    ("[]", "[]"),
    ("[n, k]", "[m, l]"),
    ("[2, 3]", "[]"),
    ("[]", "[2, 3]"),
    ("[2, n]", "[m, 3]"),
]
SHAPES = [(2, 3), (2, 1), (3,), ()]


def made(element_type, declared, outputs, nodes):
    a, b = declared
    return parse(f"({element_type}{a} a, {element_type}{b} b) => ({outputs}) {{ {nodes} }}")


def feeds(dtype, *shapes):
    return {
        name: np.full(shape, 7 - 3 * index, dtype)
        for index, (name, shape) in enumerate(zip("ab", shapes, strict=True))
    }


@pytest.mark.parametrize("declared", FORMS, ids=str)
@pytest.mark.parametrize(
    ("outputs", "nodes"),
    [
        ("float[] z", "[d] x = Div(a, b) [s] z = Sub(x, b)"),
        ("float[] z", "[d] x = Div(a, b) y = Relu(x) [s] w = Sub(y, a) [e] z = Div(w, b)"),
        ("int64[] s", "[d] x = Div(a, b) [s] z = Sub(x, b) s = Shape(z)"),
        ("int64[] s", "[d] x = Div(a, b) [s] w = Sub(x, a) [e] z = Sub(b, w) s = Shape(z)"),
        ("int64 s", "[d] x = Div(a, b) y = Relu(x) [s] z = Sub(y, b) s = Size(z)"),
    ],
)
def test_first_node_refuses_what_does_not_agree(outputs, nodes, declared):
    model = made("float", declared, outputs, nodes)
    session = sonnx_ort.InferenceSession(model, quiet())
    fitting = [[shape for shape in SHAPES if fits(shape, form)] for form in declared]
    for shapes in itertools.product(*fitting):
        found = run(session, feeds(np.float32, *shapes))
        if len(set(shapes)) == 1:
            assert isinstance(found, list), (shapes, found)
        else:
            assert isinstance(found, sonnx_ort.ContractViolation), shapes
            assert (found.node, found.rule) == ("d", "Div.float.R1")


def fits(shape, form):
    """Whether a tensor of a shape may be fed to an input that is declared in a form."""
    sizes = form.strip("[]").split(", ") if form != "[]" else []
    numbers = [(size, own) for size, own in zip(sizes, shape, strict=False) if size.isdigit()]
    same_rank = not sizes or len(sizes) == len(shape)
    return same_rank and all(int(size) == own for size, own in numbers)


@pytest.mark.parametrize("element_type", ["int32", "int64"])
def test_divisor_that_is_looked_at_once_is_refused_once(element_type):
    nodes = "[d] x = Div(a, b) [e] y = Div(x, b) [s] z = Sub(y, b)"
    model = made(element_type, ("[n]", "[m]"), f"{element_type}[] z", nodes)
    arrays = {"a": np.array([90, 80], element_type), "b": np.array([3, 2], element_type)}
    (result,) = outcome(model, arrays)
    assert result.tolist() == [7, 18]
    arrays["b"][1] = 0
    found = outcome(model, arrays)
    assert isinstance(found, sonnx_ort.ContractViolation)
    assert (found.node, found.rule, found.index) == ("d", "Div.int.C1", (1,))
