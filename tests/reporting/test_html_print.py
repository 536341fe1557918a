"""The page of a report on paper: each obligation once, on few sheets, and a readable graph."""

from dataclasses import replace
from pathlib import Path

import pytest

from sonnx_ort.analysis.report import Report
from sonnx_ort.reporting.checked_models import GraphOutline
from support.browser import CHAIN, Browser, Opened, why_no_browser
from support.browser import SCALED as SCALED_MODEL
from support.examined import check_with_outline
from support.graphs import parse

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

CAUSE = "#paper .cause"

HINT = "rewrite with --broadcast explicit, which expands B from (3,) to (n, 3)"

SCALED = [
    "violated: Div.float.R1\n4 checks",
    (
        "Tensors A, B and C must have the same shape. (SONNX Div, typed edition, section FP16, "
        "FP32, FP64, BFLOAT16, R1 (stated, as written; later E_DIV_FLOAT_CONSTR_A_0010))"
    ),
    "To fix it: " + HINT,
    "At 'n0': A 'v0' float (n, 3) [input]; B 'w' float (3,) [input]",
    "rank 2 is not rank 1: Div 'n0', 'n1', 'n2', 'n3'",
]


def printed(opened: Opened, name: str) -> Browser:
    browser = opened(name)
    browser.show_as_printed()
    return browser


def test_rule_is_told_once_with_the_places_of_each_evidence(opened: Opened) -> None:
    browser = printed(opened, "scaled")
    lines = browser.texts(f"{CAUSE}:first-of-type > :not(ul), {CAUSE}:first-of-type li")
    assert [line for line in lines if "conform" not in line] == SCALED


@pytest.mark.parametrize("name", ["made", "scaled", "chain", "nested", "hostile", "unasked"])
def test_each_obligation_that_the_list_shows_is_on_paper_once(opened: Opened, name: str) -> None:
    browser = printed(opened, name)
    shown, *_ = browser.texts("#shown")
    assert len(browser.texts("#paper .place")) == int(shown.split()[0])
    assert browser.evaluate("getComputedStyle(document.querySelector('#list table')).display") == (
        "none"
    )
    assert browser.noticed() == []


def test_paper_has_what_the_filter_leaves(opened: Opened) -> None:
    browser = opened("made")
    browser.choose("[name=rule]", "Div.int.C2")
    browser.show_as_printed()
    assert browser.texts("#shown") == ["1 of 14 checks"]
    assert browser.texts(f"{CAUSE} h3") == ["checked in each run: Div.int.C2\n1 check"]


def test_remedies_of_single_places_stand_at_these(opened: Opened) -> None:
    report, graph = check_with_outline(parse(SCALED_MODEL))
    violated = [o for o in report.obligations if o.rule.id == "Div.float.R1"]
    hints = {id(o): f"mend {o.node}" for o in violated[1:]}
    changed = tuple(
        replace(o, hint=hints.get(id(o), o.hint), mendable="") for o in report.obligations
    )
    browser = opened("hints", replace(report, obligations=changed), graph)
    browser.show_as_printed()
    items = browser.texts(f"{CAUSE}:first-of-type li")
    assert items == [
        f"Div 'n0': rank 2 is not rank 1. To fix it: {HINT}",
        *(f"Div 'n{n}': rank 2 is not rank 1. To fix it: mend n{n}" for n in (1, 2, 3)),
    ]
    assert browser.texts(f"{CAUSE} h3")[0] == "violated: Div.float.R1\n4 checks"


def test_place_in_a_branch_says_so(opened: Opened) -> None:
    browser = printed(opened, "nested")
    inside = " in If 'again' then_branch in If 'choose' else_branch"
    assert f"'inner'{inside}" in browser.texts("#paper .place")


def test_nothing_of_the_paper_stays_on_the_screen(opened: Opened) -> None:
    browser = printed(opened, "made")
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.texts("#paper *") == []
    assert browser.evaluate("document.body.className") == ""


UNPRINTED = "The graph is too large for a sheet of paper. The page shows it in a browser."

PARTS = "#list, #drawing, body > section, #stage, .unprinted"


@pytest.mark.parametrize(("name", "parts"), [
    ("made", ["list", "drawing", "stage", "Operators of the model", "Findings"]),
    ("late", ["list", "drawing", UNPRINTED, "Operators of the model", "Findings"]),
])  # fmt: skip
def test_list_comes_first_and_a_graph_that_can_be_read_after_it(
    opened: Opened, name: str, parts: list[str]
) -> None:
    browser = printed(opened, name)
    found = browser.evaluate(
        f"""[...document.querySelectorAll({PARTS!r})]
            .filter((e) => e.getClientRects().length)
            .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
            .map((e) => e.id || (e.querySelector("h2") ?? e).textContent)"""
    )
    assert found == parts


@pytest.fixture(name="large", scope="module")
def _large() -> tuple[Report, GraphOutline]:
    """A report of more than 2,000 obligations, each with evidence of its own."""
    report, graph = check_with_outline(parse(CHAIN))
    copies = (
        replace(each, node=f"encoder/layers.{number}/{each.node}", evidence=f"{each.evidence} {at}")
        for number in range(7)
        for at, each in enumerate(report.obligations)
    )
    return replace(report, obligations=tuple(copies)), graph


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "page.pdf"


def test_two_thousand_obligations_take_few_sheets(
    opened: Opened, large: tuple[Report, GraphOutline], target: Path
) -> None:
    assert len(large[0].enforced) > 2000
    assert 5 < opened("large", *large).sheets(target) <= 30


@pytest.mark.parametrize(("name", "sheets"), [("made", 2), ("chain", 4)])
def test_small_reports_take_few_sheets(
    opened: Opened, name: str, sheets: int, target: Path
) -> None:
    assert opened(name).sheets(target) <= sheets


@pytest.mark.parametrize("width", [500, 1150, 1400])
def test_no_status_is_cut(opened: Opened, width: int) -> None:
    cut = opened("made", width=width).evaluate(
        "[...document.querySelectorAll('.status')].filter((e) => e.scrollWidth > e.clientWidth)"
        ".map((e) => e.textContent)"
    )
    assert cut == []
