"""JUnit's XML: a test case for each obligation, with the outcome that the check has."""

from xml.etree import ElementTree as ET

import onnx
import pytest

import sonnx_ort
from sonnx_ort.errors import printable
from sonnx_ort.reporting.checked_models import Check, FailOn
from sonnx_ort.reporting.formats import junit_report
from support.checks import alone, mixed, together
from support.graphs import model, tensor


def parsed(check: Check) -> ET.Element:
    return ET.fromstring(junit_report(check))  # noqa: S314 - our own document


def failures(root: ET.Element) -> list[tuple[str, str, str]]:
    return [
        (case.attrib["classname"], case.attrib["name"], failure.attrib["type"])
        for case in root.iter("testcase")
        for failure in case.iter("failure")
    ]


VIOLATED = [
    ("Div 'ratio'", "Div.float.R1", "violated"),
    ("Div 'inner' in If 'choose' then_branch", "Div.float.R1", "violated"),
]
LEFT_TO_THE_RUN = [
    ("Div 'quotient'", "Div.int.C1", "runtime"),
    ("Div 'quotient'", "Div.int.C2", "runtime"),
]


def test_every_enforced_obligation_is_a_test_case() -> None:
    report = sonnx_ort.check(mixed(), operators="default")
    cases = [
        (case.attrib["classname"], case.attrib["name"])
        for case in parsed(alone(mixed())).iter("testcase")
    ]
    assert cases == [(o.place, o.rule.id) for o in report.enforced]


@pytest.mark.parametrize(
    ("fail_on", "expected"),
    [(FailOn.VIOLATED, VIOLATED), (FailOn.RUNTIME, [VIOLATED[0], *LEFT_TO_THE_RUN, VIOLATED[1]])],
)
def test_failures_are_what_fails_the_check(
    fail_on: FailOn, expected: list[tuple[str, str, str]]
) -> None:
    root = parsed(alone(mixed(), fail_on=fail_on))
    assert failures(root) == expected
    assert root.attrib["failures"] == str(len(expected))


def test_failure_says_why() -> None:
    failure = next(parsed(alone(mixed())).iter("failure"))
    violation = sonnx_ort.check(mixed(), operators="default").violations[0]
    assert failure.attrib["message"] == violation.evidence
    assert failure.text == str(violation)


def test_suites_are_the_models_and_their_numbers_add_up() -> None:
    root = parsed(together())
    suites = {suite.attrib["name"]: suite for suite in root}
    assert list(suites) == ["kept.onnx", "folder/broken.onnx", "none.onnx"]
    for total in ("tests", "failures", "errors", "skipped"):
        assert int(root.attrib[total]) == sum(int(s.attrib[total]) for s in suites.values())
    assert int(root.attrib["tests"]) == len(list(root.iter("testcase")))


def test_model_that_cannot_be_used_is_an_error() -> None:
    root = parsed(together())
    assert root.attrib["errors"] == "1"
    (error,) = root.iter("error")
    assert error.attrib["message"] == "there is no file 'none.onnx'"


def test_suite_says_what_the_model_was_held_to() -> None:
    report = sonnx_ort.check(mixed(), operators="default")
    properties = {
        p.attrib["name"]: p.attrib["value"] for p in parsed(alone(mixed())).iter("property")
    }
    assert properties == {
        "sha256": report.identity.sha256, "edition": "typed", "broadcast": "reject",
        "backend": "python", "operators": "Broadcast,Div,Sub", "settings": "",
        "summary": report.summary(),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a<b>&\"'", "a\x00b\x1f", "ümläut \U0001f600", "two\nlines"])
def test_any_name_of_a_node_gives_xml(name: str) -> None:
    node = onnx.helper.make_node("Div", ["A", "B"], ["C"], name=name)
    inputs = [tensor("A", "float", [3]), tensor("B", "float", [1])]
    made = model([node], inputs, [tensor("C", "float", [3])])
    assert failures(parsed(alone(made)))[0][0] == f"Div '{printable(name)}'"
