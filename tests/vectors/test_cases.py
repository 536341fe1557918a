"""The cases cover the statement: every rule, every type, every special value."""

from collections.abc import Iterator

import numpy as np
import pytest
from restrictions import violation

from sonnx_ort.api.checking import check
from sonnx_ort.errors import InvalidModel
from sonnx_ort.meaning.results import Copies, equal_elements
from sonnx_ort.profile.catalog import OPERATOR_SET, OPERATORS, RULES, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.vectors.applied import GUIDELINES, Class, special_classes, special_values
from sonnx_ort.vectors.cases import (
    RULES_WITHOUT_CASES,
    UNBROKEN,
    Case,
    Level,
    cases,
    graphs,
    rule_cases,
    shape_cases,
    variant_cases,
)
from sonnx_ort.vectors.examples import examples, fitting
from sonnx_ort.vectors.unruled import APART, UNRULED, known
from sonnx_ort.vectors.variants import COMMUTATIVE, PROPERTIES, TRUE_OR_FALSE, WITHOUT_DISTINCT

T = ElementType


def rules(edition: Edition) -> Iterator[Rule]:
    for name in sorted(STANDARD_OPERATORS):
        contract = OPERATORS[name].contracts[edition]
        for rule in dict.fromkeys(rule for rules in contract.values() for rule in rules):
            if rule.needed_before is None:
                yield rule


@pytest.mark.parametrize(
    ("rule", "edition"),
    [
        pytest.param(rule.id, edition, id=f"{rule.id}-{edition}")
        for edition in Edition
        for rule in rules(edition)
    ],
)
def test_examples_of_a_rule_are_nodes_that_keep_and_break_it(rule: str, edition: Edition) -> None:
    operator = OPERATORS[rule.partition(".")[0]]
    kept, broken = examples(operator, RULES[rule], np.random.default_rng(0), edition)
    assert kept.broken_rules == ()
    assert (rule in {each.id for each in broken.broken_rules}) == (rule not in UNBROKEN)


def test_each_rule_has_a_case_that_keeps_and_one_that_breaks_it_or_a_reason() -> None:
    found = {
        of_class: {
            case.rule.id
            for edition in Edition
            for name in STANDARD_OPERATORS
            for case in rule_cases(name, edition)
            if case.rule is not None and case.of_class is of_class
        }
        for of_class in (Class.KEPT, Class.BROKEN)
    }
    for case in of("Broadcast"):
        if case.rule is not None and case.of_class in found:
            found[case.of_class].add(case.rule.id)
    graph = {rule.id for rule, _, _ in graphs(np.random.default_rng(0), Edition.TYPED)}
    needed = {rule.id for rule in RULES.values() if rule.needed_before is None} - graph
    assert needed - found[Class.KEPT] == {*RULES_WITHOUT_CASES}
    assert needed - found[Class.BROKEN] == {*RULES_WITHOUT_CASES, *UNBROKEN}


@pytest.mark.parametrize("name", sorted(STANDARD_OPERATORS))
def test_fitting_node_breaks_rules_about_types_alone(name: str) -> None:
    operator = OPERATORS[name]
    for kind in (kind for kind in T if kind.family in operator.families):
        node = fitting(operator, kind, np.random.default_rng(0))
        subjects = {rule.requirement.subject for rule in node.broken_rules}
        assert subjects <= {Subject.TYPES}, kind


@pytest.mark.parametrize("name", sorted(n for n in STANDARD_OPERATORS if OPERATORS[n].elementwise))
def test_elements_are_refused_exactly_where_restrictions_say_so(name: str) -> None:
    for case in cases([name]):
        if case.of_class not in {*special_classes(case.kind), Class.RANK, Class.SIZE}:
            continue
        applied = case.applied
        broken = violation(
            name,
            applied.operands,
            case.kind,
            Edition.TYPED,
            applied.attributes,
            unneeded={rule.id for rule in RULES.values() if rule.needed_before is not None},
        )
        found = applied.broken_rules[0].id if applied.broken_rules else None
        assert found == (None if broken is None else broken.rule), case.model


