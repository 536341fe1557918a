"""What the audits of several runs of a node say together, and which nodes come first."""

import math
from typing import Any

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.runs.audit.verdicts import (
    BrokenRule,
    Element,
    NodeAudit,
    Verdict,
    by_operator,
    share,
    worst_first,
)

EXACT, ADMITTED, OUTSIDE = Verdict.EXACT, Verdict.ADMITTED, Verdict.OUTSIDE
NOT_KNOWN = Verdict.NOT_KNOWN


def element(units: int, admitted: int = 4) -> Element:
    return Element("z", (0,), (), "1", "", "2", units, admitted)


def node(verdict: Verdict, **said: Any) -> NodeAudit:
    return NodeAudit("n", "Div", verdict=verdict, **said)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (EXACT, EXACT, EXACT),
        (EXACT, ADMITTED, ADMITTED),
        (EXACT, NOT_KNOWN, NOT_KNOWN),
        (EXACT, OUTSIDE, OUTSIDE),
        (ADMITTED, NOT_KNOWN, NOT_KNOWN),
        (ADMITTED, OUTSIDE, OUTSIDE),
        (NOT_KNOWN, OUTSIDE, OUTSIDE),
    ],
)
def test_two_runs_have_the_worse_verdict(one: Verdict, other: Verdict, both: Verdict) -> None:
    assert node(one).merged(node(other)).verdict is both
    assert node(other).merged(node(one)).verdict is both


def test_elements_of_two_runs_are_added() -> None:
    first = node(EXACT, elements=5, audited=4, undefined=1)
    both = first.merged(node(EXACT, elements=50, audited=40, undefined=10))
    assert (both.elements, both.audited, both.undefined) == (55, 44, 11)


@pytest.mark.parametrize(
    ("one", "other", "units"),
    [
        ((ADMITTED, 1), (ADMITTED, 3), 3),
        ((ADMITTED, 3), (ADMITTED, 1), 3),
        ((ADMITTED, 3), (NOT_KNOWN, None), 3),
        ((OUTSIDE, 5), (ADMITTED, 3), 5),
        ((OUTSIDE, None), (ADMITTED, 3), None),
    ],
    ids=["second", "first", "of what is known", "outside", "of a wrong shape there is none"],
)
def test_two_runs_have_the_larger_error(
    one: tuple[Verdict, int | None], other: tuple[Verdict, int | None], units: int | None
) -> None:
    first, second = (
        node(verdict, worst=None if found is None else element(found))
        for verdict, found in (one, other)
    )
    worst = first.merged(second).worst
    assert (None if worst is None else worst.units) == units


def test_rules_that_either_run_breaks_are_told_once_and_the_first_time() -> None:
    zero, shapes = RULES["Div.int.C1"], RULES["Div.int.R1"]
    first = node(EXACT, broken=(BrokenRule(zero, "first"),))
    second = node(EXACT, broken=(BrokenRule(zero, "second"), BrokenRule(shapes, "second")))
    told = {(each.rule.id, each.reason) for each in first.merged(second).broken}
    assert told == {("Div.int.C1", "first"), ("Div.int.R1", "second")}


@pytest.mark.parametrize(
    ("units", "admitted", "expected"),
    [
        (0, 0, 0),
        (0, 4, 0),
        (6, 4, 1.5),
        (1, 0, math.inf),
        (None, 4, math.inf),
        (3, None, 0),
        (None, None, 0),
    ],
)
def test_error_is_measured_by_the_admitted_one(
    units: int | None, admitted: int | None, expected: float
) -> None:
    assert share(units, admitted) == expected


def test_nodes_outside_come_first_and_then_what_is_not_known() -> None:
    nodes = (
        node(EXACT),
        node(ADMITTED, worst=element(1)),
        node(NOT_KNOWN),
        node(ADMITTED, worst=element(3)),
        node(OUTSIDE, worst=element(5)),
        node(OUTSIDE, worst=element(9)),
    )
    assert worst_first(nodes) == tuple(nodes[k] for k in (5, 4, 2, 3, 1, 0))


@pytest.mark.parametrize(("verdict", "is_measured"), [(EXACT, False), (ADMITTED, True)])
def test_bound_counts_as_measured_where_results_need_it(
    verdict: Verdict, is_measured: bool
) -> None:
    bound = "2 units in the last place, measured of ONNX Runtime with samples (ours)"
    (summary,) = by_operator([node(verdict, bound=bound)])
    assert summary.is_measured is is_measured
