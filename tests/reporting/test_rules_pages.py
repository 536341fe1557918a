"""The pages of the rules in the documentation."""

import re
from pathlib import Path

import pytest

from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.contract_rules import CONTRACT_RULES
from sonnx_ort.profile.graph import FINITE, GENERAL_RULES
from sonnx_ort.reporting.explanation import describe_operator
from sonnx_ort.reporting.rules_pages import rules_pages, write_rules_pages

DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs"


def written(folder: Path) -> dict[str, str]:
    paths = [folder / "rules.md", *(folder / "rules").glob("*.md")]
    return {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.*)$", page, re.MULTILINE)


def rules_of(page: str) -> list[str]:
    return [rule for heading in headings(page) for rule in heading.split(", ")]


def test_documentation_has_these_pages_and_no_others() -> None:
    assert written(DOCUMENTATION) == rules_pages()


def test_page_says_who_decides_the_signs_of_zeros() -> None:
    pages = rules_pages()
    said = "Signs of zeros: decided: the draft orders 0 above -0."
    assert said in pages["rules/max.md"]
    assert "Signs of zeros" not in pages["rules/argmax.md"]


def test_page_of_an_operator_that_there_is_no_longer_is_removed(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "acosh.md").touch()
    write_rules_pages(tmp_path)
    assert written(tmp_path) == rules_pages()


def test_every_rule_has_one_section_on_the_page_of_its_operator() -> None:
    pages = rules_pages()
    for name, operator in OPERATORS.items():
        rules = [rule.id for rule in operator.all_rules()]
        assert sorted(rules_of(pages[f"rules/{name.lower()}.md"])) == sorted(rules)
    of_graph = [rule.id for rule in (*GENERAL_RULES, FINITE, *CONTRACT_RULES)]
    assert rules_of(pages["rules/graph.md"]) == of_graph


@pytest.mark.parametrize(("page", "rule", "bound"), [
    ("div", "Div.float.R1", "typed edition, float"),
    ("div", "Div.R5", "preliminary edition, float, int"),
    ("div", "Div.int.C2", "both editions, int"),
    ("add", "Add.float.R1", "both editions, float"),
    ("graph", "GR1", "every graph, in both editions"),
    ("graph", "Graph.finite", "where it is selected, in both editions"),
    ("graph", "Contract.range", "values with a contract, in both editions"),
])  # fmt: skip
def test_section_says_where_a_rule_binds(page: str, rule: str, bound: str) -> None:
    sections = rules_pages()[f"rules/{page}.md"].split("\n## ")
    [section] = [s for s in sections if rule in s.partition("\n")[0].split(", ")]
    assert re.search(rf"- \*\*(?:Source|`{rule}`):\*\* {bound}\. ", section)


def test_rules_with_the_same_words_share_a_section_and_keep_their_anchors() -> None:
    page = rules_pages()["rules/div.md"]
    assert "## Div.float.RG1, Div.int.RG1\n" in page
    assert '<a id="divfloatrg1"></a><a id="divintrg1"></a>' in page


def test_section_begins_with_the_rule_and_what_keeps_and_breaks_it() -> None:
    section = rules_pages()["rules/div.md"].partition("## Div.int.C1\n\n")[2]
    assert section.startswith(
        "No element of B is zero.\n\n- **Keeps it:** `A [6, 9], B [3, 2]`. **Breaks it:** `"
    )


def test_index_links_to_the_section_of_every_rule() -> None:
    links = re.findall(r"\[`([^`]+)`\]\(([^)#]+)#([^)]+)\)", rules_pages()["rules.md"])
    pages = rules_pages()
    assert {rule for rule, _, _ in links} == set(RULES)
    for rule, page, anchor in links:
        assert rule in rules_of(pages[page])
        assert anchor == re.sub(r"[^\w-]", "", rule).lower()


@pytest.mark.parametrize("name", OPERATORS)
def test_description_says_what_happens_without_enforcement(name: str) -> None:
    told = describe_operator(name).unenforced
    assert re.search(r"\bONNX Runtime \d+\.\d+\.\d+ ", told), told


def test_operator_without_a_file_is_an_error() -> None:
    with pytest.raises(LookupError):
        describe_operator("Acosh")
