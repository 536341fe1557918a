"""`broadcast="explicit"` on Div and Sub, in main graphs, subgraphs and functions."""

import numpy as np
import onnx
import pytest
from onnx import helper
from restrictions import broadcast, outcome

import sonnx_ort
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Status
from support.backends import on_each_backend
from support.broadcasting import numbered, results, violation
from support.graphs import binary_model, parse
from support.sessions import LEVELS, quiet
from support.values import assert_same_bits

pytestmark = on_each_backend

EXPLICIT = {"broadcast": "explicit"}
PAIRS = [
    ((2, 3), ()),
    ((), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 3), (2, 1)),
    ((2, 1), (1, 3)),
    ((2, 1, 3), (4, 1)),
    ((), ()),
    ((1,), ()),
    ((0, 3), (0, 1)),
    ((2,) * 8, (2, 1)),
]
KNOWN = ["static", "open sizes", "open ranks"]


def declared(known, shape):
    return {"static": shape, "open sizes": [None] * len(shape), "open ranks": None}[known]


def expected(operator, a, b, element_type, edition=Edition.TYPED):
    spread = broadcast(a, b)
    assert isinstance(spread, tuple)
    return outcome(operator, spread, element_type, edition)


@pytest.mark.satisfies(
    "Broadcast.purpose Sub.preliminary.R1.result Sub.preliminary.R1.operands Div.onnx.broadcasting"
)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize("known", KNOWN)
def test_results_are_those_of_the_broadcast_operands(operator, shapes, known):
    a, b = numbered(shapes[0], np.float32, 3), numbered(shapes[1], np.float32, 2)
    made = binary_model(operator, "float", *(declared(known, shape) for shape in shapes))
    (result,) = results(made, {"A": a, "B": b}, **EXPLICIT)
    assert_same_bits(result, expected(operator, a, b, ElementType.FLOAT))
    by_numpy = a / b if operator == "Div" else a - b
    np.testing.assert_array_equal(result, by_numpy, strict=True)


@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
@pytest.mark.parametrize("known", KNOWN)
def test_every_type_and_edition(edition, operator, element_type, known):
    a, b = numbered((2, 1, 3), element_type.dtype, 3), numbered((2, 1), element_type.dtype, 2)
    made = binary_model(operator, element_type, *(declared(known, x.shape) for x in (a, b)))
    (result,) = results(made, {"A": a, "B": b}, edition=edition, **EXPLICIT)
    assert_same_bits(result, expected(operator, a, b, element_type, edition))


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_every_optimization_level(level):
    options = quiet()
    options.graph_optimization_level = level
    made = parse("""(float[n,3] x, float[3] mean, float std) => (float[n,3] z)
    <float one = {1}> {
        [centre] centred = Sub(x, mean)
        [scale] scaled = Div(centred, std)
        [invert] inverse = Div(one, scaled)
        [multiply] z = Mul(inverse, x)
    }""")
    x, mean, std = numbered((4, 3), np.float32), np.float32([8, 9, 20]), np.array(3, np.float32)
    (result,) = results(made, {"x": x, "mean": mean, "std": std}, options, **EXPLICIT)
    np.testing.assert_array_equal(result, np.float32(1) / ((x - mean) / std) * x, strict=True)


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_violation_at_every_optimization_level(level):
    options = quiet()
    options.graph_optimization_level = level
    made = binary_model("Div", "float", ["n", 3], ["m", 1])
    a, b = np.ones((2, 3), np.float32), np.ones((4, 1), np.float32)
    error = violation(made, {"A": a, "B": b}, options, **EXPLICIT)
    assert str(error) == (
        "Broadcast 'the_node' breaks Broadcast.E1: axis 0 has size 2 in X0 and 4 in X1; shapes "
        "X0 'A' (2, 3), X1 'B' (4, 1). The rule: A dimension is the largest of its axis, or 1."
    )


