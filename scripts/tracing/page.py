"""The page of all entries, with what meets them and the tests that show them."""

from collections.abc import Iterator, Mapping, Sequence

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.graph import CONTRACT
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import TEXTS, Standing
from tracing.entries import Document, Entry, all_entries, own_rules, requirement
from tracing.faults import faults_of, faults_of_rule, in_words
from tracing.marks import PROOFS, Mark, marks_of
from tracing.shown import Shown

_OWN = """## Rules that no document states

{all} rules have no entry above: {analogous} are demanded by analogy with another operator, and
{own} are this project's own. The source is what the rule itself says, with the reason for it.
"""


def text(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]], shown: Shown) -> str:
    """Write what is below the head of the page."""
    lines = [f"{_summary(documents, marks)}\n", *_tried(documents, marks, shown)]
    for document in documents:
        lines.append(f"## {document.name}\n")
        lines.extend(_state(document.name))
        for entry in document.entries:
            lines.extend(_lines(entry, marks.get(entry.id, ()), shown))
    own = own_rules(documents)
    lines.append(_OWN.format(**_counts(own)))
    for rule in own:
        lines.extend(_own(rule, marks_of(rule, marks), shown))
    return "\n".join(lines)


def _summary(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]) -> str:
    entries = list(all_entries(documents))
    tests = {mark.test for entry in entries for mark in marks.get(entry.id, ())}
    proofs = sum(test.startswith(PROOFS) for test in tests)
    applicable = sum(not entry.not_applicable for entry in entries)
    shown = f"{len(tests) - proofs} tests" + (f" and {proofs} proofs" if proofs else "")
    return (
        f"{len(documents)} documents, {len(entries)} entries: {applicable} that apply, shown by "
        f"{shown}, and {len(entries) - applicable} that do not."
    )


def _tried(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]], shown: Shown
) -> Iterator[str]:
    """How many entries and rules are shown by a test that fails, and how old the trials are."""
    names = [entry.id for entry in all_entries(documents) if not entry.not_applicable]
    names += [rule.id for rule in own_rules(documents)]
    reviewed = sum(bool(entry.review) for entry in all_entries(documents))
    missing = {name for name, _ in shown.missing(documents, marks)}
    left = f", and {len(missing)} by neither" if missing else ""
    yield (
        f"Of {len(names)} entries and rules, {len(names) - reviewed - len(missing)} are shown by "
        f"tests that fail if what the entry names does otherwise, {reviewed} by review{left}.\n"
    )
    if changed := shown.changed:
        yield (
            "**Some trials are old**: these files have changed since, and what they have was not "
            f"tried again: {_listed(changed)}.\n"
        )


def _counts(own: Sequence[Rule]) -> Mapping[str, int]:
    analogous = sum(rule.source.standing is Standing.BY_ANALOGY for rule in own)
    return {"all": len(own), "analogous": analogous, "own": len(own) - analogous}


def _state(title: str) -> Iterator[str]:
    if known := TEXTS.get(title):
        checksum = known.sha256 or "not taken, for no clone has the commit"
        yield f"[{known.path}]({known.address}), last changed {known.date}. SHA-256: {checksum}.\n"


def _lines(entry: Entry, marks: Sequence[Mark], shown: Shown) -> Iterator[str]:
    yield f"### {entry.id}\n"
    tag = f" [{entry.tag}]" if entry.tag else ""
    yield f"- **Where:** {'; '.join(entry.places)}{tag}"
    yield f"- **Sentence:** {_quoted(entry.sentence) if entry.sentence else 'all others there'}"
    if entry.also:
        yield f"- **Also:** {'; '.join(map(_quoted, entry.also))}"
    if entry.not_applicable:
        yield f"- **Not applicable:** {entry.not_applicable}"
    yield from map(_rule, entry.rules)
    if entry.met:
        yield f"- **Met:** {entry.met}"
    code = dict.fromkeys((*map(requirement, entry.rules), *entry.code))
    if code:
        yield f"- **Code:** {_listed(code)}"
    yield from _shown(marks)
    if entry.review:
        yield f"- **By review:** {entry.review}"
    elif not entry.not_applicable:
        yield from _failing(faults_of(entry), marks, shown)
    yield ""


def _own(rule: Rule, marks: Sequence[Mark], shown: Shown) -> Iterator[str]:
    yield f"### {rule.id}\n"
    yield _rule(rule.id)
    yield f"- **Source:** {rule.source}. {rule.source.remark}"
    yield f"- **Code:** `{requirement(rule.id)}`"
    yield from _shown(marks)
    yield from _failing(faults_of_rule(rule.id), marks, shown)
    yield ""


def _rule(rule: str) -> str:
    return f"- **Rule:** [`{rule}`]({page_of(rule)}): {RULES[rule].sentence}"


def _shown(marks: Sequence[Mark]) -> Iterator[str]:
    tests = [mark.test for mark in marks if not mark.is_proof]
    proofs = [mark.test for mark in marks if mark.is_proof]
    if tests:
        yield f"- **Tests:** {_listed(tests)}"
    if proofs:
        yield f"- **Proofs:** {_listed(proofs)}"


def _failing(faults: Sequence[str], marks: Sequence[Mark], shown: Shown) -> Iterator[str]:
    """Which of its tests fail with the faults of an entry or rule."""
    for fault in faults:
        noticing = [mark.test for mark in marks if mark.test in shown.noticing(fault)]
        if not noticing:
            yield f"- **Not shown:** that {in_words(fault)}"
            continue
        old = "" if shown.by(fault, noticing) else ", before files changed"
        yield f"- **Fails if** {in_words(fault)}{old}: `{noticing[0].rpartition('::')[2]}`"


def _listed(names: Sequence[str] | Mapping[str, None]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _quoted(sentence: str) -> str:
    # Quotations hold backticks of their own.
    return f"`` {sentence} ``"


def page_of(rule: str) -> str:
    """The section of a rule in the pages of the rules."""
    operator, point, _ = rule.partition(".")
    # What binds the whole graph, or values with a contract, has no operator in its name.
    page = operator.lower() if point and operator != CONTRACT else "graph"
    return f"rules/{page}.md#{rule.lower().replace('.', '')}"
