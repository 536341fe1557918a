"""The page of an audit in a browser: the worst node comes first and leads to the graph."""

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from sonnx_ort.options import choose_demands
from sonnx_ort.reporting.audit_page import audit_page
from sonnx_ort.reporting.audit_report import audit_text
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.verdicts import Element, NodeAudit, Sampling, Verdict
from support.browser import Browser, browsing, why_no_browser
from support.graphs import parse

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

UNITS = {"small": 745, "largest": 19694, "middle": 228, "least": 10}
LONG = "/encoder/layers/0/attention/" * 4
_STEPS = "\n".join(f'["{name}"] {name} = Exp(x)' for name in (*UNITS, "unknown", "exact"))
MODEL = f"""
    (float[2] x) => (float[2] y) {{
        {_STEPS}
        ["{LONG}"] y = Exp(exact)
    }}"""
ROWS = "#list tbody tr"


def node(name: str, verdict: Verdict, units: int | None = None) -> NodeAudit:
    worst = None
    if units is not None:
        worst = Element(name, (0,), (f"x = {'1' * 60}",), "1", "0.9 to 1.1", "2", units)
    reason = "there is no meaning" if verdict is Verdict.NOT_KNOWN else ""
    return NodeAudit(name, "Exp", (), verdict, worst=worst, reason=reason)


def audited(verdict: Verdict) -> Audit:
    nodes = (
        node("exact", Verdict.EXACT),
        *(node(name, verdict, units) for name, units in UNITS.items()),
        node("unknown", Verdict.NOT_KNOWN),
        node(LONG, Verdict.ADMITTED, 1),
    )
    demands = choose_demands("typed", "reject", "profile")
    return Audit(nodes, demands, Sampling(), "a run", {})


@pytest.fixture(name="browser", scope="module")
def _browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(name="page", scope="module")
def _page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audits")
    onnx.save(parse(MODEL), folder / "model.onnx")
    page = folder / "audit.html"
    page.write_text(audit_page(audited(Verdict.OUTSIDE), folder / "model.onnx"), encoding="utf-8")
    return page


def names(browser: Browser) -> list[str]:
    return [text.partition("'")[2].rstrip("'") for text in browser.texts(f"{ROWS} button")]


def test_page_opens_without_an_error_and_asks_for_nothing(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.noticed() == []


def test_nodes_are_listed_worst_first(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert names(browser) == ["largest", "small", "middle", "least", "unknown", LONG, "exact"]


def test_the_worst_of_a_kept_run_is_the_largest_admitted_error(
    browser: Browser, page: Path
) -> None:
    other = page.with_name("kept.html")
    made = audit_page(audited(Verdict.ADMITTED), page.with_name("model.onnx"))
    other.write_text(made, encoding="utf-8")
    browser.open(other)
    assert names(browser) == ["unknown", "largest", "small", "middle", "least", LONG, "exact"]
    (worst,) = browser.texts(".worst")
    said = "largest[0] = 2; exact 1; error: 19,694 units in the last place; none is admitted"
    assert worst == f"Worst: Exp 'largest' {said}"


def test_text_has_the_worst_first_as_well() -> None:
    lines = audit_text(audited(Verdict.OUTSIDE)).splitlines()
    heads = [line for line in lines if line.endswith(": outside")]
    assert heads == [f"Exp '{name}': outside" for name in ("largest", "small", "middle", "least")]


def test_list_and_graph_lead_to_each_other(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(f"{ROWS}:nth-child(2) button")
    chosen = "document.querySelector('.vertex.selected').dataset.key"
    assert browser.evaluate(chosen) == '["small"]'
    browser.click('.node[data-key="[\\"middle\\"]"]')
    assert names(browser) == ["middle"]
    browser.click("#chosen button")
    assert len(names(browser)) == 7


def test_nodes_are_filtered(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click("[value=violated]")
    browser.fill("[name=text]", "meaning")
    assert names(browser) == ["unknown"]
    assert browser.texts("#shown") == ["1 of 7 nodes"]


@pytest.mark.parametrize("width", [375, 390, 800, 1400])
def test_page_does_not_scroll_sideways(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
