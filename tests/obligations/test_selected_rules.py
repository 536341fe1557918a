"""A report of some rules only: what it tells of, and that it counts the rest."""

from collections.abc import Sequence

import pytest

import sonnx_ort
from sonnx_ort.obligations.report import Report, choose_rules
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.reporting.text_report import text_report
from support.checks import mixed


@pytest.fixture(scope="module")
def whole() -> Report:
    return sonnx_ort.check(mixed(), operators="default")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("Div.int.C1", ["Div.int.C1"]),
        (" div.INT.c1 ", ["Div.int.C1"]),
        (["Broadcast", "GR1"], ["Broadcast.C1", "Broadcast.E1", "GR1"]),
        ("Div", [r for r in sorted(set(RULES)) if r.startswith("Div.")]),
        ((), []),
    ],
    ids=str,
)
def test_rules_are_chosen_by_what_they_begin_with(
    names: str | Sequence[str], expected: list[str]
) -> None:
    assert sorted(choose_rules(names)) == expected


@pytest.mark.parametrize("name", ["Di", "GR", "Div.int.C", "Div.int.C1.x", "*"])
def test_part_of_a_name_chooses_nothing(name: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError, match=f"there is no rule '{name.replace('*', '.')}'"):
        choose_rules(name)


@pytest.mark.parametrize("name", ["Broadcast.R1", "broadcast.int.C1", "Broadcast.E1.x"])
def test_rules_of_the_operator_are_named_where_one_is_not_there(name: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as refused:
        choose_rules(name)
    assert str(refused.value) == (
        f"there is no rule '{name}'; choose from Broadcast.C1, Broadcast.E1, or their beginnings"
    )


def test_what_rules_begin_with_is_named_where_an_operator_is_not_there() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as refused:
        choose_rules("Unheard.C1")
    beginnings = sorted({rule.split(".")[0] for rule in set(RULES)})
    assert str(refused.value) == (
        f"there is no rule 'Unheard.C1'; choose from {', '.join(beginnings)}; "
        "`sonnx-ort explain` lists all rules"
    )


@pytest.mark.parametrize("name", sorted(set(RULES)))
def test_every_rule_can_be_chosen(name: str) -> None:
    assert name in choose_rules(name)


def test_nothing_chosen_is_the_whole_report(whole: Report) -> None:
    assert whole.selected() == whole


def test_only_selected_rules_are_told_of(whole: Report) -> None:
    report = whole.selected("Div.int, GR4")
    assert {o.rule.id for o in report.obligations} == {
        *("Div.int.R1", "Div.int.R2", "Div.int.RG1", "Div.int.C1", "Div.int.C2"),
    }
    assert {f.rule.id for f in report.findings} == {"GR4"}
    assert report.ok


def test_ignored_rules_are_not_told_of(whole: Report) -> None:
    report = whole.selected(ignore=["Div.int", "GR4"])
    assert {o.rule.id.rpartition(".")[0] for o in report.obligations} == {"Div.float"}
    assert {f.rule.id for f in report.findings} == {"GR2", "Graph.implicit_shape"}
    assert report.violations == whole.violations


@pytest.mark.parametrize(
    ("select", "ignore"),
    [("Div.int", ()), (None, "Div.float.R1"), ("Div", "Div.float"), (None, "GR4"), ("Sub", ())],
)
def test_what_is_left_out_is_counted(
    whole: Report, select: str | None, ignore: str | Sequence[str]
) -> None:
    report = whole.selected(select, ignore)
    for status, count in whole.counts.items():
        assert report.counts[status] + report.left_out.counts[status] == count
    assert len(report.findings) + report.left_out.findings == len(whole.findings)


def test_choosing_twice_counts_all(whole: Report) -> None:
    assert whole.selected("Div").selected(ignore="Div.float").left_out == (
        whole.selected("Div", "Div.float").left_out
    )


def test_summary_says_what_is_left_out(whole: Report) -> None:
    assert "left out" not in whole.summary()
    report = whole.selected(ignore="Div.float.R1,GR4")
    assert report.summary().endswith(
        "; left out: 2 rules with 0 proved, 0 runtime, 2 violated, 1 finding"
    )
    assert "\nrules left out: Div.float.R1, GR4\n" in text_report(report)


def test_operators_that_are_not_enforced_are_filtered_and_not_counted() -> None:
    whole = sonnx_ort.check(sonnx_ort.models.load("add_of_one_size"), operators="default")
    report = whole.selected(ignore="Add")
    assert whole.obligations
    assert not report.obligations
    assert report.left_out.counts == {"proved": 0, "runtime": 0, "violated": 0}
