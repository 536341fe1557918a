"""Every rule that a run can break has a guard of standard operators."""

from dataclasses import replace
from unittest.mock import Mock

import onnx
import pytest

import sonnx_ort
from sonnx_ort.enforcing.lowering import require_enforceable
from sonnx_ort.enforcing.native import catalog
from sonnx_ort.enforcing.native.catalog import deciding_guard
from sonnx_ort.profile.broadcast import E1
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import Edition
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


def test_rule_that_no_backend_can_enforce_is_refused_where_it_is_defined() -> None:
    reciprocal = OPERATORS["Reciprocal"]
    rule = replace(next(reciprocal.all_rules()), id="Inverse.C1", requirement=Mock())
    rule.requirement.subject = Subject.ELEMENTS
    contracts = {Edition.TYPED: {Family.FLOAT: (rule,)}}
    with pytest.raises(ValueError, match="guard") as caught:
        require_enforceable([replace(reciprocal, name="Inverse", contracts=contracts)])
    assert str(caught.value) == (
        "the operator Inverse cannot be enforced: it has no file in custom_ops/, and there is no "
        "guard for the rule Inverse.C1 (Mock)"
    )
    require_enforceable([replace(reciprocal, contracts=reciprocal.contracts)])


def test_rule_without_a_guard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "DECIDING_GUARDS", {})
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(binary_model("Div", "uint8", ["n"], ["n"]), backend="native")
    assert str(caught.value) == (
        "Div 'the_node': the native backend has no guard for Div.int.C1 (No element of B is "
        "zero.); use the python backend"
    )
