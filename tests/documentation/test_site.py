"""The site: its pages and pictures."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest
from navigation import expanded, on_config, on_page_content, search_of

import sonnx_ort
from docs import PACKAGE, lay_out_package
from support.browser import Browser, browsing, why_no_browser
from support.pages import REPOSITORY, anchors

DOCUMENTATION = REPOSITORY / "docs"
PAGES = sorted(DOCUMENTATION.rglob("*.md"))
MADE_IN_PART = [page for page in PAGES if pages.PLACE.search(page.read_text("utf-8"))]
LINKING = [*PAGES, *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md"))]


def test_site_leads_to_every_page():
    configuration = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ *- (?:\w+: )?([\w/*-]+\.md)", configuration, re.MULTILINE)
    there = [page.relative_to(DOCUMENTATION).as_posix() for page in PAGES]
    assert sorted(expanded(listed, DOCUMENTATION)) == sorted(there)


def test_page_of_a_new_operator_takes_its_place_by_itself(tmp_path):
    (tmp_path / "rules").mkdir()
    for name in ("graph", "div", "acosh"):
        (tmp_path / f"rules/{name}.md").touch()
    nav = ["index.md", {"Rules": ["rules/*.md", "rules/graph.md"]}, {"Home": "home.md"}]
    configuration = on_config({"nav": nav, "docs_dir": str(tmp_path)})
    assert configuration["nav"] == [
        "index.md",
        {"Rules": ["rules/acosh.md", "rules/div.md", "rules/graph.md"]},
        {"Home": "home.md"},
    ]


@pytest.mark.parametrize(("page", "told"), [
    ("how-to/conform.md", {"boost": 4}),
    ("first-hour.md", {"boost": 4}),
    ("native.md", {}),
    ("rules/div.md", {}),
    ("qualification/tool.md", {"boost": 0.5}),
    ("mutants.md", {"boost": 0.5}),
    ("traceability.md", {"exclude": True}),
])  # fmt: skip
def test_search_finds_guides_first_and_the_traceability_not_at_all(page, told):
    assert (DOCUMENTATION / page).is_file()
    assert search_of(page) == told


def test_options_are_marked_that_a_browser_would_break():
    marked = '<code class="option">'
    content = "<code>--input-shape x=1,3</code> <code>-o</code> <code>a-b</code> <code>-24</code>"
    assert on_page_content(content) == (
        f"{marked}--input-shape x=1,3</code> {marked}-o</code> <code>a-b</code> <code>-24</code>"
    )
    assert re.search(r"^code\.option \{\n  white-space: nowrap;\n\}", STYLE, re.MULTILINE)


STYLE = (DOCUMENTATION / "site.css").read_text(encoding="utf-8")


def test_reference_has_every_public_name():
    reference = (DOCUMENTATION / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^(?:::: sonnx_ort\.|## )(\w+)$", reference, re.MULTILINE)
    assert sorted(named) == sorted(sonnx_ort.__all__)


@pytest.mark.parametrize("page", LINKING, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_links_within_the_repository_lead_somewhere(page):
    follow_links(page)


def follow_links(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
        file = page.parent / target if target else page
        assert file.is_file(), f"{target} is not there"
        assert not anchor or anchor in anchors(file), f"{target} has no heading {anchor}"


@pytest.mark.parametrize("page", LINKING, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_every_row_of_a_table_stands_below_its_head(page):
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        head, rule, *rows = table.splitlines()
        assert re.fullmatch(r"\|(?: :?-+:? \|)+", rule), f"no table begins with {head}"
        assert [row for row in rows if cells(row) != cells(head)] == []


def cells(row: str) -> int:
    """The cells of a row; a bar in code parts none, nor does one behind a backslash."""
    return len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row)))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_links_of_the_site_lead_to_files_of_the_site(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
        file = (page.parent / target).resolve()
        assert file.is_relative_to(DOCUMENTATION), f"{target} is not in docs/"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The pages as scripts/pages.py writes them."""
    folder = tmp_path_factory.mktemp("made") / "docs"
    assert pages.write_pages(folder) == 0
    return folder


