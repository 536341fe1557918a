"""Hold the entries of the traceability to the texts they quote.

`scripts/traceability.py --against CHECKOUT` reads each text in the commit that is followed from a
clone of its repository. It lists quotations and tags that the text does not have, entries that
stand elsewhere in it, lines that demand something and have no entry, and other lines that belong to
none; of a draft of an operator, its examples that are no cases of the suite and have no reason, and
those that it does not have. It ends with exit status 1 if there is one, and with 2 if an entry is
unusable. Blanks and markup make no difference: drafts change their LaTeX and HTML without changing
a word. Of texts that no rule follows, it compares the checksums.

A text that the clone does not have is not compared, and ends it with exit status 1 too. With
`--without TITLE` it may be missing.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from environment import exit_status, run_in_environment

run_in_environment()

from tracing.entries import Document, Entry, UnusableEntry, read_documents

from sonnx_ort.profile.source import TEXTS, UNFOLLOWED, Text
from sonnx_ort.vectors.documents import EXAMPLES, LEFT_OUT

ELLIPSIS = "…"
"""Stands in a quotation for what is omitted of it."""

_CONTENTS = "Contents"
_TEMPLATE = re.compile(r"\[(?:END|E_\w+FUNC_\w+|/?\w+\d)\]|-+")
"""Marks of the group's own tools: where what has a tag ends."""

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_SECTION = re.compile(r"[\w ]+\((.*)\)")
"""The heading of the section of an operator on some types."""

_FEW_TYPES = 3
"""Of how many types a section has their names."""

_EXAMPLE = re.compile(r".*\bexample\b.*", re.IGNORECASE)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)")
_MARKUP = re.compile(
    r"<[^>]*>|\\(?:text(?:bf|it|tt)?|mathrm|mathbf|bf|rm)\b|[*$`{}\\]|(?<!\w)_|_(?!\w)"
)
_NO_SENTENCE = re.compile(
    r"[\W\d_]*|[Ww]here:?|.*\b(?:begin|end) [bpv]?(?:matrix|cases|aligned|gathered|array)\b.*"
)
_NORMATIVE = re.compile(r"\b(?:shall|must|should)\b|\[(?:E_\w+CONSTR\w*|[CR]\d+)\]|^[-| ]*R\d+ \|")
_REFERENCE = re.compile(r"\b[Ss]ee (?:also )?(?:the )?(?:constraint|restriction)", re.IGNORECASE)
_REAL = re.compile(r"\breals?\b", re.IGNORECASE)


class UnreadableText(Exception):  # noqa: N818 - reads as what it is
    """A text can't be read in its state; the message says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text: its headings below those of the operator, and its words without markup.

    `number` counts from 1. `real`: it stands in the section on real numbers, which no machine has.
    """

    number: int
    place: str
    words: str
    real: bool


Findings = Mapping[str, Sequence[str]]
"""What is found of a text and its entries, by its kind.

Quotations that a text does not have, and tags; entries that name a place at which it has none of
their quotations; lines that demand something and that no entry quotes; other lines of no entry.
Examples that are no cases, and those that the text does not have.
"""


def read_text(text: Text, checkout: Path) -> str:
    """Read a text in its state from a clone of its repository, or from a folder with its path.

    Raises:
        UnreadableText: Neither has it, or its checksum is another.
    """
    git = shutil.which("git") or "git"
    show = [git, "-C", str(checkout), "cat-file", "blob", f"{text.commit}:{text.path}"]
    done = subprocess.run(show, capture_output=True, check=False)
    content = done.stdout
    if done.returncode:
        file = checkout / text.path
        if not file.is_file():
            raise UnreadableText(f"{checkout} has no commit {text.commit[:12]} with {text.path}")
        content = file.read_bytes()
    checksum = hashlib.sha256(content).hexdigest()
    if text.sha256 and checksum != text.sha256:
        raise UnreadableText(f"{text.path} has the checksum {checksum}, not {text.sha256}")
    return content.decode("utf-8")


def compare(document: Document, content: str) -> tuple[Findings, int]:
    """Compare the entries of a document with its content.

    Returns:
        The findings, and how many lines the content has that say something.
    """
    lines = list(lines_of(content))
    words = " ".join(line.words for line in lines)
    quotations = [(entry.id, q) for entry in document.entries for q in entry.quotations]
    quoted = [part for _, quotation in quotations for part in _parts(quotation)]
    whole = {place for e in document.entries if e.whole for place in e.places}
    says_nothing = (_NO_SENTENCE, _TEMPLATE)
    sentences = [x for x in lines if not any(p.fullmatch(x.words) for p in says_nothing)]
    found: dict[str, list[str]] = {
        "not in the text": [f"{name}: {q}" for name, q in quotations if not _occurs(q, words)],
        "tag not in the text": [
            f"{e.id}: {e.tag}" for e in document.entries if e.tag and e.tag not in content
        ],
        "elsewhere in the text": list(_moved(document.entries, lines)),
        "demanded, without an entry": [],
        "without an entry": [],
    }
    for line in sentences:
        if (line.real and _has_other_types(lines)) or _is_quoted(line, quoted):
            continue
        told = f"{line.number}: {line.place}: {line.words}"
        if _NORMATIVE.search(line.words) and not _REFERENCE.search(line.words):
            found["demanded, without an entry"].append(told)
        elif not _within(line.place, whole):
            found["without an entry"].append(told)
    return found, len(sentences)


