"""A check in the XML of JUnit: a test suite for each model, a test case for each obligation."""

import re
from xml.etree import ElementTree as ET

from sonnx_ort.analysis.checked_model import Check, CheckedModel
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_report(check: Check) -> str:
    """Write a check as test results.

    Only the operators that are to be enforced have test cases. What is left to the run passes,
    unless that fails the check. Findings are no test cases: they change no result.

    Args:
        check: The check.
    """
    suites = [_suite(check, model) for model in check.models]
    root = ET.Element("testsuites", {"name": "sonnx-ort check"} | _totals(suites))
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _suite(check: Check, model: CheckedModel) -> ET.Element:
    suite = ET.Element("testsuite", {"name": _text(model.name)})
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
    told = {
        "sha256": report.identity.sha256,
        "edition": report.edition.value,
        "broadcast": report.broadcasting.value,
        "operators": ",".join(sorted(report.demands.operators)),
        "summary": report.summary(),
    }
    for name, value in told.items():
        ET.SubElement(properties, "property", {"name": name, "value": value})
    return properties


def _case(check: Check, obligation: Obligation) -> ET.Element:
    case = ET.Element(
        "testcase", {"classname": _text(obligation.place), "name": obligation.rule.id}
    )
    if check.fails(obligation):
        _outcome(case, "failure", obligation.status, obligation.evidence, str(obligation))
    elif obligation.waived:
        _outcome(case, "skipped", "waived", f"waived {obligation.waiver}")
    return case


def _outcome(case: ET.Element, outcome: str, kind: str, message: str, text: str = "") -> None:
    element = ET.SubElement(case, outcome, {"type": kind, "message": _text(message)})
    element.text = _text(text) or None


def _text(text: str) -> str:
    """Replace the characters that no XML document can have, which the names in a model can."""
    return _NOT_IN_XML.sub("\ufffd", text)
