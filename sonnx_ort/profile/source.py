"""The source of a rule, and the texts that rules follow, each with repository and commit.

A source is the document, who states it, in whose words, and what it rests on. The texts, those of
`texts.csv`, are drafts that change. A rule is held against one state of them, which anyone can
fetch. Texts that no rule follows are there too, with the reason.
"""

import csv
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

_TABLE = Path(__file__).with_name("texts.csv")
_DRAFT = "SONNX {}, draft of the working group ("


@dataclass(frozen=True, slots=True)
class Text:
    """One text in the state that is followed.

    Attributes:
        title: Its title, which sources of rules name.
        repository: `owner/name` on GitHub.
        commit: The commit whose state of the text is followed, 40 hexadecimal digits.
        date: The day of the text's last change up to that commit, `YYYY-MM-DD`, or its month;
            empty if it is not known.
        sha256: The checksum of the text's bytes; empty where the commit is in no repository that
            can be cloned, so that only an index of files has the text.
        path: Where it stands in the repository.
        unfollowed: Why no rule follows it; empty for one that is followed.
    """

    title: str
    repository: str
    commit: str
    date: str
    sha256: str
    path: str
    unfollowed: str = ""

    @property
    def address(self) -> str:
        """The address of this state of the text."""
        return f"https://github.com/{self.repository}/blob/{self.commit}/{self.path}"


with _TABLE.open(encoding="utf-8", newline="") as _table:
    _ALL = tuple(Text(**row) for row in csv.DictReader(_table))

TEXTS: Mapping[str, Text] = MappingProxyType({t.title: t for t in _ALL if not t.unfollowed})
"""Every text that is followed, by its title."""

UNFOLLOWED = tuple(text for text in _ALL if text.unfollowed)
"""The texts of the same repositories that no rule follows."""


@cache
def draft_of(operator: str) -> Text:
    """The working group's draft of an operator.

    Raises:
        KeyError: There is none.
    """
    start = _DRAFT.format(operator)
    for title, text in TEXTS.items():
        if title.startswith(start):
            return text
    raise KeyError(operator)


class Standing(enum.StrEnum):
    """Who states a rule."""

    STATED = "stated"
    BY_ANALOGY = "by analogy"
    OWN = "own"


class Basis(enum.StrEnum):
    """What a rule rests on."""

    STATED = "stated"
    """A document or a draft of SONNX states it for the operator or the graph."""

    CHOSEN = "chosen"
    """A document states it, and has another sentence that contradicts it."""

    FOLLOWS = "follows"
    """ONNX demands it, or a general restriction of SONNX does."""

    OURS = "ours"
    """This project added it: by analogy, or for what documents leave open."""

    def __str__(self) -> str:
        """The basis in words, as a predicate of the rule."""
        return _BASIS_WORDS[self]


_BASIS_WORDS = {
    Basis.STATED: "stated by SONNX",
    Basis.CHOSEN: "chosen by sonnx_ort between two sentences of SONNX",
    Basis.FOLLOWS: "follows from ONNX or SONNX's general restrictions",
    Basis.OURS: "a rule of sonnx_ort, not of SONNX",
}


class Words(enum.StrEnum):
    """Who wrote the sentence of a rule."""

    AS_WRITTEN = "as written"
    CHANGED = "changed"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a rule.

    Attributes:
        document: The title and edition of the document.
        section: The section that states the rule.
        tag: The document's tag; None if it has none, or for a rule added by this project.
        standing: Whether the document states the rule, a similar rule, or neither.
        words: Whether the rule's sentence is quoted from the document.
        remark: Differences from the document or gaps in it, and the decision taken, in sentences;
            empty if there are none.
        later_tag: The permanent tag of this rule in the working group's later drafts.
        contradicted: Whether the document has another sentence that contradicts the rule, so that
            it is this project's choice to follow this one. The remark says which both are.
    """

    document: str
    section: str
    tag: str | None
    standing: Standing = Standing.STATED
    words: Words = Words.AS_WRITTEN
    remark: str = ""
    later_tag: str | None = None
    contradicted: bool = False

    @property
    def text(self) -> Text | None:
        """The state of the document that is followed; None if there is no document."""
        return TEXTS.get(self.document)

    def __str__(self) -> str:
        """Format the source on one line."""
        if self.tag is None:
            whose = "" if self.standing is Standing.STATED else " (added by sonnx_ort)"
            return f"{self.document}, {self.section}{whose}"
        return f"{self.document}, {self.section} [{self.tag}]"
