"""Every rule that a run can break has a guard of standard operators.

A plain session says the code; whether it is told by the look that settles most tensors, or by the
closer one, is not to be seen. Which operators stand in front of a node, and when, is told for some
models.
"""

import re
from dataclasses import replace
from types import ModuleType

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.guards import catalog, element_guards
from sonnx_ort.guards.catalog import deciding_guard
from sonnx_ort.guards.element_guards import (
    DIFFERENCE_WITHIN_INT32,
    EXACT_POWER,
    NONZERO_DIVISOR,
    REPRESENTABLE_QUOTIENT,
    WITHIN_INT32,
    elements_guard,
    lines_guard,
    not_within,
)
from sonnx_ort.guards.guard import DecidingGuard, GuardedNode, Precondition
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.ort.registration import prepare
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.contract_rules import WHOLE
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import E1
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.quotients import NONZERO, RepresentableQuotient
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.terms.numbers import NumberSet
from support.graphs import binary_model, model, operators, parse, tensor
from support.sessions import quiet
from support.waivers import waiver

(NUMBERS,) = (rule for rule in RULES.values() if rule.sentence == "No element of X is NaN.")


@pytest.mark.parametrize(
    "rule",
    [
        rule
        for rule in RULES.values()
        if rule.in_run
        # Whole numbers are demanded of values alone, whose guard is another.
        and rule not in {E1, WHOLE}
        and rule.requirement.subject is not Subject.EQUAL_SHAPES
    ],
    ids=lambda r: r.id,
)
def test_requirement_beyond_equal_shapes_has_a_guard(rule: Rule) -> None:
    given = dict.fromkeys(rule.attributes, onnx.TensorProto.INT32)
    rule = rule.of_node({**given, "pads": (1, 1, 1, 1)})
    assert deciding_guard(rule.requirement) is not None


def test_rule_without_a_guard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_GUARDS", {})
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(binary_model("Div", "uint8", ["n"], ["n"]), backend="native")
    assert str(caught.value) == (
        "Div 'the_node': the native backend has no guard for Div.int.C1 (No element of B is "
        "zero.); use the python backend"
    )


@pytest.mark.parametrize(
    ("guard", "bound", "free"),
    [
        (EXACT_POWER, ElementType.INT8, ElementType.FLOAT),
        (elements_guard(NUMBERS.requirement), ElementType.FLOAT, ElementType.INT32),
        (DIFFERENCE_WITHIN_INT32, ElementType.INT32, ElementType.INT64),
        (NONZERO_DIVISOR, ElementType.UINT8, ElementType.DOUBLE),
        (REPRESENTABLE_QUOTIENT, ElementType.INT16, ElementType.UINT16),
        (WITHIN_INT32, ElementType.INT64, ElementType.INT32),
        (lines_guard(LinesAboveNegativeInfinity("X", 0)), ElementType.FLOAT, ElementType.INT64),
    ],
)
def test_guard_is_for_types_that_can_break_its_rule(
    guard: DecidingGuard, bound: ElementType, free: ElementType
) -> None:
    assert (guard.binds(bound), guard.binds(free)) == (True, False)


@pytest.mark.parametrize(
    ("limits", "operators"),
    [
        ((0.0, 5.0), ["Greater", "Less", "And", "Not"]),
        ((None, 5.0), ["Greater", "IsNaN", "Or"]),
        ((0.0, None), ["Less", "IsNaN", "Or"]),
        ((None, None), ["IsNaN"]),
    ],
)
def test_end_of_an_interval_that_is_left_out_is_not_compared(
    limits: tuple[float | None, float | None], operators: list[str]
) -> None:
    names = ValueNames(ir.Model(ir.Graph([], [], nodes=[]), ir_version=9))
    nodes = StandardNodes(names, "x", 17)
    not_within(nodes, ir.Value(name="x"), ElementType.FLOAT, limits)
    assert [n.op_type for n in nodes.nodes if n.op_type != "Constant"] == operators


