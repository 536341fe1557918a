"""Sentences that promise something of all cases have evidence, page by page."""

import json
import re
from pathlib import Path

import pytest

from sonnx_ort.cli import application
from support.pages import REPOSITORY, anchors
from support.promises import KINDS, LISTS, faults_of, list_of, listed, sentences

MADE = REPOSITORY / "docs" / "rules"
"""The pages of rules, which follow from the profile word for word, and have one list."""

SUMMARIES = {"CHANGELOG.md"}
"""Pages that say in short what others say, and link to them."""

NOT_YET_READ: set[str] = set()
"""Pages whose sentences nobody has held to their evidence yet."""

FOLDER = REPOSITORY / "docs"
PAGES = [
    *(page for page in sorted(FOLDER.rglob("*.md")) if MADE not in page.parents),
    *sorted(REPOSITORY.glob("*.md")),
    REPOSITORY / "models" / "README.md",
]


def named(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


READ = [page for page in PAGES if named(page) not in SUMMARIES | NOT_YET_READ]


@pytest.fixture(scope="module")
def headings() -> dict[str, set[str]]:
    """What links can point to, by page."""
    return {named(page): anchors(page) for page in PAGES}


@pytest.mark.parametrize("page", READ, ids=named)
def test_each_sentence_of_a_page_that_promises_something_has_evidence(
    page: Path, headings: dict[str, set[str]]
) -> None:
    found = faults(page, page.read_text("utf-8"), headings)
    assert not found, "\n".join([named(list_of(page)), *found])


def faults(page: Path, text: str, headings: dict[str, set[str]]) -> list[str]:
    """What is wrong with the list of a page, with the lines that are missing."""
    found, known = sentences(text), listed(page)
    missing = (json.dumps(s, ensure_ascii=False) for s in found if s not in known)
    return [
        *(f'add to the list: {sentence} = "?"' for sentence in missing),
        *(f"no more in the page: {sentence}" for sentence in known if sentence not in found),
        *(
            f"{fault}: {sentence}"
            for sentence, evidence in known.items()
            for fault in faults_of(sentence, evidence, headings)
        ),
    ]


def test_each_list_is_of_a_page() -> None:
    with_sentences = {list_of(page) for page in READ if sentences(page.read_text("utf-8"))}
    assert set(LISTS.iterdir()) == {*with_sentences, list_of(HELP), list_of(MADE / "pages")}


def test_each_sentence_of_the_pages_of_rules_that_promises_something_has_evidence(
    headings: dict[str, set[str]],
) -> None:
    text = "\n\n".join(page.read_text("utf-8") for page in sorted(MADE.glob("*.md")))
    assert faults(MADE / "pages", text, headings) == []


HELP = REPOSITORY / "commands.txt"
"""Where `sonnx-ort --help` would lie if it were a page."""


def helps() -> str:
    """What `--help` says of each command and of each option, apart from its examples."""
    texts = list(application.COMMANDS.values())
    for name in application.COMMANDS:
        command = application.load(name)
        texts += [command.help or "", *(getattr(each, "help", "") for each in command.params)]
    return "\n\n".join(re.sub(r"\n +", "\n", text or "") for text in texts)


def test_each_sentence_of_the_help_that_promises_something_has_evidence(
    headings: dict[str, set[str]],
) -> None:
    assert faults(HELP, helps(), headings) == []


def test_pages_that_are_not_yet_read_are_there() -> None:
    assert {named(page) for page in PAGES} >= SUMMARIES | NOT_YET_READ


PAGE = """\
# All headings are left out

Every model is
checked. `all` is code, and no word. It **never** fails (see `a.py`). "Safe" it is! This is not one.

- an item of any kind
  that goes on
- another

| all | of a table |
| --- | --- |
| same bits | unlike `every \\| bit` |

<!-- nothing -->

    every line of code

```text
all of these
```
"""


def test_sentences_are_those_with_a_word_of_the_list() -> None:
    assert sentences(PAGE) == [
        "Every model is checked.",
        "It **never** fails (see `a.py`).",
        '"Safe" it is!',
        "an item of any kind that goes on",
        "all",
        "same bits",
    ]


TEST = "tests/documentation/test_promises.py"


@pytest.mark.parametrize(
    ("evidence", "faults"),
    [
        (["definition"], []),
        ([TEST], []),
        ([f"{TEST}::test_each_list_is_of_a_page"], []),
        (["docs/page.md#heading", "docs/records/units.json"], []),
        ([], ["nothing"]),
        (["?"], ["? is not there"]),
        (["tests"], ["tests is not there"]),
        (["definition", TEST], ["definition beside other evidence"]),
        (["tried"], ["tried, but no number and nothing that says what was tried"]),
        ([f"{TEST}::test_gone"], [f"{TEST} has no test_gone"]),
        (["docs/gone.md#heading"], ["docs/gone.md#heading is not there"]),
        (["docs/index.md#gone"], ["docs/index.md has no heading gone"]),
    ],
)
def test_evidence_that_is_none_is_noticed(
    evidence: list[str], faults: list[str], headings: dict[str, set[str]]
) -> None:
    known = {**headings, "docs/glossary.md": {"heading"}}
    given = [one.replace("docs/page.md", "docs/glossary.md") for one in evidence]
    assert list(faults_of("All of it.", given, known)) == faults


@pytest.mark.parametrize("sentence", ["All 3 of them.", "All of them were tried."])
def test_sentence_that_says_what_was_tried_may_be_of_that_kind(sentence: str) -> None:
    assert list(faults_of(sentence, ["tried"], {})) == []


def test_kinds_are_explained() -> None:
    assert all(KINDS.values())
