"""Every rule that a run can break has a guard of standard operators."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
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
from sonnx_ort.profile.broadcast import E1
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.arithmetic import NONZERO, RepresentableQuotient
from sonnx_ort.profile.requirements.axes import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.terms.elements import NumberSet
from support.graphs import binary_model, parse
from support.waivers import waiver

(NUMBERS,) = (rule for rule in RULES.values() if rule.sentence == "No element of X is NaN.")


@pytest.mark.parametrize(
    "rule",
    [
        rule
        for rule in RULES.values()
        if rule.in_run and rule is not E1 and rule.requirement.subject is not Subject.EQUAL_SHAPES
    ],
    ids=lambda r: r.id,
)
def test_requirement_beyond_equal_shapes_has_a_guard(rule: Rule) -> None:
    given = dict.fromkeys(rule.attributes, onnx.TensorProto.INT32)
    rule = rule.of_node({**given, "pads": (1, 1, 1, 1)})
    assert deciding_guard(rule.requirement) is not None


def test_rule_without_a_guard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_MADE_GUARDS", {})
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
    guard = elements_guard(on_elements("X", numbers, "1", "0", "correct it"))
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


@pytest.mark.parametrize(
    ("element_type", "room", "table", "key", "checked_before"),
    [
        ("uint8", element_guards, "TUNED_GUARDS", NONZERO, "21 Div.int.R1"),
        (
            "int32",
            catalog,
            "DECIDING_GUARDS",
            RepresentableQuotient,
            "21 Div.int.R1, 24 Div.int.C1",
        ),
    ],
)
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
    node: str,
    operands: str,
    opset: int,
    shapes: tuple[tuple[int, ...], ...],
    broken: str | None,
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
