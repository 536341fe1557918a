"""Sentences of pages that promise something of all cases, and what shows that they hold."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from support.pages import REPOSITORY

WORDS = re.compile(
    r"\b(?:all|always|any|every|exact|exactly|never|nothing|proved|safe|safely|same bits)\b",
    re.IGNORECASE,
)
"""The words that make a sentence one that needs evidence."""

LISTS = REPOSITORY / "tests" / "documentation" / "promises"
"""The lists: one for each page, a table of TOML from sentences to their evidence."""

KINDS = {
    "definition": "says what a word, an option, a field or a procedure is",
    "instruction": "says what the reader has to do",
    "limit": "says what is not promised, or what goes wrong",
    "others": "says what other software, a document or a person does or demands",
    "tried": "says what was tried, with its number or its place",
    "example": "is about a block of code of the page, which the tests run",
}
"""What a sentence may be that promises nothing."""

TRIED = re.compile(r"\d|\b(?:campaign|compare|measure|record|test|tried|trial|try)", re.IGNORECASE)
"""What a sentence has that says what was tried."""

_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}[^\n]*\n|\n)+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PART = re.compile(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )|\n(?=\|)|\n(?=#)|(?<!\\)\|")
_END = re.compile(r"(?<=[.!?])[)*\"]* +(?=[A-Z`*\"\[(])")
_MARK = re.compile(r"^(?:[-*]|\d+\.) +")


def sentences(text: str) -> list[str]:
    """The sentences of a page that need evidence, in their order, each once.

    Left out are blocks of code, comments and headings. The rest is parted at empty lines, items of
    lists, rows of tables and their cells. A sentence ends with a full stop, an exclamation mark or
    a question mark in front of a space and a capital letter, or of what marks code, a link or a
    quotation. Line breaks count as spaces. Words between backquotes are not looked at.
    """
    rest = _COMMENT.sub("", _INDENTED.sub("\n", _FENCED.sub("", text)))
    parts = (" ".join(part.split()) for part in _PART.split(rest) if part)
    found = (
        sentence.strip()
        for part in parts
        if not part.startswith("#")
        for sentence in _END.split(_MARK.sub("", part))
    )
    return list(dict.fromkeys(s for s in found if WORDS.search(re.sub(r"`[^`]*`", "", s))))


def list_of(page: Path) -> Path:
    """The list of a page."""
    name = page.relative_to(REPOSITORY).with_suffix(".toml").as_posix().replace("/", ".")
    return LISTS / name


def listed(page: Path) -> dict[str, list[str]]:
    """What is listed of a page: the evidence of each sentence."""
    path = list_of(page)
    content = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    return {s: [shown] if isinstance(shown, str) else shown for s, shown in content.items()}


def faults_of(sentence: str, evidence: list[str], anchors: dict[str, set[str]]) -> Iterator[str]:
    """What is wrong with the evidence of a sentence.

    Args:
        sentence: The sentence.
        evidence: Tests, such as `tests/a/test_b.py::test_c`; pages, such as `docs/a.md#heading`;
            records, such as `docs/records/a.json`; or a kind alone.
        anchors: The anchors of each page, by its path.
    """
    if not evidence:
        yield "nothing"
    for one in evidence:
        path, _, name = one.replace("::", "#").partition("#")
        if one in KINDS:
            if len(evidence) > 1:
                yield f"{one} beside other evidence"
            elif one == "tried" and not TRIED.search(sentence):
                yield "tried, but no number and nothing that says what was tried"
        elif not (REPOSITORY / path).is_file():
            yield f"{one} is not there"
        elif path.endswith(".py"):
            if name and name not in functions(path):
                yield f"{path} has no {name}"
        elif name and name not in anchors[path]:
            yield f"{path} has no heading {name}"


def functions(path: str) -> set[str]:
    """The functions that a file of Python defines."""
    tree = ast.parse((REPOSITORY / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
