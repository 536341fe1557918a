"""The page of all entries, with what meets and shows each: `docs/traceability.md`."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from environment import ROOT

from sonnx_ort.profile.catalog import RULES
from traceability.entries import Document, Entry, all_entries
from traceability.marks import Mark

PAGE = ROOT / "docs" / "traceability.md"
"""The page."""

_HEAD = """\
# Traceability

Every sentence of the specification documents that demands or defines something: how it is met, in
which code, and which tests show it. One that demands nothing here has the reason. Of the drafts of
other operators, and of the general restrictions, those sentences have entries that rules come from:
the constraints, with their permanent tags where they have them. The documents are drafts and state
no licence; sentences are quoted as far as is needed to find them.

{summary}

`python3 scripts/trace_documents.py` makes this page, from the entries in
`scripts/traceability/documents` and from the tests that are marked `@pytest.mark.satisfies(...)`.
The tests fail where an entry has no test, where a mark or an entry names what is not there, where a
rule that a document states has no entry, and where the page is not as it would be made. With
`--documents FOLDER` the script compares the entries with the documents themselves, of which every
line has one, but of the drafts.
"""


def page(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]) -> str:
    """Write the page."""
    lines = [_HEAD.format(summary=_summary(documents, marks))]
    for document in documents:
        lines.append(f"## {document.name}\n")
        for entry in document.entries:
            lines.extend(_lines(entry, marks.get(entry.id, ())))
    return "\n".join(lines)


def _summary(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]) -> str:
    entries = list(all_entries(documents))
    tests = {mark.test for entry in entries for mark in marks.get(entry.id, ())}
    proofs = sum(test.startswith("tests/proofs/") for test in tests)
    applicable = sum(not entry.not_applicable for entry in entries)
    shown = f"{len(tests) - proofs} tests" + (f" and {proofs} proofs" if proofs else "")
    return (
        f"{len(documents)} documents, {len(entries)} entries: {applicable} that apply, shown by "
        f"{shown}, and {len(entries) - applicable} that do not."
    )


def _lines(entry: Entry, marks: Sequence[Mark]) -> Iterator[str]:
    yield f"### {entry.id}\n"
    tag = f" [{entry.tag}]" if entry.tag else ""
    yield f"- **Where:** {'; '.join(entry.places)}{tag}"
    yield f"- **Sentence:** {_quoted(entry.sentence)}"
    if entry.also:
        yield f"- **Also:** {'; '.join(map(_quoted, entry.also))}"
    if entry.not_applicable:
        yield f"- **Not applicable:** {entry.not_applicable}"
    for rule in entry.rules:
        yield f"- **Rule:** [`{rule}`]({_page_of(rule)}): {RULES[rule].sentence}"
    if entry.met:
        yield f"- **Met:** {entry.met}"
    code = dict.fromkeys((*map(_requirement, entry.rules), *entry.code))
    if code:
        yield f"- **Code:** {_listed(code)}"
    tests = [mark.test for mark in marks if not mark.is_proof]
    proofs = [mark.test for mark in marks if mark.is_proof]
    if tests:
        yield f"- **Tests:** {_listed(tests)}"
    if proofs:
        yield f"- **Proofs:** {_listed(proofs)}"
    yield ""


def _listed(names: Sequence[str] | Mapping[str, None]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _quoted(sentence: str) -> str:
    # Quotations hold backticks of their own.
    return f"`` {sentence} ``"


def _page_of(rule: str) -> str:
    operator, point, _ = rule.partition(".")
    # What binds the whole graph has no operator in its name.
    page = operator.lower() if point else "graph"
    return f"rules/{page}.md#{rule.lower().replace('.', '')}"


def _requirement(rule: str) -> str:
    """Where the procedure is written that decides a rule."""
    kind = type(RULES[rule].requirement)
    path = Path(inspect.getfile(kind)).resolve().relative_to(ROOT)
    return f"{path.as_posix()}:{kind.__name__}"
