"""Every rule that a run can break has a guard of standard operators."""

import onnx
import pytest

import sonnx_ort
from sonnx_ort.enforcing.native import catalog
from sonnx_ort.enforcing.native.catalog import deciding_guard
from sonnx_ort.enforcing.native.element_guards import (
    NONZERO_DIVISOR,
    REPRESENTABLE_QUOTIENT,
    WITHIN_INT32,
)
from sonnx_ort.enforcing.native.guard import DecidingGuard
from sonnx_ort.enforcing.native.line_guards import lines_guard
from sonnx_ort.enforcing.native.number_guards import DIFFERENCE_WITHIN_INT32, NONZERO_NUMBERS
from sonnx_ort.enforcing.native.powers import EXACT_POWER
from sonnx_ort.profile.broadcast import E1
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.rule import Rule, Subject
from support.graphs import binary_model


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
    rule = rule.of_node(dict.fromkeys(rule.attributes, onnx.TensorProto.INT32))
    assert deciding_guard(rule.requirement) is not None


def test_rule_without_a_guard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "DECIDING_GUARDS", {})
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
        (NONZERO_NUMBERS, ElementType.FLOAT, ElementType.INT32),
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
