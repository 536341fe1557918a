"""Every rule that a run can break has a guard of standard operators."""

import pytest

from sonnx_ort.profile.broadcast import E1
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.native.catalog import ELEMENT_GUARDS, SHAPE_GUARDS


@pytest.mark.parametrize(
    "rule", [r for r in RULES.values() if r.in_run and r is not E1], ids=lambda r: r.id
)
def test_requirement_is_registered_as_what_it_is_about(rule: Rule) -> None:
    guards = SHAPE_GUARDS if rule.requirement.subject.about_shapes else ELEMENT_GUARDS
    assert type(rule.requirement) in guards
