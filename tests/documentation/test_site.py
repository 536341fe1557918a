"""The site of the documentation: all pages, all public names, no dead link."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from navigation import expanded, on_config

import sonnx_ort
from support.pages import REPOSITORY

DOCUMENTATION = REPOSITORY / "docs"
PAGES = sorted(DOCUMENTATION.rglob("*.md"))
LINKING = [*PAGES, *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md"))]


def anchors(page: Path) -> set[str]:
    """What links can point to in a page: its headings, as renderers name them, and anchors."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    own = set(re.findall(r'<a id="([^"]+)"></a>', text))
    return own | {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


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


def test_reference_has_every_public_name():
    reference = (DOCUMENTATION / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^(?:::: sonnx_ort\.|## )(\w+)$", reference, re.MULTILINE)
    assert sorted(named) == sorted(sonnx_ort.__all__)


@pytest.mark.parametrize("page", LINKING, ids=lambda p: p.relative_to(REPOSITORY).as_posix())
def test_links_within_the_repository_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
        file = page.parent / target if target else page
        assert file.is_file(), f"{target} is not there"
        assert not anchor or anchor in anchors(file), f"{target} has no heading {anchor}"


@pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="the extra 'docs' is not installed"
)
def test_site_is_built_without_a_warning(tmp_path):
    script = REPOSITORY / "scripts" / "docs.py"
    command = [sys.executable, script, "--site-dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "index.html").is_file()


def test_findings_name_every_test_that_shows_one():
    page = (DOCUMENTATION / "findings.md").read_text(encoding="utf-8")
    shown = (path.name for path in (REPOSITORY / "tests" / "upstream").glob("test_*.py"))
    assert set(re.findall(r"`(test_\w+\.py)`", page)) == set(shown)


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
