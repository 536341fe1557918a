"""Elements at which an operator has no result are refused, by every backend, where they stand."""

import numpy as np
import pytest
from restrictions import Violation, outcome

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Subject
from support import ort_values
from support.changes import unneeded
from support.child import run_python
from support.elementwise import Crossing, crossings
from support.operator_cases import OPERATOR_CASES
from support.sessions import enforced

EACH = pytest.mark.parametrize("crossing", list(crossings()), ids=str)
EACH_REFUSED = pytest.mark.parametrize(
    ("crossing", "backend"),
    [
        pytest.param(crossing, backend, id=f"{backend}-{crossing}")
        for backend in ("python", "native", "compiled")
        for crossing in crossings()
        if crossing.boundary.rule not in unneeded(backend)
    ],
)
EACH_UNNEEDED = pytest.mark.parametrize(
    "crossing", [c for c in crossings() if c.boundary.rule in unneeded("python")], ids=str
)

BY_SHAPE = {name for name in STANDARD_OPERATORS if not OPERATORS[name].elementwise}
"""Operators whose rules about elements `test_single_operands.py` tries."""


def assert_refused(session: sonnx_ort.InferenceSession, crossing: Crossing, shape, place) -> None:
    feeds = crossing.operands(shape, place)
    single = crossing.single
    expected = outcome(
        single.operator.name,
        list(feeds.values()),
        single.element_type,
        Edition.TYPED,
        single.attributes,
    )
    assert isinstance(expected, Violation)
    assert expected.index == tuple(map(int, np.unravel_index(place, shape)))
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        ort_values.run(session, feeds)
    found = caught.value
    assert (found.rule, found.node) == (crossing.boundary.rule, "the_node")
    assert (found.rule, found.index) == (expected.rule, expected.index)
    np.testing.assert_equal(found.values, expected.values)


def test_table_has_every_operator() -> None:
    assert OPERATOR_CASES.keys() == STANDARD_OPERATORS


@pytest.mark.parametrize("name", [n for n in OPERATOR_CASES if n not in BY_SHAPE])
def test_table_has_every_rule_about_elements(name: str) -> None:
    contracts = OPERATORS[name].contracts[Edition.TYPED]
    rules = (rule for rules in contracts.values() for rule in rules)
    about_elements = {r.id for r in rules if r.requirement.subject is Subject.ELEMENTS}
    assert about_elements == {b.rule for b in OPERATOR_CASES[name].boundaries}


@pytest.mark.satisfies(
    "*.int.C1 *.int.C2 Cast.float.C1 Abs.draft.int.smallest Acos.draft.float.domain",
    "Pow.draft.int.domain Acos.draft.float.domain.error Pow.draft.int.negative",
    "Pow.draft.int.overflow",
)
@EACH_REFUSED
def test_element_outside_is_refused_where_it_stands(crossing: Crossing, backend: str) -> None:
    session = enforced(crossing.single.model(), backend)
    for size, place in ((1, 0), (5, 3), (5, 4), (400, 398)):
        ort_values.run(session, crossing.operands((size,)))
        assert_refused(session, crossing, (size,), place)
    ort_values.run(session, crossing.operands((0,)))


@EACH_REFUSED
def test_rank_is_open(crossing: Crossing, backend: str) -> None:
    session = enforced(crossing.single.model([0] * len(crossing.single.names)), backend, "all")
    for shape, place in (((), 0), ((2, 3), 4), ((1, 1, 1), 0)):
        ort_values.run(session, crossing.operands(shape))
        assert_refused(session, crossing, shape, place)
    ort_values.run(session, crossing.operands((2, 0)))


@EACH_REFUSED
def test_constants_outside_are_refused_before_a_run(crossing: Crossing, backend: str) -> None:
    made = crossing.single.model(constants=crossing.operands((3,), 1))
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made, backend=backend, operators="all,-Graph")
    assert [v.rule.id for v in caught.value.report.violations] == [crossing.boundary.rule]


@EACH_UNNEEDED
@pytest.mark.parametrize("constant", [False, True])
def test_element_that_the_installed_kernel_computes_rightly_passes(
    crossing: Crossing, constant: bool
) -> None:
    single, feeds = crossing.single, crossing.operands((4,), 2)
    made = single.model(constants=feeds if constant else None)
    (found,) = ort_values.run(enforced(made, "python"), {} if constant else feeds)
    right = outcome(
        single.operator.name,
        list(feeds.values()),
        single.element_type,
        Edition.TYPED,
        single.attributes,
        unneeded={crossing.boundary.rule},
    )
    np.testing.assert_array_equal(found, right)


@EACH
def test_constants_inside_need_no_run(crossing: Crossing) -> None:
    made = crossing.single.model(constants=crossing.operands((3,)))
    (found,) = (
        o
        for o in sonnx_ort.check(made, operators="all,-Graph").obligations
        if o.rule.id == crossing.boundary.rule
    )
    assert found.status.value == "proved"


FOLDED = """
import numpy as np
import sonnx_ort
from support.graphs import parse
from support.sessions import on_one_thread

ROOT = parse(
    "(int32[2] a) => (int32[] y) <float[2] c = {0.0, 1.0}>"
    "{ d = Sin(c) b = Cast <to = 6> (d) [the_node] y = Mod(a, b) }"
)
for backend in ("python", "native", "compiled"):
    for level in ("none", "basic", "all"):
        options = on_one_thread(level)
        session = sonnx_ort.InferenceSession(ROOT, options, backend=backend, operators="Mod")
        try:
            session.run(None, {"a": np.array([4, 5], np.int32)})
        except sonnx_ort.ContractViolation as violation:
            print(violation.rule, violation.index, violation.values)
"""


def test_divisors_that_onnx_runtime_computes_before_all_runs_are_looked_at_in_one() -> None:
    child = run_python(FOLDED)
    assert child.stdout.splitlines() == 9 * ["Mod.int.C1 (0,) (4, 0)"], child
