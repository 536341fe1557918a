"""Writes records in CycloneDX 1.6, in its form for attestations.

The models are components, the documents of the profile are standards with their rules as
requirements, and each obligation is a claim with its evidence. Equal records have equal bytes: they
contain no time, and the serial number depends on the content.
"""

import dataclasses
import enum
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import cast
from urllib.parse import quote

from sonnx_ort.errors import to_json
from sonnx_ort.evidence.record import (
    FORMAT,
    Change,
    Document,
    ModelFiles,
    Record,
    path_of,
    place_of,
    rule_and_place,
)
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Status


class Fulfilment(enum.StrEnum):
    """The ways in which an obligation is met or missed."""

    PROVED = "proved"
    IN_RUN = "checked in each run"
    AT_START = "checked at the start"
    NOT_DECLARED = "not declared"
    LEFT = "left to runs"
    NOT_ENFORCED = "not enforced"
    WAIVED = "waived"
    FIXED = "fixed"
    MISSED = "missed"

    @property
    def reasoning(self) -> str:
        """A sentence that describes this way."""
        return _REASONING[self]


_MET = frozenset(
    {
        *(Fulfilment.PROVED, Fulfilment.IN_RUN, Fulfilment.AT_START, Fulfilment.NOT_DECLARED),
        Fulfilment.FIXED,
    }
)

_REASONING = {
    Fulfilment.PROVED: "It holds in every run; the evidence says why.",
    Fulfilment.IN_RUN: "The rewritten model checks it in each run, and a violation fails the run.",
    Fulfilment.AT_START: "ONNX Runtime starts no session if these types differ.",
    Fulfilment.NOT_DECLARED: (
        "The rewritten model does not have the declarations that are not proved, but for those of "
        "outputs that no node reads."
    ),
    Fulfilment.LEFT: "Only a run can decide it, and the record has no rewritten model that does.",
    Fulfilment.NOT_ENFORCED: "It was not selected to be enforced, and nothing enforces it.",
    Fulfilment.WAIVED: "It fails in every run that reaches the node; a waiver accepts that.",
    Fulfilment.FIXED: "A change fixed it in the rewritten model without changing any result.",
    Fulfilment.MISSED: "It fails in every run that reaches the node.",
}


def fulfilment(
    obligation: Document, *, checked: bool, fixed: bool = False, rewritten: bool = True
) -> Fulfilment:
    """Determine how an obligation is met.

    `checked` says whether each run of the rewritten model checks it, by the analysis of that model;
    `fixed` whether a change of `conform` fixed it before; `rewritten` whether there is a rewritten
    model.
    """
    waiver = obligation["waiver"]
    match Status(str(obligation["status"])):
        case Status.PROVED:
            return Fulfilment.PROVED
        case Status.VIOLATED if isinstance(waiver, dict) and not waiver["expired"]:
            return Fulfilment.WAIVED
        case Status.VIOLATED:
            return Fulfilment.FIXED if fixed else Fulfilment.MISSED
        case Status.RUNTIME if not obligation["enforced"]:
            return Fulfilment.NOT_ENFORCED
        case Status.RUNTIME:
            return _undecided(obligation, checked=checked, rewritten=rewritten)


def _undecided(obligation: Document, *, checked: bool, rewritten: bool) -> Fulfilment:
    """How an obligation is met that is not decided before a run."""
    rule = RULES[str(obligation["rule"])]
    if obligation.get("rests_on_declaration"):
        return Fulfilment.NOT_DECLARED if rewritten else Fulfilment.LEFT
    if not rule.in_run:
        return Fulfilment.AT_START
    return Fulfilment.IN_RUN if checked else Fulfilment.LEFT


def fulfilments(record: Record) -> list[Fulfilment]:
    """How each obligation of the original of a record is met, in their order."""
    checked = record.checked_in_runs()
    fixed = {place for mending in record.mendings for place in mending.places()}
    return [
        fulfilment(
            o,
            checked=rule_and_place(o) in checked,
            fixed=rule_and_place(o) in fixed,
            rewritten=record.rewritten is not None,
        )
        for o in record.original.obligations
    ]


Json = dict[str, object]

NAMESPACE = "sonnx_ort:"
"""The prefix of the names of our properties."""

ORIGINAL, REWRITTEN = "model:original", "model:rewritten"
"""The references of the models."""

REPORT_OF_ORIGINAL, REPORT_OF_REWRITTEN = "report:original", "report:rewritten"
"""The references of the reports."""

CHANGE = "change:"
"""The prefix of the references of changes."""

MENDING = "mending:"
"""The prefix of the references of changes of `conform`."""

_ASSESSOR = "assessor:sonnx_ort"


