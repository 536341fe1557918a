"""The formulas of the rules say what the requirements of the profile say."""

from itertools import product

import numpy as np
import pytest

from sonnx_ort import ValueContract
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.contract_rules import contract_requirement
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import Rule, Subject
from support import broadcasting as document
from support.elementwise import Single, singles
from support.proofs.agreement import type_of
from support.proofs.rules import demanded, lined_up, lines_up
from support.proofs.tensors import constant, pinned
from support.proofs.theorem import prove_formula

T = ElementType
EDGES = (0, 1, 2, 3, 3, 5)


def holds(requirement, arrays) -> bool:
    """What the formula says of arrays."""
    formula = demanded(requirement, [pinned(array, type_of(array)) for array in arrays])
    prove_formula(formula == (requirement.violation(arrays) is None))
    return requirement.violation(arrays) is None


@pytest.mark.parametrize(
    ("single", "rule"),
    [
        pytest.param(single, rule, id=f"{rule.id} {single.element_type}")
        for single in singles()
        for rule in single.rules()
        if rule.requirement.subject is Subject.ELEMENTS
    ],
)
def test_formulas_about_elements_decide_as_the_profile_does(single: Single, rule: Rule) -> None:
    for seed in range(4):
        feeds = single.operands(3, seed)
        holds(rule.requirement, rule.select_operands(single.names, list(feeds.values())))


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


@pytest.mark.parametrize("axis", [None, 0, 1, 2, 5, -1, -2, -5], ids=str)
def test_formulas_of_limited_broadcasting_decide_as_the_profile_and_the_document_do(
    axis: int | None,
) -> None:
    limits = LimitedBroadcasting(axis)
    shapes = [shape for rank in range(4) for shape in product((0, 1, 2), repeat=rank)]
    generator = np.random.default_rng(6)
    found = set()
    for _ in range(60):
        a, b = (shapes[place] for place in generator.integers(0, len(shapes), 2))
        if generator.random() < 0.5:
            first = generator.integers(0, len(a) + 1)
            b = a[first : generator.integers(first, len(a) + 1)]
        sizes = [constant(np.zeros(shape, np.float32), T.FLOAT).sizes for shape in (a, b)]
        allowed = limits.violation(a, b) is None
        prove_formula(lines_up(limits, *sizes) == allowed)
        by_document = document.lines_up(a, b, axis)
        assert (by_document is not None) is allowed
        if by_document:  # Of one element it does not tell axes of size 1.
            aligned = lined_up(limits, *sizes)
            prove_formula(aligned.length == len(by_document))
            prove_formula(aligned.for_all(lambda i, s=by_document, v=aligned: v.at(i) == s[i]))
        found.add(allowed)
    assert found == {True, False}


@pytest.mark.parametrize("rule", ["MatMul.C1", "Clip.C1"])
def test_formula_of_a_rank_decides_as_the_profile_does(rule: str) -> None:
    requirement = RULES[rule].requirement
    shapes = [(), (1,), (2, 3), (0, 0), (1, 2, 3)]
    pairs = [[np.zeros(one), np.zeros(other)] for one in shapes for other in shapes]
    assert {holds(requirement, arrays) for arrays in pairs} == {True, False}


@pytest.mark.parametrize(
    ("contract", "kind"),
    [
        (ValueContract("x", whole=True), np.float32),
        (ValueContract("x"), np.float64),
        (ValueContract("x", (0.5, 2)), np.float16),
        (ValueContract("x", (1, 9)), np.int8),
    ],
    ids=str,
)
def test_formula_of_a_contract_decides_as_the_profile_does(
    contract: ValueContract, kind: type
) -> None:
    requirement = contract_requirement(contract)
    numbers = [-3, -0.0, 0.5, 1, 1.5, 2, 9, 60000, np.inf, -np.inf, np.nan]
    if np.issubdtype(kind, np.integer):
        numbers = [-128, -1, 0, 1, 9, 10, 127]
    arrays = [np.array([], kind), *(np.array([1, number], kind) for number in numbers)]
    assert {holds(requirement, [array]) for array in arrays} == {True, False}


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_formula_of_an_axis_that_holds_something_decides_as_the_profile_does(axis: int) -> None:
    requirement = RULES["ArgMax.R5"].of_node({"axis": axis}).requirement
    shapes = [(), (0,), (3,), (0, 2), (2, 0), (2, 3), (2, 3, 0), (1, 1, 1)]
    assert {holds(requirement, [np.zeros(shape)]) for shape in shapes} == {True, False}


def test_formula_of_every_axis_decides_as_the_profile_does() -> None:
    requirement = RULES["Slice.R2"].requirement
    for rank in range(4):
        for count in range(4):
            arrays = [np.zeros((2,) * rank), np.arange(count)]
            assert holds(requirement, arrays) is (rank == count)


@pytest.mark.parametrize("kind", [np.int64, np.int32])
@pytest.mark.parametrize("rule", ["Slice.R8", "Slice.C2", "Slice.R6"])
def test_formulas_of_places_decide_as_the_profile_does(rule: str, kind: type) -> None:
    generator = np.random.default_rng(5)
    found = set()
    for _ in range(40):
        shape = tuple(generator.choice(EDGES, generator.integers(1, 3)))
        count = int(generator.integers(0, 3))
        axes = generator.integers(-len(shape), len(shape), count)
        starts, ends = (generator.integers(-6, 7, count) for _ in range(2))
        steps = generator.choice([-2, -1, 1, 3], count)
        places = [array.astype(kind) for array in (starts, ends, axes, steps)]
        found.add(holds(RULES[rule].requirement, [np.zeros(shape), *places]))
    assert found == {True, False}


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_formula_of_shapes_but_for_an_axis_decides_as_the_profile_does(axis: int) -> None:
    requirement = RULES["Concat.C2"].of_node({"axis": axis}).requirement
    shapes = [(), (2,), (0,), (2, 3), (2, 0), (4, 3), (2, 3, 1), (2, 5, 1)]
    pairs = [[np.zeros(one), np.zeros(other)] for one in shapes for other in shapes]
    assert {holds(requirement, arrays) for arrays in pairs} == {True, False}


@pytest.mark.parametrize("allowzero", [0, 1])
def test_formula_of_an_inferred_size_decides_as_the_profile_does(allowzero: int) -> None:
    requirement = RULES["Reshape.allowzero.C3"].of_node({"allowzero": allowzero}).requirement
    found = set()
    for shape in ((), (2,), (0, 3), (2, 0), (2, 3)):
        for sizes in ([], [-1], [0], [-1, 3], [0, -1], [3, 0], [-1, -1]):
            found.add(holds(requirement, [np.zeros(shape), np.array(sizes, np.int64)]))
    assert found == {True, False}


def test_formula_of_axes_named_once_decides_as_the_profile_does() -> None:
    generator, found = np.random.default_rng(7), set()
    for _ in range(80):
        x = np.zeros((1,) * int(generator.integers(0, 4)))
        axes = generator.integers(-4, 4, generator.integers(0, 4))
        named = tuple(int(axis) for axis in axes)
        given = RULES["Squeeze.A.C2"].requirement
        said = RULES["Squeeze.A.C2"].of_node({"axes": named}).requirement
        found.add(holds(given, [x, axes]))
        assert holds(given, [x, axes]) is holds(said, [x])
    assert found == {True, False}
