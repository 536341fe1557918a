"""The formats of reports; JSON and JUnit."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from xml.etree import ElementTree as ET

from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.printable import printable, printable_lines, to_json
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.github_report import github_report
from sonnx_ort.reporting.html_report import html_page
from sonnx_ort.reporting.overview import overviews
from sonnx_ort.reporting.remedies import in_commands
from sonnx_ort.reporting.sarif_report import sarif_report
from sonnx_ort.reporting.viewers import overlay

FORMAT = "sonnx_ort.reports/1"
"""The format and version of a list of reports; a single report has its own."""


def check_in_commands(check: Check) -> Check:
    """A check for the formats of the command, whose remedies name the options of the command."""
    models = (
        replace(model, report=model.report and report_in_commands(model.report))
        for model in check.models
    )
    return replace(check, models=tuple(models))


def report_in_commands(report: Report) -> Report:
    """A report whose remedies name the options of the command."""
    obligations = tuple(replace(o, hint=in_commands(o.hint)) for o in report.obligations)
    return replace(report, obligations=obligations)


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
        _outcome(case, "error", "InvalidModel", model.error)
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
        _outcome(case, "failure", obligation.status, obligation.evidence, str(obligation))
    elif obligation.waived:
        _outcome(case, "skipped", "waived", f"waived {obligation.waiver}")
    return case


def _outcome(case: ET.Element, outcome: str, kind: str, message: str, text: str = "") -> None:
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


WRITERS: Mapping[ReportFormat, Callable[[Check], str]] = MappingProxyType(
    {
        ReportFormat.TEXT: overviews,
        ReportFormat.JSON: json_report,
        ReportFormat.SARIF: sarif_report,
        ReportFormat.JUNIT: junit_report,
        ReportFormat.HTML: html_page,
        ReportFormat.GITHUB: github_report,
        ReportFormat.OVERLAY: overlay,
    }
)
"""The function that writes each format, without a final line break."""
