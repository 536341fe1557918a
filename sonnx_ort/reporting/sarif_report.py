"""A check in SARIF 2.1.0, the OASIS standard for the results of static analysis."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from sonnx_ort.obligations.obligation import Finding, Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.printable import printable, to_json
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.explanation import explain
from sonnx_ort.reporting.remedies import in_commands

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_LEVELS = {Status.VIOLATED: "error", Status.RUNTIME: "note"}
"""Proved rules have no results, because tools present results as problems."""

_FINGERPRINT = "sonnx_ort/v1"

Json = dict[str, object]


def sarif_report(check: Check) -> str:
    """A check as one run of one tool, with an artifact for each model.

    Violations are errors; rules that each run checks, and findings, are notes. Proved rules are
    only counted, and operators that are not enforced have no results.
    """
    described = _described(check)
    positions = {identifier: position for position, identifier in enumerate(described)}
    results = [
        result
        for index, model in enumerate(check.models)
        if model.report is not None
        for result in _results(model.report, _location(model, index), positions)
    ]
    run = {
        "tool": {"driver": _driver(check, list(described.values()))},
        "invocations": [_invocation(check)],
        "artifacts": [_artifact(model) for model in check.models],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return to_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _described(check: Check) -> dict[str, Rule]:
    """Every rule that a result can name, by id."""
    found: dict[str, Rule] = {}
    for report in (model.report for model in check.models if model.report is not None):
        found |= {o.rule.id: o.rule for o in report.enforced}
        found |= {f.rule.id: f.rule for f in report.findings}
    return found


def _driver(check: Check, described: list[Rule]) -> Json:
    reports = [model.report for model in check.models if model.report is not None]
    enforced = {o.rule.id for report in reports for o in report.enforced}
    rules = [_rule(rule, "error" if rule.id in enforced else "note") for rule in described]
    driver: Json = {"name": "sonnx_ort", "rules": rules}
    if reports:
        driver["version"] = reports[0].identity.versions["sonnx_ort"]
    return driver


def _rule(rule: Rule, level: str) -> Json:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": f"{rule.sentence} ({rule.source})"},
        "help": {"text": in_commands(explain(rule.id))},
        "defaultConfiguration": {"level": level},
    }


def _invocation(check: Check) -> Json:
    notifications = [
        {
            "level": "error",
            "message": {"text": model.error},
            "locations": [{"physicalLocation": _location(model, index)}],
        }
        for index, model in enumerate(check.models)
        if model.report is None
    ]
    return {
        "executionSuccessful": not check.unusable,
        "toolExecutionNotifications": notifications,
    }


def _artifact(model: CheckedModel) -> Json:
    artifact: Json = {"location": _artifact_location(model.name), "roles": ["analysisTarget"]}
    if (report := model.report) is not None:
        artifact["hashes"] = {"sha-256": report.identity.sha256}
        artifact["properties"] = {
            "edition": report.edition.value,
            "broadcast": report.broadcasting.value,
            "backend": report.backend,
            "operators": sorted(report.demands.operators),
            "settings": report.settings or None,
            "counts": dict(report.counts),
            "waived": len(report.waived),
            "summary": report.summary(),
        }
    return artifact


def _location(model: CheckedModel, index: int) -> Json:
    return {"artifactLocation": _artifact_location(model.name) | {"index": index}}


def _artifact_location(name: str) -> Json:
    path = Path(name)
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}


def _results(report: Report, location: Json, positions: dict[str, int]) -> Iterator[Json]:
    for obligation in report.enforced:
        if obligation.status in _LEVELS:
            yield _obligation(obligation, location, positions[obligation.rule.id])
    for finding in report.findings:
        yield _finding(finding, location, positions[finding.rule.id])


def _obligation(obligation: Obligation, location: Json, position: int) -> Json:
    place = [*obligation.path, f"{obligation.operator} '{obligation.node}'"]
    logical = {
        "name": printable(obligation.node),
        "fullyQualifiedName": printable("/".join(place)),
        "kind": "node",
    }
    # Obligations of whole graphs are distinguished by their values.
    about = [] if obligation.operator else [operand.value for operand in obligation.operands]
    suppression = {
        "kind": "external",
        "status": "accepted",
        "justification": printable(f"waived {obligation.waiver}"),
    }
    return {
        "ruleId": obligation.rule.id,
        "ruleIndex": position,
        "level": _LEVELS[obligation.status],
        "message": {"text": str(obligation)},
        "locations": [
            {"physicalLocation": location}
            | ({"logicalLocations": [logical]} if obligation.operator else {})
        ],
        "partialFingerprints": _fingerprint(obligation.rule.id, *place, *about),
        # If one result has this property, all must have it.
        "suppressions": [suppression] if obligation.waived else [],
    } | ({"fixes": [_fix(obligation, location)]} if obligation.mendable else {})


def _fix(obligation: Obligation, location: Json) -> Json:
    """What `conform` would do; a model is no text, so that it replaces no bytes here."""
    nothing = {"deletedRegion": {"byteOffset": 0, "byteLength": 0}}
    return {
        "description": {"text": f"sonnx-ort conform: {obligation.mendable}"},
        "artifactChanges": [location | {"replacements": [nothing]}],
    }


def _finding(finding: Finding, location: Json, position: int) -> Json:
    logical = {"fullyQualifiedName": finding.place}
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": position,
        "level": "note",
        "message": {"text": str(finding)},
        "locations": [{"physicalLocation": location, "logicalLocations": [logical]}],
        "partialFingerprints": _fingerprint(finding.rule.id, finding.place, finding.detail),
        "suppressions": [],
    }


def _fingerprint(*parts: str) -> dict[str, str]:
    """A fingerprint that does not depend on the file or on the rest of the model."""
    return {_FINGERPRINT: hashlib.sha256("\0".join(parts).encode()).hexdigest()}
