"""The formats of reports; JSON, JUnit, SARIF 2.1.0 and annotations of GitHub.

A check as annotations of GitHub: lines that its runner shows beside a pull request. Source:
docs.github.com, "Workflow commands for GitHub Actions", "Setting an error message".
"""

import enum
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

from sonnx_ort.analysis.obligation import Finding, Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.errors import printable, printable_lines, to_json
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.loading.written import Written
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.text_report import overviews
from sonnx_ort.reporting.verdict import causes, counted
from sonnx_ort.reporting.viewers import overlay

_IN_MESSAGES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = _IN_MESSAGES | {":": "%3A", ",": "%2C"}


_READ = "options of this check are read from this file"


def github_report(check: Check) -> str:
    """A check as workflow commands: a line for each cause of violations, and for unusable models.

    An error is what fails the check, a warning what is waived. A notice is what each run checks,
    and the file of the settings.
    """
    lines = [line for model in check.models for line in _annotations(check, model)]
    reports = (model.report for model in check.models)
    files = dict.fromkeys(each.settings for each in reports if each and each.settings)
    return "\n".join([*lines, *(_command("notice", file, "settings", _READ) for file in files)])


def _annotations(check: Check, model: CheckedModel) -> Iterator[str]:
    if model.report is None:
        yield _command("error", model.name, "unusable", model.error)
        return
    for level, obligations in (
        ("error", [o for o in model.report.enforced if check.fails(o)]),
        ("warning", model.report.waived),
    ):
        for cause in causes(obligations):
            first = cause[0]
            text = [printable(f"{first.named}: {first.evidence}")]
            if len(cause) > 1:
                text.append(f"and {counted(len(cause) - 1, 'more check')} of this rule")
            if first.hint:
                text.append(f"to fix it: {in_command(first.hint)}")
            yield _command(level, model.name, first.rule.id, "\n".join(text))
    runtime = model.report.counts["runtime"]
    if runtime and model.report.ok:
        yield _command("notice", model.name, "kept", f"{counted(runtime, 'check')} in each run")


def _command(level: str, file: str, title: str, message: str) -> str:
    """A workflow command of GitHub, which annotates a file with a message."""
    return (
        f"::{level} file={_escaped(file, _IN_PROPERTIES)},title={_escaped(title, _IN_PROPERTIES)}"
        f"::{_escaped(message, _IN_MESSAGES)}"
    )


def _escaped(text: str, codes: dict[str, str]) -> str:
    return "".join(codes.get(character, character) for character in printable_lines(text))


_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_LEVELS = {Status.VIOLATED: "error", Status.RUNTIME: "note"}
"""Proved rules have no results, because tools present results as problems."""

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
    from sonnx_ort.reporting.explanation import explain  # noqa: PLC0415 - texts of one format

    return {
        "id": rule.id,
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": f"{rule.sentence} ({rule.source})"},
        "help": {"text": in_command(explain(rule.id))},
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
    return {"executionSuccessful": not check.unusable, "toolExecutionNotifications": notifications}


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
        **_related(obligation.written),
    } | ({"fixes": [_fix(obligation, location)]} if obligation.mendable else {})


def _fix(obligation: Obligation, location: Json) -> Json:
    """What `conform` would do; a model is no text, so that it replaces no bytes here."""
    option = " --rounding" if obligation.rounding else ""
    nothing = {"deletedRegion": {"byteOffset": 0, "byteLength": 0}}
    return {
        "description": {"text": f"sonnx-ort conform{option}: {obligation.mendable}"},
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
        **_related(finding.written),
    }


def _related(written: Written | None) -> Json:
    """The place in the source file, as the model says; the result itself is in the model."""
    if written is None or not written.file:
        return {}
    location = {
        "artifactLocation": _artifact_location(written.file),
        "region": {"startLine": written.line},
    }
    return {
        "relatedLocations": [
            {"id": 1, "message": {"text": str(written)}, "physicalLocation": location}
        ]
    }


def _fingerprint(*parts: str) -> dict[str, str]:
    """A fingerprint that does not depend on the file or on the rest of the model."""
    return {"sonnx_ort/v1": hashlib.sha256("\0".join(parts).encode()).hexdigest()}