def look_at(numbers: NumberSet) -> list[str]:
    """The operators of the guard of a set of numbers, of float."""
    guard = elements_guard(on_elements("X", numbers))
    nodes = StandardNodes(ValueNames(ir.Model(ir.Graph([], [], nodes=[]), ir_version=9)), "x", 17)
    node = GuardedNode([], ElementType.FLOAT, ElementType.FLOAT)
    guard.look(nodes, [ir.Value(name="x")], node)
    return [node.op_type for node in nodes.nodes if node.op_type != "Constant"]


def test_zeros_are_found_with_and_without_nan() -> None:
    found = ["Cast", "ReduceMax", "Cast"]
    assert look_at(NumberSet("0", admits_zero=False)) == ["Cast", "Equal", *found]
    neither = NumberSet("0 or NaN", admits_nan=False, admits_zero=False)
    assert look_at(neither) == ["Less", "Greater", "Or", "Equal", *found]


def test_interval_without_zero_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^no guard of an interval without 0$"):
        look_at(NumberSet("0 or above 7", lambda _: (-np.inf, 7), admits_zero=False))


@pytest.mark.parametrize(("element_type", "room", "table", "key", "checked_before"), [
    ("uint8", element_guards, "TUNED_GUARDS", NONZERO, "21 Div.int.R1"),
    ("int32", catalog, "_GUARDS", RepresentableQuotient,
     "-21 Div.int.R1, -24 Div.int.C1"),
])  # fmt: skip
def test_guard_that_presumes_earlier_rules_reads_guarded_operands(  # noqa: PLR0917
    monkeypatch: pytest.MonkeyPatch,
    element_type: str,
    room: ModuleType,
    table: str,
    key: object,
    checked_before: str,
) -> None:
    guards = getattr(room, table)
    guard = replace(guards[key], precondition=Precondition.EARLIER_RULES)
    monkeypatch.setattr(room, table, {**guards, key: guard})
    model = binary_model("Div", element_type, ["n"], ["m"])
    made = sonnx_ort.rewrite(model, backend="native")
    (behind,) = [node for node in made.graph.node if node.name.endswith(f"{checked_before} (B)")]
    readers = [node.op_type for node in made.graph.node if behind.output[0] in node.input]
    assert "Div" in readers


UNKNOWN, KNOWN = "float[] x, float[] y", "float[n, m] x, float[k, l] y"


@pytest.mark.parametrize(
    ("node", "operands", "opset", "shapes", "broken"),
    [
        ("Softmax<axis = -2>(x)", UNKNOWN, 17, ((1, 2), (1,)), None),
        ("Softmax<axis = -2>(x)", UNKNOWN, 17, ((2,), (1,)), "Softmax.C2"),
        ("Softmax<axis = -1>(x)", UNKNOWN, 12, ((2, 3), (1,)), None),
        ("Softmax<axis = -2>(x)", UNKNOWN, 12, ((2, 3), (1,)), "Softmax.C4"),
        ("Concat<axis = -1>(x, y)", UNKNOWN, 17, ((2, 3), (2, 4)), None),
        ("Concat<axis = -1>(x, y)", UNKNOWN, 17, ((2, 3), (4, 3)), "Concat.C2"),
        ("Concat<axis = -1>(x, y)", KNOWN, 17, ((2, 3), (2, 4)), None),
        ("Concat<axis = -1>(x, y)", KNOWN, 17, ((2, 3), (4, 3)), "Concat.C2"),
    ],
)
def test_negative_axis_of_a_waived_rule_counts_from_the_end(
    node: str, operands: str, opset: int, shapes: tuple[tuple[int, ...], ...], broken: str | None
) -> None:
    model = parse(f"({operands}) => (float[] z) {{ [of_axis] z = {node} }}", opset=opset)
    operator = model.graph.node[0].op_type
    waived = [waiver(f"{operator}.{'R4' if operator == 'Softmax' else 'R1'}", "of_axis")]
    session = sonnx_ort.InferenceSession(
        model, backend="native", operators=operator, waivers=waived
    )
    feeds = {name: np.ones(shape, np.float32) for name, shape in zip("xy", shapes, strict=True)}
    if broken is None:
        session.run(None, feeds)
        return
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds)
    assert caught.value.rule == broken