def compare_examples(document: Document, content: str) -> Findings:
    """Compare the examples of a draft with those of the suite; figures have no heading."""
    operator = document.name.removeprefix("SONNX ").partition(",")[0]
    if not document.name.startswith(f"SONNX {operator}, draft of the working group ("):
        return {}
    cases = {place for each in EXAMPLES if each.operator == operator for place in each.places}
    reasons = {place for of, place in LEFT_OUT if of == operator}
    known = {place for place in cases | reasons if _EXAMPLE.fullmatch(place)}
    printed = {*examples_of(content)}
    return {
        "example without a case": sorted(printed - known),
        "example not in the text": sorted(known - printed),
    }


def examples_of(content: str) -> Iterator[str]:
    """The headings of the examples of a draft, each with the types of its section if it has one.

    The heading "Examples" is above examples.
    """
    section = ""
    for line in content.splitlines():
        heading = _HEADING.fullmatch(line.strip())
        if heading is None:
            continue
        words = plain(heading[2])
        if len(heading[1]) == 1 and (found := _SECTION.fullmatch(words)):
            types = [*dict.fromkeys(each.strip() for each in found[1].split(","))]
            section = f"{', '.join(types)}: " if len(types) <= _FEW_TYPES else ""
        name = words.partition(":")[0].strip()
        if _EXAMPLE.fullmatch(name):
            yield f"{section}{name}"


def lines_of(content: str) -> Iterator[Line]:
    """Give the lines of a text with their places; headings are places and no lines."""
    headings: list[tuple[int, str]] = []
    fenced = False
    for number, line in enumerate(content.splitlines(), start=1):
        fence = line.strip()
        # What ends a block names no language.
        if fence.startswith("```") and not (fenced and fence.strip("`")):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.fullmatch(line.strip())
        if heading is None:
            above = [name for _, name in headings]
            place = ", ".join(above[1:] or above)
            if place == _CONTENTS:
                continue
            yield Line(number, place, plain(line), any(map(_REAL.search, above)))
            continue
        level = len(heading[1])
        headings = [(rank, name) for rank, name in headings if rank < level]
        headings.append((level, plain(heading[2]).partition(":")[0].strip()))


def plain(text: str) -> str:
    """The words of a text, with one blank between each and without markup."""
    return " ".join(_MARKUP.sub(" ", _LINK.sub(r"\1", text)).split())


def _has_other_types(lines: Sequence[Line]) -> bool:
    return any(not line.real and line.place for line in lines)


def _is_quoted(line: Line, quoted: Sequence[str]) -> bool:
    words = line.words.lstrip("-> ")
    return bool(words) and any(part in words or words in part for part in quoted)


def _within(place: str, places: set[str]) -> bool:
    """Whether a place, or one above it, is one of these; without a comma, at any depth."""
    headings = place.split(", ")
    return any(
        f"{whole}, " in f"{place}, " if ", " in whole else whole in headings for whole in places
    )


def _moved(entries: Sequence[Entry], lines: Sequence[Line]) -> Iterator[str]:
    headings = {part for line in lines for part in line.place.split(", ")}
    for entry in entries:
        parts = [part for quotation in entry.quotations for part in _parts(quotation)]
        there = {x.place for x in lines if entry.whole or _is_quoted(x, parts)}
        for place in entry.places:
            named = {part for part in re.split(r"[:,] ", place) if part in headings}
            if not any(named <= set(found.split(", ")) for found in there) or not named:
                yield f"{entry.id}: not at '{place}', but at {sorted(there)}"


def _occurs(quotation: str, words: str) -> bool:
    position = 0
    for part in _parts(quotation):
        position = words.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True


def _parts(quotation: str) -> list[str]:
    return [plain(part) for part in quotation.split(ELLIPSIS)]


def run(arguments: Sequence[str]) -> int:
    """Compare all entries with their texts."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--against", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument(
        "--only", default="", metavar="TITLE", help="texts with this in their title"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="TITLE",
        help="the clone may lack texts with this in their title; may be repeated",
    )
    options = parser.parse_args(arguments)
    quotations = sentences = compared = missing = findings = 0
    try:
        documents = read_documents()
    except UnusableEntry as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for document in documents:
        text = TEXTS.get(document.name)
        if text is None or options.only not in document.name:
            continue
        try:
            content = read_text(text, options.against)
        except UnreadableText as error:
            missing += _is_missed(document.name, error, options.without)
            continue
        found, said = compare(document, content)
        found = {**found, **compare_examples(document, content)}
        listed = [f"  {kind}: {finding}" for kind, those in found.items() for finding in those]
        heading = f"{document.name}: {len(listed)} findings in {said} sentences"
        print(heading, *listed, sep="\n")
        compared += 1
        quotations += sum(len(entry.quotations) for entry in document.entries)
        sentences += said
        findings += len(listed)
    unchanged = 0
    for text in UNFOLLOWED:
        if options.only not in text.title:
            continue
        try:
            read_text(text, options.against)
        except UnreadableText as error:
            missing += _is_missed(text.title, error, options.without)
            continue
        unchanged += 1
    print(
        f"{compared} texts compared: {quotations} quotations, {sentences} sentences, "
        f"{findings} findings; {unchanged} others unchanged; {missing} not compared"
    )
    return 1 if findings or missing or not (compared or unchanged) else 0


def _is_missed(title: str, error: UnreadableText, without: Sequence[str]) -> bool:
    """Say that a text was not compared, and whether that is a finding."""
    expected = any(part in title for part in without)
    print(f"{title}: not compared{', as it may be' if expected else ''}: {error}")
    return not expected


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