FORMAT = "sonnx_ort.reports/1"
"""The format and version of a list of reports; a single report has its own."""


def check_in_command(check: Check) -> Check:
    """A check for the formats of the command, whose remedies name the options of the command."""
    models = (
        replace(model, report=model.report and model.report.in_command) for model in check.models
    )
    return replace(check, models=tuple(models))


def json_report(check: Check) -> str:
    """A check in JSON: the report of a single model, or a list of reports with names."""
    if check.alone and check.models[0].report is not None:
        return check.models[0].report.to_json()
    document = {"format": FORMAT, "models": [_model(model) for model in check.models]}
    return to_json(document, indent=2)


def _model(model: CheckedModel) -> dict[str, object]:
    if model.report is None:
        return {"name": model.name, "error": model.error}
    return {"name": model.name, "report": model.report.to_document()}


def junit_report(check: Check) -> str:
    """A check as JUnit test results.

    Only enforced operators have test cases. Rules that each run checks pass, unless they fail the
    check. Findings have no test cases, because they change no result.
    """
    suites = [_suite(check, model) for model in check.models]
    root = ET.Element("testsuites", {"name": "sonnx-ort check"} | _totals(suites))
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _suite(check: Check, model: CheckedModel) -> ET.Element:
    suite = ET.Element("testsuite", {"name": printable_lines(model.name)})
    if model.report is None:
        case = ET.SubElement(suite, "testcase", {"classname": "model", "name": "is usable"})
        _add_outcome(case, "error", "InvalidModel", model.error)
    else:
        suite.append(_properties(model.report))
        suite.extend(_case(check, obligation) for obligation in model.report.enforced)
    cases = suite.findall("testcase")
    suite.attrib |= {"tests": str(len(cases))} | {
        total: str(sum(case.find(outcome) is not None for case in cases))
        for total, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    return suite


def _totals(suites: list[ET.Element]) -> dict[str, str]:
    return {
        total: str(sum(int(suite.attrib[total]) for suite in suites))
        for total in ("tests", "failures", "errors", "skipped")
    }


def _properties(report: Report) -> ET.Element:
    properties = ET.Element("properties")
    entries = {
        "sha256": report.identity.sha256,
        "edition": report.edition.value,
        "broadcast": report.broadcasting.value,
        "backend": report.backend,
        "operators": ",".join(sorted(report.demands.operators)),
        "settings": report.settings,
        "summary": report.summary(),
    }
    for name, value in entries.items():
        ET.SubElement(properties, "property", {"name": name, "value": printable(value)})
    return properties


def _case(check: Check, obligation: Obligation) -> ET.Element:
    case = ET.Element(
        "testcase", {"classname": printable_lines(obligation.place), "name": obligation.rule.id}
    )
    if check.fails(obligation):
        _add_outcome(case, "failure", obligation.status, obligation.evidence, str(obligation))
    elif obligation.waived:
        _add_outcome(case, "skipped", "waived", f"waived {obligation.waiver}")
    return case


def _add_outcome(case: ET.Element, outcome: str, kind: str, message: str, text: str = "") -> None:
    element = ET.SubElement(case, outcome, {"type": kind, "message": printable_lines(message)})
    element.text = printable_lines(text) or None


class ReportFormat(enum.StrEnum):
    """The formats of reports."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    HTML = "html"
    GITHUB = "github"
    OVERLAY = "overlay"


def _html(check: Check) -> str:
    from sonnx_ort.reporting.html_report import html_page  # noqa: PLC0415 - needs the texts, too

    return html_page(check)


WRITERS: Mapping[ReportFormat, Callable[[Check], str]] = {
    ReportFormat.TEXT: overviews,
    ReportFormat.JSON: json_report,
    ReportFormat.SARIF: sarif_report,
    ReportFormat.JUNIT: junit_report,
    ReportFormat.HTML: _html,
    ReportFormat.GITHUB: github_report,
    ReportFormat.OVERLAY: overlay,
}
"""The function that writes each format, without a final line break."""
