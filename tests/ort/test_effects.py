"""What is said of optimizers, and what is concluded of them, is about the same ones."""

import itertools

from sonnx_ort.facts.optimizers import FORMS, KEEPS, MAY_ACT, MUST_BE_OFF
from sonnx_ort.ort.effects import GROUPS, Effect


def test_each_optimizer_is_in_one_group():
    for one, other in itertools.combinations(GROUPS.values(), 2):
        assert one.keys().isdisjoint(other)


def test_each_effect_has_a_group():
    assert set(GROUPS) == set(Effect)


def test_effects_are_told_of_the_optimizers_of_which_something_is_concluded():
    concluded = {Effect.KEEPS: KEEPS, Effect.FORMS: FORMS, Effect.OFF: MUST_BE_OFF}
    assert {effect: tuple(GROUPS[effect]) for effect in concluded} == concluded


def test_each_optimizer_that_forms_numbers_names_the_rule_that_knows_them():
    for name, effect in GROUPS[Effect.FORMS].items():
        assert ": " in effect or effect.endswith("sums in any order"), name


def test_what_must_be_off_may_not_act():
    assert set(MUST_BE_OFF).isdisjoint(MAY_ACT)
