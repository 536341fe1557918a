"""An evidence record or a certificate as a page in one file, for a safety file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sonnx_ort.errors import to_html
from sonnx_ort.evidence.cyclonedx import Fulfilment, fulfilments
from sonnx_ort.evidence.record import Analysis, Record, place_of
from sonnx_ort.evidence.record import Document as Entry
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.contract import contract_from_json
from sonnx_ort.reporting.contract_table import contract_table
from sonnx_ort.reporting.page_parts import Document, prose, sign, table
from sonnx_ort.reporting.verdict import NodeState, counted

_STATES: Mapping[Fulfilment, NodeState] = {
    Fulfilment.MISSED: NodeState.VIOLATED,
    Fulfilment.WAIVED: NodeState.VIOLATED,
    Fulfilment.NOT_ENFORCED: NodeState.NOT_ASKED_FOR,
    Fulfilment.LEFT: NodeState.NOT_ASKED_FOR,
    Fulfilment.FIXED: NodeState.RUNTIME,
    Fulfilment.IN_RUN: NodeState.RUNTIME,
    Fulfilment.AT_START: NodeState.RUNTIME,
    Fulfilment.NOT_DECLARED: NodeState.RUNTIME,
    Fulfilment.PROVED: NodeState.PROVED,
}
"""How each way in which an obligation is met is shown, worst first."""


def record_page(record: Record, sha256: str, run: Mapping[str, str]) -> str:
    """A record as a page.

    Args:
        record: The record.
        sha256: The SHA-256 of its file.
        run: Who ran it and when, by name, as its user says; empty if that is not said.
    """
    ways = fulfilments(record)
    counts = Counter(ways)
    state, word = _verdict(counts)
    models = {"original": record.original, "rewritten": record.rewritten}
    subject = record.rewritten or record.original
    sections = {"Models": _models(models)}
    if contract := contract_from_json(record.options.get("contract", "[]")):
        sections["Contract"] = contract_table(contract)
    sections["Checks"] = _obligations(record, ways)
    if record.changes:
        sections["Changes"] = _list(map(str, record.changes))
    if record.mendings:
        sections["Changes of conform"] = _list(map(str, record.mendings))
    if record.audits:
        sections["Audits"] = _list(map(_audit, record.audits))
    if record.certificate is not None:
        sections["Certificate"] = _rules_of(record.certificate)
    return Document(
        "SONNX profile: evidence record",
        subject.files.name,
        state,
        (word, f"{counted(len(ways), 'check')}: {_in_words(counts)}."),
        [(_STATES[way], f"{counts[way]:,} {way}") for way in _STATES if counts[way]],
        {
            **run,
            **{_title(name): text for name, text in record.options.items() if name not in _LONG},
            "SHA-256 of the record": sha256,
            "Versions": ", ".join(f"{name} {v}" for name, v in record.versions.items()),
        },
        sections,
    ).render()


_LONG = {"contract", "waivers"}
"""Options that stand in a table, or at each violation that they are of."""


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _verdict(counts: Counter[Fulfilment]) -> tuple[NodeState, str]:
    if counts[Fulfilment.MISSED]:
        return NodeState.VIOLATED, "Violated"
    if counts[Fulfilment.WAIVED]:
        return NodeState.VIOLATED, "Violated, and waived"
    if unchecked := counts[Fulfilment.LEFT] + counts[Fulfilment.NOT_ENFORCED]:
        return NodeState.NOT_ASKED_FOR, f"Open: no run of a recorded model checks {unchecked:,}"
    if checked := counts[Fulfilment.IN_RUN] + counts[Fulfilment.AT_START]:
        return NodeState.RUNTIME, f"Kept, with {counted(checked, 'check')} in each run"
    return NodeState.PROVED, "Kept"


def _in_words(counts: Counter[Fulfilment]) -> str:
    return ", ".join(f"{counts[way]:,} {way}" for way in _STATES if counts[way]) or "none"


def _models(models: Mapping[str, Analysis | None]) -> str:
    rows = []
    for which, analysis in models.items():
        if analysis is None:
            continue
        files = analysis.files
        for name, sha256 in {files.name: files.sha256, **files.external}.items():
            kind = which if name == files.name else f"external data of the {which}"
            rows.append((kind, f"<bdi>{to_html(name)}</bdi>", f"<code>{to_html(sha256)}</code>"))
    return table(("Model", "File", "SHA-256"), rows)


def _obligations(record: Record, ways: Iterable[Fulfilment]) -> str:
    """Each rule once for each way in which it is met, worst first, with the places."""
    found: dict[tuple[Fulfilment, str], list[Entry]] = {}
    for obligation, way in zip(record.original.obligations, ways, strict=True):
        found.setdefault((way, str(obligation["rule"])), []).append(obligation)
    order = list(_STATES)
    rules = record.original.rules
    return "".join(
        _cause(way, rule, rules[rule], found[way, rule])
        for way, rule in sorted(found, key=lambda key: order.index(key[0]))
    )


def _cause(way: Fulfilment, rule: str, stated: Entry, obligations: list[Entry]) -> str:
    state = _STATES[way]
    by_evidence: dict[str, list[str]] = {}
    waivers: dict[str, None] = {}
    for obligation in obligations:
        by_evidence.setdefault(str(obligation["evidence"]), []).append(place_of(obligation))
        if (waiver := obligation["waiver"]) is not None:
            waivers[_waiver(waiver)] = None
    section = stated.get("section")
    source = ", ".join(str(each) for each in (stated["document"], section, stated["tag"]) if each)
    items = "".join(
        f"<li><bdi>{to_html(evidence)}</bdi>: {_places(places)}</li>"
        for evidence, places in by_evidence.items()
    )
    return (
        f'<div class="cause"><h3 class="status {state}">{sign(state)} {way}: {to_html(rule)} '
        f'<span class="remark">{counted(len(obligations), "check")}</span></h3>'
        f'<p class="remark">{prose(str(stated["sentence"]))} ({to_html(source)}) '
        f"{to_html(way.reasoning)}</p>"
        f"{''.join(f'<p><bdi>{to_html(text)}</bdi></p>' for text in waivers)}<ul>{items}</ul></div>"
    )


def _places(places: Iterable[str]) -> str:
    return ", ".join(f'<bdi class="place">{to_html(place)}</bdi>' for place in places)


def _waiver(waiver: Any) -> str:
    expired = "expired waiver" if waiver["expired"] else "waiver"
    return f"{expired} by {waiver['who']} until {waiver['until']}: {waiver['reason']}"


def _audit(audit: Any) -> str:
    counts = ", ".join(f"{count:,} {verdict}" for verdict, count in audit["counts"].items())
    return f"nodes of one run by what their results are: {counts}. Run: {audit['source']}"


def _list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li><bdi>{to_html(text)}</bdi></li>' for text in texts)}</ul>"


_KINDS = {
    "obligations": "proved",
    "guarded": "held by guards",
    "unknown": "left to unknown guards",
    "waived": "violated, and waived",
}
"""The lists of a certificate, in words."""


def certificate_page(
    certificate: Mapping[str, Any], name: str, sha256: str, run: Mapping[str, str]
) -> str:
    """A certificate as a page; its proofs are not followed here.

    Args:
        certificate: What its file says.
        name: The name of the file.
        sha256: The SHA-256 of the file.
        run: Who ran it and when, by name, as its user says; empty if that is not said.
    """
    counts = {kind: len(certificate.get(kind, ())) for kind in _KINDS}
    told = ", ".join(f"{counts[kind]:,} {word}" for kind, word in _KINDS.items() if counts[kind])
    sections = {"Checks by rule": _rules_of(certificate)}
    if "contract" in certificate:
        sections["Contract"] = _entries(certificate["contract"])
    return Document(
        "SONNX profile: certificate",
        name,
        NodeState.NOT_ASKED_FOR,
        (
            f"A certificate of {counted(sum(counts.values()), 'check')}",
            f"{told or 'None'}. {_UNCHECKED}{name}` follows the proofs.",
        ),
        [],
        {
            **run,
            "Edition": str(certificate.get("edition", "")),
            "Operators": ", ".join(certificate.get("operators", ())),
            "SHA-256 of the model": certificate["model"],
            "SHA-256 of the enforced model": certificate.get("enforced", ""),
            "SHA-256 of the certificate": sha256,
        },
        sections,
    ).render()


_UNCHECKED = "This page only shows what the certificate says. `sonnx-ort certify MODEL --check "


def _rules_of(certificate: Mapping[str, Any]) -> str:
    """A table of the rules of a certificate: how many obligations are held in which way."""
    counts: dict[str, Counter[str]] = {}
    for kind in _KINDS:
        for _, rule in certificate.get(kind, ()):
            counts.setdefault(rule, Counter())[kind] += 1
    kinds = [kind for kind in _KINDS if any(found[kind] for found in counts.values())]
    rows = (
        (
            f"<code>{to_html(rule)}</code>",
            prose(RULES[rule].sentence) if rule in RULES else "",
            *(f"{found[kind]:,}" for kind in kinds),
        )
        for rule, found in sorted(counts.items())
    )
    heads = ("Rule", "Demand", *(_KINDS[kind] for kind in kinds))
    return table(heads, rows, numbers=range(2, len(heads)))


def _entries(contract: Iterable[Mapping[str, Any]]) -> str:
    """The entries of a contract, as its document has them."""

    def words() -> Iterator[str]:
        for entry in contract:
            yield ", ".join(f"{name} {value}" for name, value in entry.items())

    return _list(words())