def test_all_violations_are_rejected_at_once():
    made = parse("""(float[3] a, float[2] b, int32 i) => (float[?] s, float[?] c, int32[?] d)
    <int32[2] zeros = {1, 0}> {
        [misfit] s = Sub(a, b)
        [mixed] c = Div(a, i)
        [zero] d = Div(i, zeros)
    }""")
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made, **EXPLICIT)
    found = [(o.rule.id, o.node) for o in caught.value.report.violations]
    assert found == [("Broadcast.E1", "misfit"), ("Div.float.R2", "mixed"), ("Div.int.C1", "zero")]


@pytest.mark.parametrize(("edition", "rule"), [("typed", "Div.int.C1"), ("preliminary", "Div.R5")])
def test_zero_divisor_is_told_by_the_element_that_it_was_repeated_to(edition, rule):
    made = binary_model("Div", "int32", ["n", "m"], ["k"])
    feeds = {"A": np.int32([[1, 2, 3], [4, 5, 6]]), "B": np.int32([1, 2, 0])}
    error = violation(made, feeds, edition=edition, **EXPLICIT)
    assert (error.rule, error.operator, error.shapes) == (rule, "Div", ((2, 3), (2, 3)))
    assert (error.index, error.values) == ((0, 2), (3, 0))


def test_quotient_that_is_not_representable_is_told_by_the_element_it_was_repeated_to():
    made = binary_model("Div", "int8", [2, 1], [3])
    feeds = {"A": np.int8([[1], [-128]]), "B": np.int8([1, -1, 2])}
    error = violation(made, feeds, **EXPLICIT)
    assert (error.rule, error.index, error.values) == ("Div.int.C2", (1, 1), (-128, -1))


@pytest.mark.parametrize(("edition", "quotient"), [("typed", -np.inf), ("preliminary", np.inf)])
def test_zero_divisor_of_floats_is_the_editions(edition, quotient):
    made = binary_model("Div", "float", [2], [])
    feeds = {"A": np.float32([-1, -2]), "B": np.array(0, np.float32)}
    (result,) = results(made, feeds, edition=edition, **EXPLICIT)
    assert result.tolist() == [quotient, quotient]


@pytest.mark.parametrize("shapes", [((3,), (1,)), ((1,), (3,))], ids=str)
def test_inputs_that_share_a_symbol_and_differ_are_not_broadcast(shapes):
    made = binary_model("Div", "float", ["n"], ["n"])
    feeds = {name: np.ones(shape, np.float32) for name, shape in zip("AB", shapes, strict=True)}
    assert violation(made, feeds, **EXPLICIT).rule == "Div.float.R1"


def test_rule_is_not_proved_that_inputs_which_share_a_symbol_can_break():
    made = binary_model("Div", "float", ["n", 3], ["n", 1])
    feeds = {"A": np.ones((1, 3), np.float32), "B": np.ones((2, 1), np.float32)}
    broken = violation(made, feeds, **EXPLICIT).rule
    report = sonnx_ort.check(made, operators="default", **EXPLICIT)
    (found,) = [o for o in report.obligations if o.rule.id == broken]
    assert found.status is Status.RUNTIME


def test_claimed_shapes_are_not_believed():
    made = parse("""(float[n] x, float[m] y) => (float[3] c) <float[3] a, float[3] b> {
        a = Identity(x)
        b = Identity(y)
        [divide] c = Div(a, b)
    }""")
    feeds = {"x": np.float32([6, 9, 35]), "y": np.float32([3])}
    (result,) = results(made, feeds, **EXPLICIT)
    assert result.tolist() == pytest.approx([2, 3, 35 / 3])


def test_broadcast_of_the_models_own_and_one_in_front_of_a_division():
    text = """(float[n,1] x, float[m] y, float[] w) => (float[?,?] c) {
        [spread] a, b = sonnx.Broadcast(x, y)
        [subtract] s = Sub(a, b)
        [divide] c = Div(s, w)
    }"""
    made = parse(text, domains={"sonnx": 1})
    feeds = {"x": np.float32([[5], [9]]), "y": np.float32([1, 3]), "w": np.array(2, np.float32)}
    (result,) = results(made, feeds, **EXPLICIT)
    assert result.tolist() == [[2, 1], [4, 3]]


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
