"""What is left to the run of a node's rules, and is guarded."""

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.broadcastable import Broadcastable
from sonnx_ort.profile.requirements.division import (
    InfinityForZeroDivisor,
    NonZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Rule

GUARDED = (
    Broadcastable,
    InfinityForZeroDivisor,
    NonZeroDivisor,
    RepresentableQuotient,
    SameShape,
)


@pytest.mark.parametrize("rule", [r for r in RULES.values() if r.in_run], ids=lambda r: r.id)
def test_every_rule_that_a_run_can_break_has_a_guard(rule: Rule) -> None:
    assert isinstance(rule.requirement, GUARDED)
