"""The table of optimizers is one table: each is in one group, and says what it does."""

import itertools

from sonnx_ort.facts.optimizers import GROUPS, MAY_ACT, MUST_BE_OFF, Effect


def test_each_optimizer_is_in_one_group():
    for one, other in itertools.combinations(GROUPS.values(), 2):
        assert one.keys().isdisjoint(other)


def test_each_effect_has_a_group():
    assert set(GROUPS) == set(Effect)


def test_each_optimizer_that_forms_numbers_names_the_rule_that_knows_them():
    for name, effect in GROUPS[Effect.FORMS].items():
        assert ": " in effect or effect.endswith("sums in any order"), name


def test_what_must_be_off_may_not_act():
    assert set(MUST_BE_OFF).isdisjoint(MAY_ACT)
