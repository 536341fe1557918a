"""What a person reads has exact words and short sentences."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import REPOSITORY, anchors

PACKAGE = REPOSITORY / "sonnx_ort"
README = REPOSITORY / "README.md"
FIRST_READ = [
    README,
    *(REPOSITORY / "docs" / f"{name}.md" for name in ("index", "start", "first-hour", "concepts")),
]
"""The pages that a new user reads first."""

MOST_LINES = 80
"""Of README."""

MOST_WORDS, OF_THE_FIRST = 25, 15
"""Of a sentence, and of the first one of README."""

LINKS = 3
"""A sentence with so many is a list of links, whose words are not counted."""

LONG = {
    "docs/benchmarks.md": 15,
    "docs/campaigns.md": 7,
    "docs/exhaustive.md": 5,
    "docs/findings.md": 11,
    "docs/mutants.md": 5,
    "docs/real_models.md": 20,
}
"""Pages that have longer sentences, and how many: records of what was measured."""

INEXACT = re.compile(
    r"\b(?:doors?|on request|behind|without a word|known only in|only a run"
    r"|(?:in|no|another|same|this|many) ways?|(?<!in the last )(?:place|places) of"
    r"|stacks? of|obligations? (?:hold|by|of))\b"
)
"""Words for which a message has an exact one, such as "index", "batch", "check" or "after"."""

ROOMS = sorted(path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")


def messages(file: Path) -> Iterator[str]:
    """The texts of a source of several words, without its docstrings; {} is a value in a text."""
    tree = ast.parse(file.read_text("utf-8"))
    silent: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as text):
                silent.add(text)
            case ast.JoinedStr(values=parts):
                silent.update(parts)
                yield "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in parts)
            case ast.Constant(value=str() as text) if node not in silent and " " in text:
                yield text


@pytest.mark.parametrize("room", [PACKAGE, *ROOMS], ids=lambda room: room.name)
def test_messages_have_exact_words(room: Path) -> None:
    files = room.glob("*.py") if room == PACKAGE else room.rglob("*.py")
    found = [
        f"{file.relative_to(PACKAGE)}: {word[0]}: {text}"
        for file in sorted(files)
        for text in messages(file)
        for word in INEXACT.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_messages_are_all_texts_but_docstrings(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text(
        '"""In a docstring."""\nWORD = "one"\nTEXT = f"by a {WORD} text"\n'
        'other = ("of", "two words")\n'
    )
    assert list(messages(source)) == ["by a {} text", "two words"]


@pytest.mark.parametrize("text", [
    "it fails at the door", "they are left out on request", "nodes behind it", "in another way",
    "a constant in the place of it", "a stack of matrices", "7 obligations hold in every run",
])  # fmt: skip
def test_word_that_is_not_exact_is_noticed(text: str) -> None:
    assert INEXACT.search(text)


@pytest.mark.parametrize("text", ["4 units in the last place of each result", "not any way"])
def test_exact_word_is_not_noticed(text: str) -> None:
    assert not INEXACT.search(text)


READ = [
    *sorted(REPOSITORY.glob("*.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *(REPOSITORY / folder / "README.md" for folder in ("models", "examples")),
]
"""The pages that a user or a developer reads."""

_INDENTED = re.compile(r"(?<=\n\n)(?: {4}[^\n]*\n|\n)+")
_FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )|\n(?=[|#])|\|")
_END = re.compile(r"(?<=[.:;!?])[)*\"]* +")
_LINK = re.compile(r"\]\([^)]*\)")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page and the cells of its tables; a colon or a semicolon ends one."""
    prose = _INDENTED.sub("\n", _FENCED.sub("", text))
    for part in _PART.split(_LINK.sub("]", prose)):
        if not part.startswith("#"):
            yield from _END.split(" ".join(part.split()))


def words(sentence: str) -> int:
    return len(re.findall(r"\S*\w\S*", sentence))


@pytest.mark.parametrize("page", READ, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_sentences_of_pages_are_short(page: Path) -> None:
    found = [
        sentence
        for sentence in sentences(page.read_text("utf-8"))
        if words(sentence) > MOST_WORDS and sentence.count("[") < LINKS
    ]
    most = LONG.get(page.relative_to(REPOSITORY).as_posix(), 0)
    assert len(found) == most, "\n".join([f"{most} are admitted:", *found])


def test_first_pages_have_no_long_sentence() -> None:
    assert not {page.relative_to(REPOSITORY).as_posix() for page in FIRST_READ} & LONG.keys()


def test_sentences_end_with_their_mark_and_links_have_no_address() -> None:
    text = "One [link\nhere](https://example.org/a). Two: three."
    page = f"# Title\n\n{text}\n\n```sh\nls\n```\n- item\n"
    found = [each for each in sentences(page) if each]
    assert found == ["One [link here].", "Two:", "three.", "- item"]
    assert [words(each) for each in found] == [3, 1, 1, 1]


def test_readme_is_short_and_says_first_what_it_is() -> None:
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    _, first, for_whom, *_ = text.split("\n\n")
    assert words(first) <= OF_THE_FIRST
    assert "engineers" in for_whom
    assert {"install", "limits"} <= anchors(README)
