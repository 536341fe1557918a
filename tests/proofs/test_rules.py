"""The formulas of the rules say what the requirements of the profile say."""

import numpy as np
import pytest

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.rule import Subject
from support.elementwise import Single, singles
from support.proofs.agreement import type_of
from support.proofs.rules import demanded
from support.proofs.tensors import pinned
from support.proofs.theorem import prove_formula

EDGES = (0, 1, 2, 3, 3, 5)


def holds(requirement, arrays) -> bool:
    """What the formula says of arrays."""
    formula = demanded(requirement, [pinned(array, type_of(array)) for array in arrays])
    prove_formula(formula == (requirement.violation(arrays) is None))
    return requirement.violation(arrays) is None


@pytest.mark.parametrize(
    "single",
    [
        s
        for s in singles()
        if "int" in s.element_type.value or s.operator.name in {"Acos", "Cast", "Div"}
    ],
    ids=str,
)
def test_formulas_about_elements_decide_as_the_profile_does(single: Single) -> None:
    rules = [r for r in single.rules() if r.requirement.subject is Subject.ELEMENTS and r.in_run]
    for seed in range(4):
        feeds = single.operands(3, seed)
        for rule in rules:
            holds(rule.requirement, rule.spoken_of(single.names, list(feeds.values())))


def test_formula_of_equal_shapes_decides_as_the_profile_does() -> None:
    (rule,) = (r for r in OPERATORS["Where"].all_rules() if r.id == "Where.float.R1")
    generator = np.random.default_rng(3)
    found = set()
    for _ in range(100):
        shapes = [tuple(generator.choice(EDGES, generator.integers(0, 3))) for _ in range(2)]
        shapes.append(shapes[0])
        found.add(holds(rule.requirement, [np.zeros(shape, np.float32) for shape in shapes]))
    assert found == {True, False}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_formula_of_broadcasting_decides_as_the_profile_does(count: int) -> None:
    (rule,) = (r for r in OPERATORS["Broadcast"].all_rules() if r.id == "Broadcast.E1")
    generator = np.random.default_rng(4)
    found = set()
    for _ in range(100):
        shapes = [tuple(generator.choice(EDGES, generator.integers(0, 4))) for _ in range(count)]
        found.add(holds(rule.requirement, [np.zeros(shape, np.float32) for shape in shapes]))
    assert found == ({True} if count == 1 else {True, False})
