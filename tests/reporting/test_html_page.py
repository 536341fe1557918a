"""The page of a report in a browser: what a reader sees, finds and can reach."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

import sonnx_ort
from sonnx_ort import Contract, SizeContract, ValueContract
from sonnx_ort.reporting.html_report import html_report
from support.browser import (
    MODELS,
    NAME,
    ROWS,
    SELECTED,
    Browser,
    Opened,
    rules_shown,
    vertex,
    why_no_browser,
)
from support.checks import MADE, MENDING, mendable
from support.examined import check_with_outline
from support.graphs import parse

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))


EVIDENCE = """\
rank 2 is not rank 1
To fix it: rewrite with --broadcast explicit, which expands B from (3,) to (n, 3)
[*] sonnx-ort conform fixes it: make the broadcast of the operands explicit
A 'r' float (n, 3) [Softplus 'relu']
B 'y' float (3,) [input]
rule and source
The rule: Tensors A, B and C must have the same shape.
Source: SONNX Div, typed edition, section FP16, FP32, FP64, BFLOAT16, R1 (stated, as written; \
later E_DIV_FLOAT_CONSTR_A_0010)""".splitlines()


@pytest.mark.parametrize("name", MODELS)
def test_page_opens_without_an_error_and_asks_for_nothing(opened: Opened, name: str) -> None:
    browser = opened(name)
    assert browser.texts(ROWS)
    assert browser.noticed() == []


SHOWN = {
    "what is not looked at, where there is nothing else": (
        *("unasked", f"{ROWS} td:first-child"),
        [f"proved\nAdd.float.{tag}\nnot enforced" for tag in ("R2", "RG1", "R1")],
    ),
    "violations first": (
        *("made", f"{ROWS} .status"),
        ["violated"] + ["checked in each run"] * 2 + ["proved"] * 8,
    ),
    "obligations of one cause as one entry": (
        *("chain", f"{ROWS} td:first-child"),
        [
            "checked in each run\nDiv.float.R1\n100 checks",
            *(f"proved\nDiv.float.{tag}\n100 checks" for tag in ("R2", "RG1")),
        ],
    ),
    "the first nodes of an entry": (
        *("chain", f"{ROWS}:nth-child(2) td:nth-child(2) button"),
        ["Div 'n0'", "Div 'n1'", "Div 'n2'", "Show all 100"],
    ),
    "the worst": (
        *("late", ".worst"),
        ["Worst: Div 'broken' Div.float.R1: axis 0 has size 2 in A and 3 in B"],
    ),
    "nothing folded where all of it is shown": ("made", ".unfold", []),
    "nothing folded in branches": ("nested", ".unfold", []),
}


@pytest.mark.parametrize("what", SHOWN)
def test_page_shows(opened: Opened, what: str) -> None:
    name, selector, texts = SHOWN[what]
    assert opened(name).texts(selector) == texts


FILTERS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "rule": (("choose", "[name=rule]", "Div.int.C2"), ["Div.int.C2"]),
    "operator": (
        ("choose", "[name=operator]", "Sub"),
        ["Sub.float.R2", "Sub.float.RG1", "Sub.float.R1"],
    ),
    "enforced": (
        ("choose", "[name=enforced]", "no"),
        ["Add.float.R2", "Add.float.RG1", "Add.float.R1"],
    ),
    "evidence": (("fill", "[name=text]", "RANK 2"), ["Div.float.R1"]),
    "two words": (("fill", "[name=text]", "quotient elements"), ["Div.int.C1", "Div.int.C2"]),
    "no such text": (("fill", "[name=text]", "nothing has this"), []),
}


@pytest.mark.parametrize("name", FILTERS)
def test_obligations_are_filtered_and_counted(opened: Opened, name: str) -> None:
    (what, *where), rules = FILTERS[name]
    browser = opened("made")
    getattr(browser, what)(*where)
    assert rules_shown(browser) == rules
    assert browser.texts("#shown") == [f"{len(rules)} of 14 checks"]


def test_a_violation_tells_evidence_operands_hint_rule_and_source(opened: Opened) -> None:
    browser = opened("made")
    browser.click(f"{ROWS} summary")
    status, node, evidence = browser.texts(f"{ROWS}:first-child td")
    assert (status.split(), node) == (["violated", "Div.float.R1", "[*]"], "Div 'ratio'")
    assert [line for line in evidence.splitlines() if line] == EVIDENCE


def test_what_is_known_of_an_operand_stands_behind_it(opened: Opened) -> None:
    contract = Contract((ValueContract("x", (-4, 0.1)),), sizes=(SizeContract("n", 1, 8),))
    made = parse("(float[n] x, float[2] b) => (float[?] z) { a = Sqrt(x) [scale] z = Div(a, b) }")
    browser = opened("contract", *check_with_outline(made, contract=contract))
    browser.choose("select[name=rule]", "Div.float.R1")
    assert browser.texts(f"{ROWS} td li") == [
        "A 'a' float (n,) [Sqrt]: elements 0 to 0.316228 or NaN, n is 1 to 8",
        "B 'b' float (2,) [input]",
    ]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"node": "ratio"}, "Waived: by a board until 9999-12-31: looked at"),
        (
            {"node": None, "operator": "Div", "count": 1},
            "Waived: by a board until 9999-12-31, 1 in all: looked at",
        ),
    ],
    ids=["one node", "many nodes"],
)
def test_a_waived_violation_tells_of_its_waiver(
    opened: Opened, named: dict[str, Any], said: str
) -> None:
    waiver = sonnx_ort.Waiver(
        rule="Div.float.R1", reason="looked at", who="a board", until=dt.date.max, **named
    )
    _, graph = check_with_outline(parse(MADE))
    report = sonnx_ort.check(parse(MADE), operators="default", waivers=[waiver])
    browser = opened(f"waived_{len(named)}", report, graph)
    assert said in browser.texts(f"{ROWS}:first-child td")[-1].splitlines()


def test_the_button_of_a_row_works_while_text_is_selected(opened: Opened) -> None:
    browser = opened("made")
    browser.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
    browser.evaluate(f"document.querySelector('{ROWS} td button').click()")
    assert browser.evaluate(SELECTED) == '["ratio"]'


def test_an_entry_unfolds_to_its_obligations_and_folds(opened: Opened) -> None:
    browser = opened("chain")
    browser.click(".unfold")
    assert browser.texts(".member td button") == [f"Div 'n{i}'" for i in range(100)]
    assert browser.texts(".unfold")[0] == "Fold"
    browser.click(".unfold")
    assert browser.texts(".member") == []


def test_mended_at_many_nodes_is_told_once(opened: Opened) -> None:
    browser = opened("scaled")
    status, places, evidence = browser.texts(f"{ROWS}:first-child td")
    assert status.split() == ["violated", "Div.float.R1", "[*]", "4", "checks"]
    assert places.split("\n")[-1] == "Show all 4"
    lines = evidence.splitlines()
    assert "rank 2 is not rank 1" in lines
    assert "[*] sonnx-ort conform fixes them: make the broadcast of the operands explicit" in lines


def test_next_command_is_copied(opened: Opened) -> None:
    browser = opened("made")
    browser.click("#copy")
    browser.evaluate("document.querySelector('[name=text]').focus()")
    browser.press("Control+V")
    assert browser.texts("#copy") == ["Copied"]
    assert browser.evaluate("document.querySelector('[name=text]').value") == (
        "sonnx-ort rewrite made.onnx -o made.enforced.onnx --record made.record.json "
        "--broadcast explicit --operators default"
    )


def test_symbols_are_explained_where_they_stand(opened: Opened) -> None:
    browser = opened("symbols")
    browser.evaluate("document.querySelectorAll('.unfold').forEach((each) => each.click())")
    titles = browser.evaluate(
        "[...document.querySelectorAll('.shape')].map((e) => [e.textContent, e.title])"
    )
    numbered = "?1: a size that depends on the input; the same number means the same size"
    quotient = "trunc(a/b): the quotient, rounded towards zero"
    declared = "n: a size that the model leaves open, by the name that an input declares"
    assert ["(?1,)", numbered] in titles
    assert ["(1, 1, trunc((n - 2)/2) + 1)", f"{declared}\n{quotient}"] in titles
    assert browser.texts("#symbols dt") == ["n", "?1", "trunc(a/b)"]


def test_every_control_can_be_reached_by_the_tab_key(opened: Opened) -> None:
    browser = opened("made")
    reached = set()
    for _ in range(60):
        browser.press("Tab")
        reached.add(
            browser.evaluate(
                "document.activeElement.id || document.activeElement.name"
                " || document.activeElement.tagName"
            )
        )
    assert {"find", "zoom-in", "zoom-out", "zoom-fit", "canvas"} <= reached
    assert {"status", "rule", "operator", "enforced", "text", "SUMMARY", "BUTTON"} <= reached


@pytest.mark.parametrize("width", [375, 390, 800, 1400])
@pytest.mark.parametrize("name", MODELS)
def test_page_does_not_scroll_sideways(opened: Opened, name: str, width: int) -> None:
    browser = opened(name, width=width)
    browser.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("scheme", "dark"), [("light", False), ("dark", True)], ids=["light", "dark"]
)
def test_page_is_as_the_reader_prefers(opened: Opened, scheme: str, dark: bool) -> None:
    browser = opened("made", scheme=scheme)
    assert (luminance(browser, "backgroundColor", "body") < 0.5) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("text", "around"),
    [
        (".counts .violated", "header"),
        (".counts .runtime", "header"),
        (".counts .proved", "header"),
        (".verdict .word", ".verdict"),
        (".verdict p + p", ".verdict"),
        (".notice", ".notice"),
        ("#list th", "#list"),
        ("#list summary", "#list"),
        ("#chosen", "#chosen"),
        (".node.violated text", ".node.violated rect"),
        (".node.runtime text", ".node.runtime rect"),
        (".node.proved text", ".node.proved rect"),
        (".node.not-asked-for text", ".node.not-asked-for rect"),
        (".node.plain text", ".node.plain rect"),
    ],
)
def test_text_has_the_contrast_of_wcag_aa(
    opened: Opened, scheme: str, text: str, around: str
) -> None:
    browser = opened("made", scheme=scheme)
    drawn = text.startswith(".node")
    ink = luminance(browser, "fill" if drawn else "color", text)
    paper = luminance(browser, "fill" if drawn else "backgroundColor", around)
    darker, lighter = sorted((ink, paper))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(browser: Browser, style: str, selector: str) -> float:
    """The relative luminance, as WCAG defines it, of a colour that an element has."""
    query = f"getComputedStyle(document.querySelector({json.dumps(selector)})).{style}"
    red, green, blue = browser.evaluate(f"{query}.match(/[\\d.]+/g).slice(0, 3).map(Number)")
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (red / 255, green / 255, blue / 255)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_names_are_text_wherever_they_show(opened: Opened) -> None:
    browser = opened("hostile")
    browser.click(vertex(NAME))
    assert browser.texts(f"{ROWS} td button")[0] == f"Div '{NAME}'"
    assert browser.texts("#chosen span") == [f"Only Div '{NAME}': violated whenever it runs"]
    assert browser.evaluate("document.querySelectorAll('img, b:not(.hint b)').length") == 0
    assert browser.noticed() == []


def test_violations_are_told_where_scripts_are_off(opened: Opened) -> None:
    browser = opened("made", script=False)
    (told,) = browser.texts("noscript pre")
    assert "Div 'ratio': Div.float.R1 violated: rank 2 is not rank 1" in told
    assert len(browser.texts(".node")) == 5


def test_what_conform_can_mend_is_marked_and_says_how(opened: Opened) -> None:
    browser = opened("mendable", *check_with_outline(mendable(), operators="profile,-Graph"))
    status, _, evidence = browser.texts(f"{ROWS}:first-child td")
    assert status.split() == ["violated", "Concat.R1", "[*]"]
    assert f"[*] sonnx-ort conform fixes it: {MENDING}" in evidence.splitlines()


def test_a_script_that_got_into_the_page_would_not_run(opened: Opened, tmp_path: Path) -> None:
    script = "<script>document.title = 'run'</script></header>"
    page = html_report(*check_with_outline(parse(MADE)), "made.onnx")
    (tmp_path / "changed.html").write_text(page.replace("</header>", script), encoding="utf-8")
    browser = opened("made")
    browser.open(tmp_path / "changed.html")
    assert browser.evaluate("document.title") == "Violated: made.onnx"


def test_line_of_the_network_is_shown_and_found(opened: Opened) -> None:
    made = parse("(float[n] x, float[m] y) => (float[n] z) { [ratio] z = Div(x, y) w = Sub(x, y) }")
    trace = 'File "model.py", line 31, in forward\n    return x / y'
    made.graph.node[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    browser = opened("exported", *check_with_outline(made))
    assert browser.noticed() == []
    written = browser.texts(f"{ROWS} td:nth-child(2) .remark")
    assert set(written) == {"written at model.py:31 in forward"}
    assert len(browser.texts(ROWS)) > len(written)
    browser.evaluate(
        "(() => { const text = document.querySelector('#filter [name=text]');"
        " text.value = 'model.py:31';"
        " text.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
    assert len(browser.texts(ROWS)) == len(written)
