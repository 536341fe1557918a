"""Every rule that a run can break has a guard of standard operators."""

import onnx
import pytest

from sonnx_ort.profile.broadcast import E1
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.rewriting.native.catalog import SHAPE_GUARDS, deciding_guard


@pytest.mark.parametrize(
    "rule", [r for r in RULES.values() if r.in_run and r is not E1], ids=lambda r: r.id
)
def test_requirement_is_registered_as_what_it_is_about(rule: Rule) -> None:
    rule = rule.of_node(dict.fromkeys(rule.attributes, onnx.TensorProto.INT32))
    if rule.requirement.subject is Subject.EQUAL_SHAPES:
        assert type(rule.requirement) in SHAPE_GUARDS
    else:
        assert deciding_guard(rule.requirement) is not None