@pytest.mark.parametrize("kind", T)
def test_every_special_value_has_a_class(kind: ElementType) -> None:
    classes = special_classes(kind)
    assert sum(values.size for values in classes.values()) == special_values(kind).size
    match kind.family:
        case Family.FLOAT:
            names = ["zeros", "subnormal values", "boundary of the type", "interior of the type"]
            assert [*classes] == [*names, "infinities", "NaN"]
            assert np.isnan(classes[Class.NAN]).all()
            assert np.isinf(classes[Class.INFINITY]).all()
            assert (classes[Class.ZERO] == 0).all()
        case Family.INTEGER:
            limits = np.iinfo(kind.dtype)
            edges = {limits.min, limits.min + 1, limits.max - 1, limits.max} - {0}
            assert {*classes[Class.BOUNDARY].tolist()} == edges
            assert classes[Class.ZERO].tolist() == [0]
        case Family.BOOLEAN:
            assert classes[Class.INTERIOR].tolist() == [False, True]


def of(name: str) -> list[Case]:
    return [*cases([name])]


def test_division_by_zero_is_a_case_of_every_integer() -> None:
    zero = [case for case in of("Div") if case.applied.broken_rules[:1] == (RULES["Div.int.C1"],)]
    assert {case.kind for case in zero} == {kind for kind in T if kind.family is Family.INTEGER}
    assert {case.level for case in zero} == {Level.NEGATIVE}


def test_zero_divisor_of_floats_is_infinity_in_the_preliminary_edition() -> None:
    found = {}
    for edition in Edition:
        zeros = [
            case
            for case in cases(["Div"], edition=edition)
            if case.model == "div_float_vector" and case.of_class is Class.ZERO
        ]
        (case,) = zeros
        a, b = case.applied.operands
        assert isinstance(case.applied.meaning, tuple)
        assert a is not None
        assert b is not None
        found[edition] = case.applied.meaning[0].nearest[(a == 0) & (b == 0)]
    assert np.isnan(found[Edition.TYPED]).all()
    assert np.isposinf(found[Edition.PRELIMINARY]).all()


def test_seed_decides_elements_and_nothing_else() -> None:
    one, other = ([*cases(["Conv"], seed)] for seed in (0, 1))
    assert [case.model for case in one] == [case.model for case in other]
    drawn = ([case for case in each if case.example is None] for each in (one, other))
    first, second = (each[0].applied.operands[0] for each in drawn)
    assert first is not None
    assert not np.array_equal(first, np.asarray(second))


def test_each_operator_of_the_profile_and_broadcast_has_cases() -> None:
    wanted = OPERATOR_SET | {"Broadcast"}
    assert {each for each in wanted if next(iter(cases([each])), None) is None} == set()


@pytest.mark.parametrize("shapes", APART)
def test_broadcast_of_shapes_without_a_common_one_is_refused(
    shapes: tuple[tuple[int, ...], ...],
) -> None:
    given = [
        tuple(array.shape for array in case.applied.feeds.values())
        for case in of("Broadcast")
        if case.refused and case.rule is RULES["Broadcast.E1"]
    ]
    assert shapes in given


def results_of(case: Case) -> np.ndarray | None:
    """The first result of a case that has one."""
    results = None if case.refused else case.applied.meaning
    return results[0].nearest if isinstance(results, tuple) else None


@pytest.mark.parametrize("name", sorted({*STANDARD_OPERATORS, *UNRULED}))
def test_variants_keep_all_rules_and_distinct_elements_are_told_apart(name: str) -> None:
    operator = OPERATORS.get(name) or UNRULED[name]
    told_apart: dict[str, list[np.ndarray]] = {}
    for case in variant_cases(operator, Edition.TYPED):
        assert not case.refused, case.model
        results = case.applied.meaning
        # Files of vectors have no place for one of several elements.
        for each in results if isinstance(results, tuple) else ():
            assert each.is_single or not isinstance(each.admitted, Copies), case.model
        found = results_of(case)
        if found is not None and case.of_class is Class.INDEX:
            told_apart.setdefault(case.model, []).append(found.astype(np.float64).ravel())
    for model, results in told_apart.items():
        elements = np.stack(results, axis=1)
        assert (len(results) > 1) == (name in TRUE_OR_FALSE), model
        if name not in {"Expand", "Pad"}:
            assert len(np.unique(elements, axis=0)) == len(elements), model


