"""Nodes that the python backend refuses, carries in float, or computes once in all runs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.enforcing import python_kernels as kernels
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.same_type import SameNumericType
from support.backends import BACKENDS
from support.elementwise import Single
from support.graphs import binary_model, parse


def refusal(model: object, **choices: str) -> str:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(model, backend="python", **choices)
    return str(caught.value)


def test_attribute_that_no_kernel_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    computing = replace(CUSTOM_OPERATORS["BitShift"], arithmetic=CUSTOM_OPERATORS["Sub"].arithmetic)
    monkeypatch.setattr(kernels, "CUSTOM_OPERATORS", {"BitShift": computing})
    model = parse("""(uint8[n] a, uint8[m] b) => (uint8[n] c) {
        [shift] c = BitShift <direction = "LEFT"> (a, b)
    }""")
    assert refusal(model, operators="BitShift") == (
        "BitShift 'shift': the python backend has no kernel for it with the attribute 'direction'"
    )


def test_type_that_no_other_one_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    without = replace(CUSTOM_OPERATORS["Div"], carriers={})
    monkeypatch.setattr(kernels, "CUSTOM_OPERATORS", {"Div": without})
    assert refusal(binary_model("Div", "float16", ["n"], ["m"])) == (
        "Div 'the_node': the python backend has no kernel for it in float16"
    )


def test_operand_that_is_left_out_of_an_unknown_type() -> None:
    model = parse(
        """(float[2] a) => (float[2] c) { most = local.Mystery(a)
            m = local.Mystery(a) [clip] d = Clip(m, "", most) c = local.Mystery(d) }""",
        domains={"local": 1},
    )
    assert refusal(model, operators="Clip") == (
        "Clip 'clip': min is not given, and its element type is that of 'm', which is unknown; "
        "declare it in value_info"
    )


def _kinds(operator: Operator) -> Sequence[ElementType]:
    """The types that its rules about floats admit."""
    rules = operator.contracts[Edition.TYPED].get(Family.FLOAT, ())
    kinds = (r.requirement.kinds for r in rules if isinstance(r.requirement, SameNumericType))
    return next(kinds, ())


OF_FLOATS = [
    operator
    for name, operator in sorted(OPERATORS.items())
    if name in STANDARD_OPERATORS
    and operator.elementwise
    and ElementType.BFLOAT16 in _kinds(operator)
]
FIRST_OF_ALL = 22
"""The first version in which all of them take bfloat16."""
REASONS = {
    "python": "the python backend has no kernel for it in bfloat16, and ONNX Runtime has none "
    "either",
    "native": "ONNX Runtime has no kernel for it in bfloat16; convert its operands with Cast",
}


@pytest.mark.parametrize("backend", REASONS)
@pytest.mark.parametrize(
    "operator", [o for o in OF_FLOATS if not o.rounds_once], ids=lambda o: o.name
)
def test_what_no_float_can_carry_is_refused(operator, backend: str) -> None:
    model = Single(operator, ElementType.BFLOAT16).model(opset=FIRST_OF_ALL)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(model, backend=backend, operators="all,-Graph")
    assert str(caught.value) == f"{operator.name} 'the_node': {REASONS[backend]}"


BEHIND_AN_INSPECTION = {
    "Clip": "(float[n] x) => (float[n] y) { b = Cast<to = 16>(x) l = Cast<to = 16>(low)"
    " h = Cast<to = 16>(high) c = Clip(b, l, h) y = Cast<to = 1>(c) }",
    "ArgMax": "(float[n] x) => (int64[1] y) { b = Cast<to = 16>(x) y = ArgMax<axis = 0>(b) }",
}


@BACKENDS
@pytest.mark.parametrize(("operator", "expected"), [("Clip", [-1.0, 0.5, 2.0]), ("ArgMax", [2])])
def test_operator_behind_an_inspection_computes_bfloat16(
    operator: str, expected: list[float], backend: str
) -> None:
    """ONNX Runtime has no kernel of it in this type: it is computed in float, and rounded."""
    limits = {"low": np.array(-1, np.float32), "high": np.array(2, np.float32)}
    made = parse(BEHIND_AN_INSPECTION[operator], constants=limits if operator == "Clip" else {})
    session = sonnx_ort.InferenceSession(made, operators=operator, backend=backend)
    x = np.array([-4, 0.5, 8], np.float32)
    assert session.run(None, {"x": x})[0].tolist() == expected


CONSTANTS = "<float[3] c = {1, 2, 4}, float two = {2}, int64[2] i = {7, -8}, int64[2] j = {2, 3}>"


def operators(graph: str, **choices: str) -> list[str]:
    made = parse(f"(float[3] x, int64[2] k) => (float[] z, int64[] w) {CONSTANTS} {{ {graph} }}")
    rewritten = sonnx_ort.rewrite(made, **choices)
    assert sonnx_ort.rewrite(rewritten, **choices) == rewritten
    targets = ("Div", "Sub", "CheckedDiv", "CheckedSub")
    nodes = [node for node in rewritten.graph.node if node.op_type in targets]
    return [f"{node.domain or 'standard'} {node.op_type}" for node in nodes]


@pytest.mark.parametrize(("graph", "expected"), [
    pytest.param(
        "z = Div(c, c) w = Div(i, j)", ["standard Div", "standard Div"], id="constants alone"
    ),
    pytest.param("z = Div(x, c) w = Div(i, j)", ["sonnx CheckedDiv", "standard Div"],
        id="an input elsewhere"),
    pytest.param("s = Sub(c, c) z = Div(s, c) w = Div(i, j)",
        ["standard Sub", "standard Div", "standard Div"], id="one behind the other"),
    pytest.param(
        "r = RandomNormal<shape = [3]>() s = Squeeze(r) d = Sub(s, s) z = Div(d, c)"
        " w = Div(i, j)",
        ["sonnx CheckedSub", "sonnx CheckedDiv", "standard Div"],
        id="a shape that only a run tells",
    ),
    pytest.param(
        "p = Softsign(c) h = Cast<to = 7>(p) g = Cast<to = 7>(two) d = Sub(h, h) q = Div(h, h)"
        " e = Sub(q, d) z = Cast<to = 1>(e) w = Identity(k)",
        ["standard Sub", "sonnx CheckedDiv", "sonnx CheckedSub"],
        id="behind a custom operator nothing is left",
    ),
])  # fmt: skip
def test_standard_operator_is_left_where_nothing_differs(graph: str, expected: list[str]) -> None:
    assert operators(graph) == expected


def test_rewriting_again_changes_nothing_where_there_is_no_custom_operator() -> None:
    function = '<opset_import: ["" : 17], domain: "local"> fun (a) => (b) { b = Neg(a) }'
    graph = (
        f"(float[3] x) => (float[] z, float[] w) {CONSTANTS} {{ z = Div(c, two) w = local.fun(x) }}"
    )
    made = parse(f"{graph} {function}", domains={"local": 1})
    once = sonnx_ort.rewrite(made, broadcast="explicit")
    assert sonnx_ort.rewrite(once, broadcast="explicit") == once


def test_node_of_a_subgraph_is_enforced_as_ever() -> None:
    made = parse(
        f"(float[3] x, bool b) => (float[] z) {CONSTANTS} {{ z = If(b) <then_branch = t () =>"
        " (float[] p) { p = Div(c, c) }, else_branch = e () => (float[] q) { q = Relu(x) }> }"
    )
    (branch, *_) = sonnx_ort.rewrite(made).graph.node[0].attribute
    assert [n.domain for n in branch.g.node if n.op_type.endswith("Div")] == ["sonnx"]


def test_constant_is_expanded_for_it() -> None:
    assert operators("z = Div(c, two) w = Identity(k)", broadcast="explicit") == ["standard Div"]


@pytest.mark.parametrize(
    ("constants", "domain"),
    [
        ("float[3] c = {1, 2, 4}, float[3,1] d = {1, 2, 4}", "standard"),
        ("float[3] c = {1, 2, 4}, float[1] d = {2}", "standard"),
        ("float[0,3] c = {}, float[0,1] d = {}", "sonnx"),
    ],
)
def test_what_holds_nothing_is_expanded_for_the_custom_operator(
    constants: str, domain: str
) -> None:
    made = parse(f"(float[3] x) => (float[] z) <{constants}> {{ q = Div(d, c) z = Identity(q) }}")
    rewritten = sonnx_ort.rewrite(made, broadcast="explicit")
    divisions = [node for node in rewritten.graph.node if node.op_type.endswith("Div")]
    assert [node.domain or "standard" for node in divisions] == [domain]


def test_what_a_run_gives_a_shape_is_expanded_for_the_custom_operator() -> None:
    made = parse(
        "(float[3] x) => (float[] z) <float[3] c = {1, 0, 4}, float one = {1}>"
        " { n = NonZero(c) d = Cast<to = 1>(n) q = Sub(d, one) z = Identity(q) }"
    )
    rewritten = sonnx_ort.rewrite(made, broadcast="explicit")
    assert [n.domain for n in rewritten.graph.node if n.op_type.endswith("Sub")] == ["sonnx"]


def test_result_that_the_edition_defines_otherwise_is_computed_by_its_operator() -> None:
    graph = "z = Div(c, c) w = Identity(k)"
    assert operators(graph, edition="preliminary") == ["sonnx CheckedDiv"]


def test_result_is_the_same() -> None:
    made = parse(f"(float[3] x) => (float[] z) {CONSTANTS} {{ d = Div(c, two) z = Sub(x, d) }}")
    session = sonnx_ort.InferenceSession(made, broadcast="explicit")
    (z,) = session.run(None, {"x": np.zeros(3, np.float32)})
    assert z.tolist() == [-0.5, -1.0, -2.0]


def test_false_declaration_is_dropped_where_every_operator_is_left() -> None:
    made = parse(
        "(int64[1] x) => (int64[] y) <int64 three = {3}, int64[1] one = {1}, int64[4,4] state> {"
        ' state = Loop(three, "", x) <body = step (int64 i, bool go, int64[] s) =>'
        " (bool go, int64[] t) { t = Flatten(x) }> y = Shape(state) d = Sub(one, one) }"
    )
    for backend in ("python", "native", "compiled"):
        session = sonnx_ort.InferenceSession(made, backend=backend)
        assert session.run(None, {"x": np.zeros(1, np.int64)})[0].tolist() == [1, 1]