def cyclonedx(record: Record) -> str:
    """The record as JSON text with a final line break."""
    document = _document(record)
    numbered = {"bomFormat": "CycloneDX", "specVersion": "1.6"}
    numbered |= {"serialNumber": serial_number(document)}
    return to_json(numbered | document, indent=2) + "\n"


def serial_number(document: Mapping[str, object]) -> str:
    """Derive the serial number of a document from everything else in it."""
    left_out = ("bomFormat", "specVersion", "serialNumber")
    rest = {name: part for name, part in document.items() if name not in left_out}
    content = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, FORMAT + content)}"


def _document(record: Record) -> Json:
    original = _model(ORIGINAL, record.original.files)
    subject = original
    if record.rewritten is not None:
        subject = _model(REWRITTEN, record.rewritten.files)
        subject["pedigree"] = {"ancestors": [original]}
    options = {"format": FORMAT, **record.options}
    return {
        "version": 1,
        "metadata": {
            "tools": {"components": [_tool(n, v) for n, v in record.versions.items()]},
            "component": subject,
            "properties": [{"name": NAMESPACE + n, "value": v} for n, v in options.items()],
        },
        "declarations": _declarations(record),
        "definitions": {"standards": list(_standards(record.original.rules))},
    }


def _model(reference: str, files: ModelFiles) -> Json:
    model: Json = {
        "type": "machine-learning-model",
        "bom-ref": reference,
        "name": files.name,
        "hashes": _hashes(files.sha256),
    }
    if files.external:
        model["components"] = [
            {"type": "data", "name": location, "hashes": _hashes(sha256)}
            for location, sha256 in files.external.items()
        ]
    return model


def _hashes(sha256: str) -> list[Json]:
    return [{"alg": "SHA-256", "content": sha256}]


def _tool(name: str, version: str) -> Json:
    if name == "Python":
        return {"type": "platform", "name": name, "version": version}
    package = f"pkg:pypi/{name.lower().replace('_', '-')}@{quote(version)}"
    return {"type": "library", "name": name, "version": version, "purl": package}


def _declarations(record: Record) -> Json:
    obligations = record.original.obligations
    fixed = {place: n for n, m in enumerate(record.mendings, 1) for place in m.places()}
    ways = fulfilments(record)
    changed = _changes_by_place(record.changes)
    evidence = list(_documents(record))
    claims = []
    waivers: dict[str, str] = {}
    for number, (obligation, way) in enumerate(zip(obligations, ways, strict=True), start=1):
        evidence.append(_evidence(number, obligation))
        claim = _claim(number, obligation, way, record)
        if way is Fulfilment.IN_RUN:
            supporting = [
                *changed.get((path_of(obligation), f"'{obligation['node']}'"), ()),
                REPORT_OF_REWRITTEN,
            ]
            claim["evidence"] = [f"obligation:{number}", *supporting]
        if way is Fulfilment.FIXED:
            supporting = [f"{MENDING}{fixed[rule_and_place(obligation)]}", REPORT_OF_REWRITTEN]
            claim["evidence"] = [f"obligation:{number}", *supporting]
        if way is Fulfilment.WAIVED:
            waiver = cast(Document, obligation["waiver"])
            own = f"waiver:{number}"
            # A waiver of many violations is told of once.
            shared = json.dumps([obligation["rule"], waiver]) if waiver.get("count") else own
            if waivers.setdefault(shared, own) == own:
                evidence.append(_waiver(own, waiver))
            claim["mitigationStrategies"] = [waivers[shared]]
        claims.append(claim)
    return {
        "assessors": [
            {"bom-ref": _ASSESSOR, "thirdParty": False, "organization": {"name": "sonnx_ort"}}
        ],
        "attestations": [
            {
                "summary": "The status of each rule of the SONNX profile at each node, found by "
                "sonnx_ort.",
                "assessor": _ASSESSOR,
                "map": list(_map(obligations, ways)),
            }
        ],
        "claims": claims,
        "evidence": evidence,
    }


def _claim(number: int, obligation: Document, way: Fulfilment, record: Record) -> Json:
    supports = way not in {Fulfilment.WAIVED, Fulfilment.MISSED}
    return {
        "bom-ref": f"claim:{number}",
        "target": ORIGINAL if record.rewritten is None else REWRITTEN,
        "predicate": f"{obligation['rule']} is kept at {place_of(obligation)}",
        "reasoning": way.reasoning,
        "evidence" if supports else "counterEvidence": [f"obligation:{number}"],
    }


def _evidence(number: int, obligation: Document) -> Json:
    return {
        "bom-ref": f"obligation:{number}",
        "propertyName": NAMESPACE + str(obligation["status"]),
        "description": obligation["evidence"],
    }


