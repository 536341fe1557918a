"""The report as a page: what stands in it, whatever the names, and that it loads nothing."""

import datetime as dt
import html
import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.reporting.html_report import html_report
from sonnx_ort.reporting.next_steps import next_command
from sonnx_ort.reporting.page_parts import prose
from sonnx_ort.reporting.verdict import verdict
from support.checks import MADE, mendable
from support.command import command
from support.examined import check_with_outline
from support.graphs import binary_model, model, parse, tensor

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\"'><svg onload=alert(1)>",
    "</title></svg></template><img src=x onerror=alert(1)>",
    "]]><!--",
    "$title ${script} {verdict}",
    "&lt;b&gt;",
    "two\nlines\u2028and \u202emore",
]

VOID = {"meta", "input", "br", "img"}


class Page(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.data: dict[str, str] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.data[self.open[-1]] = self.data.get(self.open[-1], "") + data

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def written(made: onnx.ModelProto, **choices: str) -> str:
    return html_report(*check_with_outline(made, **choices), "model.onnx")


def hostile(name: str) -> onnx.ModelProto:
    """A model in which everything that has a name bears one that a page could take for markup."""
    node = onnx.helper.make_node("Div", [f"{name}A", f"{name}B"], [f"{name}C"], name=name)
    dead = onnx.helper.make_node("LogSoftmax", [f"{name}A"], [f"{name}D"], name=f"{name}soft")
    inputs = [tensor(f"{name}A", "float", [3]), tensor(f"{name}B", "float", [f"{name}n", 1])]
    inner = onnx.helper.make_node("Softplus", [f"{name}A"], [f"{name}F"], name=f"{name}in")
    body = onnx.helper.make_graph([inner], name, [], [tensor(f"{name}F", "float", [3])])
    custom = onnx.helper.make_node(
        name, [f"{name}A"], [f"{name}E"], f"{name}own", domain=name, **{name: body}
    )
    made = model(
        [node, dead, custom],
        inputs,
        [tensor(f"{name}C", "float", [None])],
        value_info=[tensor(f"{name}D", "float", [f"{name}d", 2])],
        domains={name: 1},
    )
    made.graph.name = name
    return made


def test_page_of_a_waived_violation_does_not_say_that_it_is_kept() -> None:
    made = binary_model("Div", "float", [3], [1])
    waiver = sonnx_ort.Waiver("Div.float.R1", "the_node", "looked at", "a board", dt.date.max)
    _, graph = check_with_outline(made)
    report = sonnx_ort.check(made, operators="default", waivers=[waiver])
    page = html_report(report, graph, "model.onnx")
    assert '<p class="word">Violated, and waived</p>' in page
    assert f"<p>{prose(verdict(report).detail)}</p>" in page
    assert '"who":"a board"' in page


@pytest.mark.parametrize("values", [(), (sonnx_ort.ValueContract("x", (0, 1)),)], ids=["no", "a"])
def test_page_has_the_contract_on_which_the_proofs_rest(
    values: tuple[sonnx_ort.ValueContract, ...],
) -> None:
    made, contract = (
        parse("(float[2] x) => (float[2] z) { z = Abs(x) }"),
        sonnx_ort.Contract(values),
    )
    _, graph = check_with_outline(made, contract=contract)
    page = html_report(sonnx_ort.check(made, contract=contract), graph, "model.onnx")
    assert page.count("<h2>Contract</h2>") == len(values)


def test_page_of_some_rules_says_so() -> None:
    made = binary_model("Div", "float", [3], [1])
    _, graph = check_with_outline(made)
    page = html_report(
        sonnx_ort.check(made, operators="default").selected(ignore="Div.float.R1"),
        graph,
        "model.onnx",
    )
    assert (
        "Not all rules are reported; left out: 1 rule with 0 proved, 0 runtime, 1 violated, "
        "0 findings" in page
    )


@pytest.fixture(name="page", scope="module")
def _page() -> Page:
    return Page(written(parse(MADE)))


def test_every_element_is_closed(page: Page) -> None:
    assert page.open == []


@pytest.mark.parametrize(
    ("shapes", "broadcast", "word"),
    [
        (([3], [3]), "reject", "Kept"),
        ((["n"], ["m"]), "reject", "Kept, with 1 check in each run"),
        (([3], [1]), "reject", "Violated"),
        (([3], [1]), "explicit", "Kept"),
    ],
    ids=str,
)
def test_verdict(
    shapes: tuple[list[int | str], list[int | str]], broadcast: str, word: str
) -> None:
    a, b = shapes
    page = written(binary_model("Div", "float", a, b), broadcast=broadcast)
    assert f'<p class="word">{word}</p>' in page


def test_with_explicit_broadcasting_the_verdict_is_said_of_the_rewritten_model() -> None:
    page = written(binary_model("Div", "float", [3], [1]), broadcast="explicit")
    assert "4 checks of the rewritten model, with its broadcasts written out, proved for" in page


def test_a_model_without_obligations_is_not_said_to_keep_anything() -> None:
    page = written(parse("(float[n] x) => (float[n] y) { y = Softplus(x) }"))
    assert '<p class="word">Not checked</p>' in page
    assert "There is no Div or Sub here; 1 node was not looked at." in page


def test_what_the_verdict_does_not_speak_of_stands_beside_it() -> None:
    notices = re.findall('<p class="notice">(.*?)</p>', written(parse(MADE)))
    assert notices == [
        "2 of 5 nodes not looked at; <code>--operators profile</code> covers all.",
    ]


def test_head_says_what_was_looked_at_and_with_what() -> None:
    made = parse(MADE)
    report = sonnx_ort.check(made, operators="default")
    facts = html.unescape(written(made))
    versions = (f"{name} {version}" for name, version in report.identity.versions.items())
    for told in (report.identity.sha256, "typed", "reject", "default", "graph", *versions):
        assert re.search(rf"(<bdi>|, ){re.escape(told)}(</bdi>|,)", facts)


@pytest.mark.parametrize(
    ("name", "title", "heading"),
    [
        ("made.onnx", "Violated: made.onnx", ["made.onnx"]),
        ("a/<b>.onnx", "Violated: <b>.onnx in a", ["<b>.onnx", "a"]),
        ("-", "Violated: standard input", ["standard input"]),
    ],
)
def test_title_and_heading_name_the_file(name: str, title: str, heading: list[str]) -> None:
    page = html_report(*check_with_outline(parse(MADE)), name)
    told, *_ = re.findall("<title>(.*?)</title>", page)
    assert html.unescape(told) == title
    head = page[page.index("<h1>") : page.index('<div class="verdict')]
    assert list(map(html.unescape, re.findall("<bdi>(.*?)</bdi>", head))) == heading


def test_verdict_has_the_next_command() -> None:
    page = html_report(*check_with_outline(parse(MADE)), "a 'b'.onnx")
    (command,) = re.findall(r'<code id="next">(.*?)</code>', page)
    expected = next_command(sonnx_ort.check(parse(MADE), operators="default"), "a 'b'.onnx")
    assert html.unescape(command) == expected


def test_settings_are_told_if_there_are_any() -> None:
    report, graph = check_with_outline(parse(MADE))
    assert "Settings" not in html_report(report, graph, "made.onnx")
    page = html_report(replace(report, settings="<a>/pyproject.toml"), graph, "made.onnx")
    assert "<dt>Settings</dt><dd><bdi>&lt;a&gt;/pyproject.toml</bdi></dd>" in page


def test_remedies_are_in_the_words_of_the_command(page: Page) -> None:
    hints = json.loads(re.findall(r'id="view">(.*?)</script>', written(parse(MADE)))[0])["hints"]
    assert list(hints.values()) == [
        "rewrite with --broadcast explicit, which expands B from (3,) to (n, 3)"
    ]
    assert "--broadcast explicit" in page.data["pre"]


STACKS = "(float[n,2,3] x, float[n,3,4] y) => (float[n,2,4] z) { z = MatMul(x, y) }"


def test_page_has_the_line_of_the_option_that_may_fix_a_violation(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(STACKS), "m.onnx")
    command("check", "m.onnx", "--format", "html", "-o", "m.html", "--operators", "MatMul")
    view = json.loads(re.findall(r'id="view">(.*?)</script>', Path("m.html").read_text())[0])
    ((why, line),) = view["advised"].values()
    sizes = "--assume-shape x=1,2,3 --assume-shape y=1,3,4"
    assert why == (
        "sonnx-ort conform with an option may fix it: 'x' and 'y' are both batches of matrices, "
        "and SONNX has no batched MatMul; the number of matrices in a batch depends on the input; "
        f"fix them: {sizes}"
    )
    assert line == f"sonnx-ort conform m.onnx -o m.conforming.onnx {sizes} --operators MatMul"
    assert command(*shlex.split(line)[1:]).returncode == 0


def test_page_holds_the_report_in_its_documented_form() -> None:
    made = parse(MADE)
    (data,) = re.findall(
        r'<script type="application/json" id="report">(.*?)</script>', written(made)
    )
    assert json.loads(data) == json.loads(sonnx_ort.check(made, operators="default").to_json())


def test_every_node_is_drawn_in_the_state_of_its_obligations(page: Page) -> None:
    drawn = {
        json.loads(a["data-key"] or "")[0]: (a["class"] or "").split()[2]
        for a in page.attributes("g")
        if "data-key" in a
    }
    assert drawn == {
        "relu": "plain",
        "ratio": "violated",
        "quotient": "runtime",
        "difference": "proved",
        "sum": "not-asked-for",
    }


def test_of_a_call_the_page_says_that_nothing_in_the_function_is_checked() -> None:
    page = written(
        parse(
            "(float[n] x) => (float[n] z) { [call] z = local.twice(x) }"
            ' <opset_import: ["" : 17], domain: "local"> twice (a) => (b) { b = Add(a, a) }',
            domains={"local": 1},
        )
    )
    assert (
        "local::twice &#x27;call&#x27;: a call of a function, whose nodes are not checked" in page
    )


def test_states_differ_in_more_than_colour(page: Page) -> None:
    signs = [a["d"] for a in page.attributes("path") if a.get("class") == "sign"]
    assert len(signs) == len(set(signs)) == 4


@pytest.mark.parametrize("name", HOSTILE)
def test_names_make_no_elements(name: str) -> None:
    plain, page = Page(written(hostile("plain"))), Page(written(hostile(name)))
    assert page.open == []
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    assert [set(attributes) for _, attributes in page.elements] == [
        set(attributes) for _, attributes in plain.elements
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_in_the_data_as_they_are(name: str) -> None:
    page = Page(written(hostile(name)))
    keys = [json.loads(a["data-key"] or "") for a in page.attributes("g") if "data-key" in a]
    in_body = [f"{name}in", f"{name} '{name}own' {name}"]
    assert keys == [[name], [f"{name}soft"], [f"{name}own"], in_body]


def test_nothing_is_loaded_from_anywhere() -> None:
    page = written(parse(MADE))
    assert not re.search(r"https?:|//[a-z]|\burl\(|@import", page)
    tags = {tag for tag, _ in Page(page).elements}
    assert tags.isdisjoint({"link", "img", "iframe", "object", "embed", "base", "audio", "video"})


def test_policy_admits_its_own_script_and_style_alone(page: Page) -> None:
    (policy,) = (a["content"] for a in page.attributes("meta") if "http-equiv" in a)
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; "
        r"base-uri 'none'; form-action 'none'",
        policy or "",
    )


def test_a_page_of_a_small_model_is_small() -> None:
    assert len(written(parse(MADE)).encode()) < 70_000


def test_each_node_adds_little() -> None:
    def chain(count: int) -> int:
        nodes = "".join(f"[n{i}] v{i + 1} = Div(v{i}, v{i})\n" for i in range(count))
        return len(written(parse(f"(float[k] v0) => (float[k] v{count}) {{ {nodes} }}")).encode())

    assert (chain(220) - chain(20)) / 200 < 3_000


@pytest.mark.parametrize("form", ["typed", "preliminary"])
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_every_bundled_model_has_a_page(name: str, form: str) -> None:
    assert Page(written(sonnx_ort.models.load(name), edition=form)).open == []


def test_verdict_says_how_much_conform_can_mend() -> None:
    page = written(mendable(), operators="profile,-Graph")
    assert "sonnx-ort conform fixes 1.</p>" in page


def test_verdict_says_nothing_of_mending_where_nothing_can_be_mended() -> None:
    made = parse("(float[2] x) => (float[2] y) { y = Softmax<axis = 5>(x) }")
    page = written(made, operators="profile,-Graph")
    assert "sonnx-ort conform" not in page[: page.index("<main>")]


def test_no_backtick_of_ours_is_shown() -> None:
    made = parse("(float[2] x, float[1] y) => (float[2] z) { z = Div(x, y) }")
    page = Page(written(made, operators="profile,Graph.finite"))
    assert not any("`" in text for tag, text in page.data.items() if tag != "script")


def test_graph_of_a_page_is_that_of_the_file() -> None:
    """What `check` tries out to see what can be fixed is not drawn."""
    made = parse("(float[2] x) => (float[2] y) { [unread] r = Relu(x) [last] y = Relu(x) }")
    _, graph = check_with_outline(made, operators="profile")
    assert [vertex.label for vertex in graph.vertices if vertex.is_node] == ["unread", "last"]
