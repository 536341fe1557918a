"""The drawing on the page of a report: what is shown, found and reached in it."""

import json

import pytest

from support.browser import ROWS, SELECTED, Opened, in_view, rules_shown, vertex, why_no_browser
from support.examined import check_with_outline
from support.graphs import parse

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

LED = {
    "status": ("made", ["[value=proved]", "[value=violated]"], 2, None),
    "all again": ("made", [vertex("ratio"), "#chosen button"], 11, '["ratio"]'),
    "worst": ("late", [".worst button"], 3, '["broken"]'),
}


@pytest.mark.parametrize("name", LED)
def test_clicks_lead_to_a_node_and_to_obligations(opened: Opened, name: str) -> None:
    model, clicked, count, selected = LED[name]
    browser = opened(model)
    for selector in clicked:
        browser.click(selector)
    assert len(rules_shown(browser)) == count
    assert browser.evaluate(SELECTED) == selected


@pytest.mark.parametrize(
    ("text", "found", "selected"),
    [
        ("N97", "1 of 1", '["n97"]'),
        ("div n9", "1 of 11", '["n9"]'),
        ("nothing has this", "none", None),
    ],
)
def test_nodes_are_found_by_operator_and_name(
    opened: Opened, text: str, found: str, selected: str | None
) -> None:
    browser = opened("chain")
    browser.fill("#find", text)
    assert browser.texts("#found") == [found]
    assert browser.evaluate(SELECTED) == selected
    if selected is not None:
        assert in_view(browser, vertex(*json.loads(selected)))


def test_enter_leads_through_what_is_found(opened: Opened) -> None:
    browser = opened("chain")
    browser.fill("#find", "n9")
    browser.press("Enter")
    assert browser.texts("#found") == ["2 of 11"]
    browser.press("Shift+Enter")
    browser.press("Shift+Enter")
    assert browser.texts("#found") == ["11 of 11"]
    assert in_view(browser, vertex("n99"))


def test_a_value_leads_to_the_node_that_gives_it(opened: Opened) -> None:
    made = parse("(float[2] x) => (float[2] y) { [first] t = Relu(x) [last] y = Relu(t) }")
    browser = opened("value", *check_with_outline(made, operators="profile"))
    browser.fill("[name=text]", "gives no shape")
    assert browser.texts(f"{ROWS} button") == ["value 't'"]
    browser.click(f"{ROWS} button")
    assert browser.evaluate(SELECTED) == '["first"]'
    browser.click(vertex("first"))
    assert "value 't'" in browser.texts(f"{ROWS} button")


def test_a_click_on_a_small_node_zooms_to_it(opened: Opened) -> None:
    browser = opened("chain")
    browser.click("#zoom-fit")
    browser.evaluate("document.querySelector('#zoom-out').click()")
    browser.evaluate(
        f"document.querySelector({json.dumps(vertex('n97'))}).dispatchEvent("
        "new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.texts("#zoom") == ["100%"]
    assert in_view(browser, vertex("n97"))


@pytest.mark.parametrize(("name", "count"), [("ratio", 3), ("sum", 3), ("relu", 0)])
def test_a_click_on_a_node_shows_its_obligations_alone(
    opened: Opened, name: str, count: int
) -> None:
    browser = opened("made")
    browser.click(vertex(name))
    buttons = browser.texts(f"{ROWS} td button")
    assert len(buttons) == count
    assert all(f"'{name}'" in text for text in buttons)
    assert browser.evaluate(SELECTED) == json.dumps([name])


@pytest.mark.parametrize(
    ("name", "path", "operator"),
    [
        ("inner", ["If 'choose' then_branch"], "Div"),
        ("inner", ["If 'choose' else_branch", "If 'again' then_branch"], "Sub"),
    ],
)
def test_nodes_in_subgraphs_are_told_apart_and_reached(
    opened: Opened, name: str, path: list[str], operator: str
) -> None:
    browser = opened("nested")
    browser.click(vertex(name, *path))
    shown = browser.texts(f"{ROWS} td:nth-child(2)")
    assert len(shown) == 3
    assert set(shown) == {"\n".join([f"{operator} '{name}'", *(f"in {p}" for p in path[::-1])])}


def test_a_click_on_a_row_shows_the_node(opened: Opened) -> None:
    browser = opened("chain")
    browser.fill("[name=text]", "n97")
    browser.click(f"{ROWS} td button")
    assert browser.evaluate(SELECTED) == '["n97"]'
    assert in_view(browser, vertex("n97"))


def test_a_large_graph_opens_at_its_first_finding(opened: Opened) -> None:
    browser = opened("late")
    assert browser.texts("#zoom") == ["100%"]
    assert in_view(browser, vertex("broken"))
    bottom = (
        f"document.querySelector({json.dumps(vertex('broken'))}).getBoundingClientRect().bottom"
    )
    assert browser.evaluate(bottom) < 900


def test_overview_of_a_long_graph_can_be_read(opened: Opened) -> None:
    browser = opened("chain")
    assert browser.texts("#zoom-fit") == ["Overview"]
    browser.evaluate("document.querySelector('#zoom-out').click()")
    browser.click("#zoom-fit")
    assert int(browser.texts("#zoom")[0].rstrip("%")) >= 45


def test_map_of_a_long_graph_leads_to_its_parts(opened: Opened) -> None:
    browser = opened("late")
    assert browser.evaluate("document.querySelectorAll('#map .violated').length") == 1
    browser.evaluate("document.querySelector('#drawing').scrollIntoView()")
    left, bottom = browser.evaluate(
        "(({right, bottom}) => [right - 5, bottom - 3])"
        "(document.querySelector('#map').getBoundingClientRect())"
    )
    browser.drag((left, bottom), (left, bottom))
    assert in_view(browser, vertex("m59"))


def test_drawing_is_moved_by_dragging_and_nothing_is_chosen_by_it(opened: Opened) -> None:
    browser = opened("chain")
    browser.evaluate("document.getElementById('canvas').scrollIntoView()")
    browser.evaluate("document.getElementById('canvas').scrollTo(0, 1000)")
    browser.drag((300, 400), (300, 300))
    assert browser.evaluate("document.getElementById('canvas').scrollTop") == 1100
    assert browser.evaluate(SELECTED) is None


def test_nodes_are_reached_and_shown_by_keys(opened: Opened) -> None:
    browser = opened("made")
    browser.evaluate("document.getElementById('canvas').focus()")
    for key in ("Tab", "ArrowUp", "Enter"):
        browser.press(key)
    assert browser.evaluate(SELECTED) == '["relu"]'


def test_a_constant_is_not_drawn_and_leads_to_what_reads_it(opened: Opened) -> None:
    browser = opened("constant")
    assert browser.evaluate("document.querySelectorAll('.node').length") == 1
    browser.fill("#find", "weights")
    assert browser.evaluate(SELECTED) == '["divide"]'


def test_zoom_changes_the_size_and_the_whole_graph_fits(opened: Opened) -> None:
    browser = opened("symbols")
    assert not browser.evaluate("document.querySelector('#map').checkVisibility()")
    browser.click("#zoom-in")
    assert browser.texts("#zoom") == ["125%"]
    browser.click("#zoom-fit")
    assert browser.texts("#zoom-fit") == ["Whole graph"]
    assert in_view(browser, "#graph")
