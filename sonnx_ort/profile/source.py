"""The source of a rule: the document, who states it, in whose words, and what it rests on."""

import enum
from dataclasses import dataclass

from sonnx_ort.profile.texts import TEXTS, Text


class Standing(enum.StrEnum):
    """Who states a rule."""

    STATED = "stated"
    BY_ANALOGY = "by analogy"
    OWN = "own"


class Basis(enum.StrEnum):
    """What a rule rests on."""

    STATED = "stated"
    """A document or a draft of SONNX states it for the operator or the graph."""

    FOLLOWS = "follows"
    """ONNX demands it, or a general restriction of SONNX does."""

    OURS = "ours"
    """This project added it: by analogy, or for what documents leave open."""

    def __str__(self) -> str:
        """The basis in words, as a predicate of the rule."""
        return _BASIS_WORDS[self]


_BASIS_WORDS = {
    Basis.STATED: "stated by SONNX",
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
    """

    document: str
    section: str
    tag: str | None
    standing: Standing = Standing.STATED
    words: Words = Words.AS_WRITTEN
    remark: str = ""
    later_tag: str | None = None

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
