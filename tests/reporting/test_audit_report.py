"""What an audit says of an error: how large it is, and whether that is admitted."""

import pytest

from sonnx_ort.comparing.verdicts import Element, NodeAudit, Verdict, by_operator
from sonnx_ort.reporting.audit_report import error_in_words, worst_error


def element(units: int | None, admitted: int | None) -> Element:
    return Element("y", (0,), (), "1", "", "2", units, admitted)


@pytest.mark.parametrize(("units", "admitted", "words", "cell"), [
    (1, 0, "1 unit in the last place; none is admitted", "1 unit, 0 admitted"),
    (0, 0, "other bits of the same number", "0 units, 0 admitted"),
    (19_694, 12, "19,694 units in the last place, 1,641.2 times the 12 admitted",
     "19,694 units, 12 admitted"),
    (19_694, 1_640_000, "19,694 units in the last place, 1 % of the 1,640,000 admitted",
     "19,694 units, 1,640,000 admitted"),
    (1, 425, "1 unit in the last place, less than 1 % of the 425 admitted", "1 unit, 425 admitted"),
    (5, 5, "5 units in the last place, 100 % of the 5 admitted", "5 units, 5 admitted"),
    (7, None, "7 units in the last place; any result is admitted", "7 units, any admitted"),
    (None, 5, "one of both is no number", "no number"),
])  # fmt: skip
def test_error_is_set_against_the_admitted_one(
    units: int | None, admitted: int | None, words: str, cell: str
) -> None:
    worst = element(units, admitted)
    (summary,) = by_operator([NodeAudit("n", "Conv", worst=worst), NodeAudit("m", "Conv")])
    assert (error_in_words(worst), worst_error(summary)) == (words, cell)


def test_worst_element_has_the_largest_share_of_the_admitted_error() -> None:
    worse, better = element(3, 4), element(19_694, 1_640_000)
    nodes = [
        NodeAudit("n", "Conv", verdict=Verdict.ADMITTED, worst=each) for each in (better, worse)
    ]
    (summary,) = by_operator(nodes)
    assert (summary.worst, nodes[0].merged(nodes[1]).worst) == (worse, worse)


def test_operator_without_an_error() -> None:
    (summary,) = by_operator([NodeAudit("n", "Add")])
    assert worst_error(summary) == "-"