@pytest.mark.parametrize("name", sorted(WITHOUT_DISTINCT))
def test_operator_without_a_case_of_distinct_elements_has_them_in_another(name: str) -> None:
    found = (results_of(case) for case in cases([name]))
    several = (each.ravel() for each in found if each is not None and each.size > 1)
    assert any(len({*each.tolist()}) == each.size for each in several)


@pytest.mark.parametrize("name", sorted(n for n in STANDARD_OPERATORS if OPERATORS[n].elementwise))
def test_each_element_of_each_rank_is_seen_to_be_in_its_place(name: str) -> None:
    if name in {*WITHOUT_DISTINCT, *TRUE_OR_FALSE}:
        return
    ranks = [case for case in shape_cases(name) if results_of(case) is not None]
    assert len(ranks) > 4
    for case in ranks:
        found = results_of(case)
        assert found is not None
        assert len({*found.ravel().tolist()}) == found.size, case.model


PAIRS = [
    (name, number)
    for name, properties in PROPERTIES.items()
    for number, nodes in enumerate(properties.values())
    if len(nodes) == 2
]


@pytest.mark.parametrize(("name", "number"), PAIRS)
def test_two_nodes_show_a_property_together(name: str, number: int) -> None:
    operator = known(name)
    assert operator is not None
    (one, x), (other, _) = (
        (case.applied.meaning[-1].nearest, case.applied.operands[0])
        for case in variant_cases(operator, Edition.TYPED)
        if case.model == f"{name.lower()}_property_{number}"
        and isinstance(case.applied.meaning, tuple)
    )
    match name:
        case "Erf" | "Neg":
            other = -other
        case "HardSwish" | "Softplus":
            assert x is not None
            other = np.asarray(other + x)
    np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", ["Conv", "ConvTranspose", "MatMul"])
def test_last_of_three_results_is_the_sum_of_the_others(name: str) -> None:
    one, other, total = (
        case.applied.meaning[0].nearest
        for case in variant_cases(OPERATORS.get(name) or UNRULED[name], Edition.TYPED)
        if case.model == f"{name.lower()}_property_0" and isinstance(case.applied.meaning, tuple)
    )
    np.testing.assert_array_equal(one + other, total)


@pytest.mark.parametrize("name", sorted(COMMUTATIVE))
def test_exchanged_operands_have_one_result(name: str) -> None:
    found = [
        case.applied.meaning[0].nearest
        for case in variant_cases(OPERATORS[name], Edition.TYPED)
        if case.note.startswith("commutative") and isinstance(case.applied.meaning, tuple)
    ]
    assert found
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert equal_elements(one, other).all()


def test_every_class_of_cases_has_a_section_of_the_guidelines() -> None:
    assert {*GUIDELINES} == {*Class}


def test_numbers_next_to_a_valid_node_are_more_less_none_and_extreme() -> None:
    near = [case for case in of("Slice") if case.of_class is Class.NEIGHBOR]
    first = [case.applied.operands[0] for case in near if case.model.endswith("near_x_axis_0")]
    assert [each.shape for each in first if each is not None] == [(5, 5), (3, 5), (0, 5)]
    ends = [case.applied.operands[2] for case in near if case.model.endswith("ends_element")]
    found = [each[0] for each in ends if each is not None]
    assert found == [3, 5, -(2**63), 2**63 - 1]


@pytest.mark.thorough
def test_every_operator_has_numbers_next_to_a_valid_node() -> None:
    near = {case.applied.operator for case in cases() if case.of_class is Class.NEIGHBOR}
    assert near == STANDARD_OPERATORS - {"Constant"}


def test_each_rule_on_graphs_has_a_graph_that_keeps_all_and_one_that_breaks_it() -> None:
    for rule, kept, graph in graphs(np.random.default_rng(0), Edition.TYPED):
        broken = set[str]()
        try:
            broken = {each.rule.id for each in check(graph.model(), operators="profile").violations}
        except InvalidModel:
            broken = {rule.id} & {"Graph.versions", "Graph.single_assignment", "Graph.outputs"}
        assert (broken == set()) if kept else (rule.id in broken), rule.id
        assert not kept or isinstance(graph.meaning, tuple)