ZERO, OVERFLOW = 24, 25
LEVELS = [
    ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
]
SIGNED = {"int8": [14], "int16": [14], "int32": [9, 12, 17, 20], "int64": [9, 12, 17, 20]}
UNSIGNED = {"uint8": [14], "uint16": [14], "uint32": [9, 17], "uint64": [9, 17]}


def plain_session(made: onnx.ModelProto, level: ort.GraphOptimizationLevel) -> ort.InferenceSession:
    options = quiet()
    options.graph_optimization_level = level
    prepare(options, Backend.NATIVE, rests_on_numbers=False, has_minus_zero=False)
    return ort.InferenceSession(made.SerializeToString(), options)


def outcome(session: ort.InferenceSession, a: list[int], b: list[int], dtype: str) -> object:
    """The result, or the code in the error, or an error without one."""
    try:
        (result,) = session.run(None, {"A": np.array(a, dtype), "B": np.array(b, dtype)})
    except Exception as error:  # noqa: BLE001 - its kinds are private
        found = re.search(r"A dimension cannot be less than -1, got -(\d+)", str(error))
        return str(error) if found is None else int(found[1])
    return result.tolist()


@pytest.fixture(
    params=[(d, o) for d, opsets in (SIGNED | UNSIGNED).items() for o in opsets], ids=str
)
def rewritten(request: pytest.FixtureRequest) -> tuple[str, onnx.ModelProto]:
    dtype, opset = request.param
    made = binary_model("Div", dtype, None, None, opset=opset)
    return dtype, sonnx_ort.rewrite(made, backend=Backend.NATIVE)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_every_integer_division_gives_its_quotient_or_the_code_of_the_first_broken_rule(
    rewritten: tuple[str, onnx.ModelProto], level: ort.GraphOptimizationLevel
) -> None:
    dtype, made = rewritten
    session = plain_session(made, level)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    cases = {
        "positive divisors": ([low, high, 7], [1, 2, high], [low, high // 2, 0]),
        "a zero": ([1, 2], [3, 0], ZERO),
        "nothing but a zero": (1, 0, ZERO),
        "scalars": (7, 2, 3),
        "no elements": ([], [], []),
    }
    if low < 0:
        cases |= {
            "negative divisors": ([low, 7], [-2, low], [low // -2, 0]),
            "-1, not at the smallest": ([low, 7, low + 1], [2, -1, -1], [low // 2, -7, high]),
            "smallest / -1": ([7, low], [1, -1], OVERFLOW),
            "smallest / -1, scalars": (low, -1, OVERFLOW),
            "smallest / -1 and a zero": ([low, 1], [-1, 0], ZERO),
            "a zero before smallest / -1": ([1, low], [0, -1], ZERO),
        }
    found = {name: outcome(session, a, b, dtype) for name, (a, b, _) in cases.items()}
    assert found == {name: expected for name, (_, _, expected) in cases.items()}


def test_axis_of_one_size_may_be_empty_where_another_one_may_not() -> None:
    made = parse(
        "(float[n, m] x) => (float[] z) { axes = Constant<value_ints = [1]>()"
        " sums = ReduceSum(x, axes) z = Div(x, sums) }"
    )
    session = sonnx_ort.InferenceSession(made, broadcast="explicit", backend="native")
    assert session.run(None, {"x": np.ones((0, 2), np.float32)})[0].shape == (0, 2)
    with pytest.raises(sonnx_ort.ContractViolation, match=r"Broadcast\.E1"):
        session.run(None, {"x": np.ones((2, 0), np.float32)})


NO_ZERO = ["Constant", "Equal", "Cast", "ReduceMax", "Cast", "Constant", "Where"]


def test_dividend_that_is_never_the_smallest_leaves_one_search_for_zero() -> None:
    made = binary_model("Div", "int64", [2], [2])
    made.graph.node[0].input[0] = "sizes"
    made.graph.node.insert(0, helper.make_node("Shape", ["two_axes"], ["sizes"]))
    made.graph.input.append(tensor("two_axes", "float", ["n", "m"]))
    del made.graph.input[0]
    rewritten = sonnx_ort.rewrite(made, backend="native")
    assert operators(rewritten)[1:] == ["Shape", *NO_ZERO, "Reshape", "Div"]


EXPLICIT, PRELIMINARY = {"broadcast": "explicit"}, {"edition": "preliminary"}
CONCAT = {"operators": "Concat"}


@pytest.mark.parametrize(
    ("graph", "opset", "raised", "choices"),
    [
        ("(float[2] a, float[2] b) => (float[] c) { c = Div(a, b) }", 6, 7, {}),
        ("(float[2] a, float[2] b) => (float[] c) { c = Div(a, b) }", 8, 8, {}),
        ("(float[n] a, float[m] b) => (float[] c) { c = Div(a, b) }", 6, 9, {}),
        ("(float[n] a, float[m] b) => (float[] c) { c = Div(a, b) }", 8, 9, {}),
        ("(float[n] a, float[m] b) => (float[] c) { c = Div(a, b) }", 10, 10, {}),
        ("(float[3] a, float[1] b) => (float[] c) { c = Div(a, b) }", 7, 9, EXPLICIT),
        ("(float[3] a, float[3] b) => (float[] c) { c = Div(a, b) }", 7, 9, PRELIMINARY),
        ("(float[n] a, float[n] b) => (float[] c) { c = Concat<axis = 0>(a, b) }", 7, 7, CONCAT),
        ("(float[n,k] a, float[m,k] b) => (float[] c) { c = Concat<axis=0>(a, b) }", 7, 9, CONCAT),
        ("(float[] a, float[] b) => (float[] c) { c = Concat<axis = 0>(a, b) }", 7, 11, CONCAT),
        (
            "(float[n] a) => (float[] c) { m = own.M(a) d = Exp(m) c = own.M(d) }",
            7,
            7,
            {"operators": "Exp"},
        ),
    ],
)
def test_opset_is_raised_as_far_as_the_operators_need(
    graph: str, opset: int, raised: int, choices: dict[str, str]
) -> None:
    made = parse(graph, opset=opset, domains={"own": 1})
    rewritten = sonnx_ort.rewrite(made, backend="native", **choices)
    assert [entry.version for entry in rewritten.opset_import if not entry.domain] == [raised]


@pytest.mark.parametrize(
    ("operator", "declared"), [("Div", []), ("Less", [tensor("d", "bool", None)])]
)
def test_unknown_element_type_is_refused(
    operator: str, declared: list[onnx.ValueInfoProto]
) -> None:
    made = model(
        [
            helper.make_node("Mystery", ["a"], ["m"], domain="their.domain"),
            helper.make_node("Mystery", ["m"], ["other"], domain="their.domain"),
            helper.make_node(operator, ["m", "other"], ["d"], name="unknown"),
            helper.make_node("Mystery", ["d"], ["c"], domain="their.domain"),
        ],
        [tensor("a", "float", [2])],
        [tensor("c", "float", [2])],
        value_info=declared,
        domains={"their.domain": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(made, operators=operator, backend="native")
    assert str(caught.value) == (
        f"{operator} 'unknown': the native backend needs the element type of 'm', which "
        "is unknown; declare it in value_info, or use the python "
        "backend"
    )


def test_unknown_element_type_is_refused_where_it_decides_the_result_alone() -> None:
    """The preliminary quotient of floats by zero is infinite; no rule is left to the run."""
    made = parse(
        "(float[2] a) => (float[2] c) { m = local.Mystery(a) [unknown] d = Div(m, m)"
        " c = local.Mystery(d) }",
        domains={"local": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError, match="the native backend needs the element type"):
        sonnx_ort.rewrite(made, backend="native", edition="preliminary")