def _waiver(reference: str, waiver: Document) -> Json:
    count = waiver.get("count")
    return {
        "bom-ref": reference,
        "propertyName": NAMESPACE + "waiver",
        "description": f"{waiver['reason']} ({count} in all)" if count else waiver["reason"],
        "expires": f"{waiver['until']}T23:59:59Z",
        "author": {"name": waiver["who"]},
    }


def _documents(record: Record) -> Iterator[Json]:
    """The evidence that is a document of its own."""
    for reference, analysis in (
        (REPORT_OF_ORIGINAL, record.original),
        (REPORT_OF_REWRITTEN, record.rewritten),
    ):
        if analysis is not None:
            whole = f"The complete report of sonnx_ort on '{analysis.files.name}'"
            yield _document_of(reference, f"{whole}, made before any run.", analysis.report)
    for number, change in enumerate(record.changes, start=1):
        content = {"node": change.node, "path": change.path, "became": change.became}
        yield _document_of(f"{CHANGE}{number}", str(change), content)
    for number, mending in enumerate(record.mendings, start=1):
        yield _document_of(f"{MENDING}{number}", str(mending), dataclasses.asdict(mending))
    if record.certificate is not None:
        proofs = "The proofs of the checks that hold in every run, which sonnx_ort/checker"
        yield _document_of("certificate:1", f"{proofs} follows.", record.certificate)
    for number, audit in enumerate(record.audits, start=1):
        counts = cast(Mapping[str, int], audit["counts"])
        found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        nodes = f"Nodes of one run by what their results are: {found}. Run: {audit['source']}."
        yield _document_of(f"audit:{number}", nodes, audit)


def _document_of(reference: str, description: str, content: object) -> Json:
    kind = reference.partition(":")[0]
    text = json.dumps(content, ensure_ascii=False)
    attachment = {"contentType": "application/json", "content": text}
    return {
        "bom-ref": reference,
        "propertyName": NAMESPACE + kind,
        "description": description,
        "data": [{"name": f"{kind}.json", "contents": {"attachment": attachment}}],
    }


def _map(obligations: Iterable[Document], ways: Iterable[Fulfilment]) -> Iterator[Json]:
    """The claims about each rule; a rule that is violated somewhere has counter-claims."""
    by_rule: dict[str, list[tuple[int, Fulfilment]]] = {}
    for number, (obligation, way) in enumerate(zip(obligations, ways, strict=True), start=1):
        by_rule.setdefault(str(obligation["rule"]), []).append((number, way))
    for rule, numbered in by_rule.items():
        against = {Fulfilment.WAIVED, Fulfilment.MISSED}
        counts = Counter(way for _, way in numbered)
        met = sum(count for way, count in counts.items() if way in _MET)
        entry: Json = {
            "requirement": f"rule:{rule}",
            "claims": [f"claim:{number}" for number, way in numbered if way not in against],
            "conformance": {
                "score": round(met / len(numbered), 4),
                "rationale": ", ".join(f"{counts[w]} {w}" for w in Fulfilment if counts[w]),
            },
        }
        counter_claims = [f"claim:{number}" for number, way in numbered if way in against]
        if counter_claims:
            entry["counterClaims"] = counter_claims
        yield entry


def _standards(rules: Mapping[str, Document]) -> Iterator[Json]:
    by_document: dict[str, dict[str, Document]] = {}
    for identifier, rule in rules.items():
        by_document.setdefault(str(rule["document"]), {})[identifier] = rule
    for number, (document, own) in enumerate(by_document.items(), start=1):
        yield {
            "bom-ref": f"standard:{number}",
            "name": document,
            "requirements": [_requirement(identifier, rule) for identifier, rule in own.items()],
        }


def _requirement(identifier: str, rule: Document) -> Json:
    keys = ("section", "standing", "words", "later_tag", "needed_before")
    requirement: Json = {
        "bom-ref": f"rule:{identifier}",
        "identifier": rule["tag"] or identifier,
        "title": identifier,
        "text": rule["sentence"],
        "properties": [{"name": NAMESPACE + n, "value": rule[n]} for n in keys if rule.get(n)],
    }
    if rule["remark"]:
        requirement["descriptions"] = [rule["remark"]]
    return requirement


_Place = tuple[tuple[str, ...], str]
"""The path of a node, and its name between quotation marks."""


def _changes_by_place(changes: Iterable[Change]) -> dict[_Place, list[str]]:
    """The references of changes by each node before or after them."""
    found: dict[_Place, list[str]] = {}
    for number, change in enumerate(changes, start=1):
        named = (node.split(" ", 1)[1] for node in (change.node, *change.became) if node)
        for name in dict.fromkeys(named):
            found.setdefault((change.path, name), []).append(f"{CHANGE}{number}")
    return found