@pytest.mark.parametrize("page", MADE_IN_PART, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_page_has_all_that_is_made_for_it_and_its_links_lead_somewhere(page, made):
    written = made / page.relative_to(DOCUMENTATION)
    by_hand = [part for part in pages.PLACE.split(page.read_text("utf-8"))[::2] if part.strip()]
    text = written.read_text("utf-8")
    assert "<!-- made" not in text
    assert all(part in text for part in by_hand)
    follow_links(written)


@pytest.mark.parametrize("page", MADE_IN_PART, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_page_that_is_made_in_part_says_how_and_where(page):
    text = " ".join(page.read_text("utf-8").split())
    assert re.search(r"`python3 scripts/pages\.py( --results FILE)?` writes them to ", text)
    assert f"`build/{page.relative_to(REPOSITORY).as_posix()}`" in text


def test_other_pages_and_files_are_as_they_are_written_by_hand(made):
    files = {file.relative_to(DOCUMENTATION) for file in DOCUMENTATION.rglob("*.*")}
    assert {file.relative_to(made) for file in made.rglob("*.*")} == files
    for file in files - {page.relative_to(DOCUMENTATION) for page in MADE_IN_PART}:
        assert (made / file).read_bytes() == (DOCUMENTATION / file).read_bytes()


def test_pages_replace_older_ones(tmp_path):
    (tmp_path / "gone.md").touch()
    assert pages.write_pages(tmp_path) == 0
    assert not (tmp_path / "gone.md").exists()


def described_names() -> list[str]:
    reference = (DOCUMENTATION / "api.md").read_text(encoding="utf-8")
    return re.findall(r"^::: (\S+)$", reference, re.MULTILINE)


@pytest.mark.parametrize("name", described_names())
def test_described_name_is_defined_in_the_sources_of_the_site(name, sources):
    """Follows the imports as mkdocstrings does, which imports nothing."""
    assert defines(sources, name), f"{name} is not found in the sources"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    lay_out_package(REPOSITORY, folder)
    return folder


def defines(sources: Path, name: str) -> bool:
    """Whether there is such a module, or a module defines the name or imports it from another."""
    parts = name.split(".")
    folder = sources.joinpath(*parts)
    if folder.with_suffix(".py").is_file() or (folder / "__init__.py").is_file():
        return True
    module, last = sources.joinpath(*parts[:-1]), parts[-1]
    file = next(f for f in (module.with_suffix(".py"), module / "__init__.py") if f.is_file())
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(origin), names=names) if last in {n.name for n in names}:
                return defines(sources, f"{origin}.{last}")
            case ast.ClassDef(name=defined) | ast.FunctionDef(name=defined) if defined == last:
                return True
    return False


def test_site_reads_the_sources_and_pages_that_are_laid_out_for_it():
    configuration = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    (paths,) = re.findall(r"^ *paths: \[(.*?)\]", configuration, re.MULTILINE)
    assert REPOSITORY / paths == PACKAGE
    (folder,) = re.findall(r"^docs_dir: (\S+)", configuration, re.MULTILINE)
    assert REPOSITORY / folder == pages.PAGES


def test_findings_name_every_test_that_shows_one():
    page = (DOCUMENTATION / "findings.md").read_text(encoding="utf-8")
    shown = (path.name for path in (REPOSITORY / "tests" / "upstream").glob("test_*.py"))
    assert set(re.findall(r"`(test_\w+\.py)`", page)) == set(shown)


def test_every_finding_about_software_that_is_tested_here_names_its_test():
    page = (DOCUMENTATION / "findings.md").read_text(encoding="utf-8")
    tested, _, _ = page.partition("\n## Other engines\n")
    rows = re.findall(r"^\| ([A-Z]\d+) \|.* \| (.*) \|$", tested, re.MULTILINE)
    assert rows
    assert [number for number, shown in rows if not re.search("`test_|the same test", shown)] == []


def test_findings_name_tests_that_there_are():
    page = (DOCUMENTATION / "findings.md").read_text(encoding="utf-8")
    sources = (REPOSITORY / "tests" / "upstream").glob("test_*.py")
    functions = {
        name
        for source in sources
        for name in re.findall(r"^def (test_\w+)", source.read_text(), re.MULTILINE)
    }
    named = set(re.findall(r"`(test_\w+)`", page))
    assert named
    assert named <= functions


PICTURE = REPOSITORY / "docs" / "overhead.svg"

TEXT, GRAPHIC = 4.5, 3.0
"""The contrasts that WCAG 2.2 demands of text (1.4.3) and of what else tells something (1.4.11)."""

CONTRASTS = """(() => {
    const light = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
        const [r, g, b] = parts.map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, other) => {
        const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const style = (element) => getComputedStyle(element);
    const ground = style(document.querySelector("#patch_1 path")).fill;
    const lines = [...document.querySelectorAll("[id^=axes] > [id^=line2d] > path")];
    return {
        text: [...document.querySelectorAll("text")].map((t) => contrast(style(t).fill, ground)),
        lines: lines.map((line) => contrast(style(line).stroke, ground)),
        ground: light(ground),
    };
})()"""
"""Of the texts, and of the lines drawn; those of the grid are there to be looked past."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    with browsing() as browser:
        yield browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_picture_can_be_read(browser: Browser, scheme: str) -> None:
    browser.open(PICTURE, scheme=scheme)
    found = browser.evaluate(CONTRASTS)
    assert found["text"]
    assert min(found["text"]) >= TEXT
    assert found["lines"]
    assert min(found["lines"]) >= GRAPHIC
    assert (found["ground"] > 0.5) == (scheme == "light")
