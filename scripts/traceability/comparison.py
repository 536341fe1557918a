"""Compares the entries with the documents themselves, where these are at hand."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from traceability.entries import ELLIPSIS, Document

_NO_SENTENCE = re.compile(
    r"[\W\d_]*|#.*|```.*|.*\\(begin|end)\{.*|<a id=.*|[Ww]here"
    r"|Version|Summary|Inputs|Outputs|Attributes|Type Constraints|Examples"
)
"""Lines that are none: headings, fences, matrices, signs alone."""


def false_quotations(documents: Sequence[Document], folder: Path) -> Iterator[str]:
    """Find the quotations that a document does not have."""
    for document in documents:
        text = _plain((folder / document.file).read_text(encoding="utf-8"))
        for entry in document.entries:
            missing = (q for q in entry.quotations if not _occurs(q, text))
            yield from (f"{entry.id}: not in {document.file}: {q}" for q in missing)


def lines_without_entry(document: Document, folder: Path) -> Iterator[str]:
    """Give the lines of a document of which no quotation has a part."""
    parts = [part for entry in document.entries for q in entry.quotations for part in _parts(q)]
    for line in (folder / document.file).read_text(encoding="utf-8").splitlines():
        plain = _plain(line)
        quoted = any(part in plain or plain in part for part in parts)
        if not quoted and not _NO_SENTENCE.fullmatch(plain):
            yield plain


def _occurs(quotation: str, text: str) -> bool:
    position = 0
    for part in _parts(quotation):
        position = text.find(part, position)
        if position < 0:
            return False
    return True


def _parts(quotation: str) -> list[str]:
    return [_plain(part) for part in quotation.split(ELLIPSIS)]


def _plain(text: str) -> str:
    return " ".join(text.split())
