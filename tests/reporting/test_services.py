"""What services of others read of a check: SARIF, JUnit's XML, and annotations for GitHub."""

import datetime as dt
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import onnx
import pytest

import sonnx_ort
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.reporting.checked_models import Check, CheckedModel, FailOn
from sonnx_ort.reporting.explanation import explain
from sonnx_ort.reporting.formats import github_report, junit_report, sarif_report
from support.checks import MENDING, alone, mendable, mixed, together
from support.graphs import binary_model, model, parse, tensor
from support.waivers import SHAPES, unequal

SCHEMA = json.loads(
    (Path(__file__).parent / "schemas/sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def run_of(check: Check) -> dict[str, Any]:
    document = json.loads(sarif_report(check))
    VALIDATOR.validate(document)
    (run,) = document["runs"]
    return run


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_of(alone(mixed()))


def found(run: dict[str, Any], level: str) -> list[tuple[str, str]]:
    return [
        (result["ruleId"], result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"])
        for result in run["results"]
        if result["level"] == level
    ]


@pytest.mark.parametrize("name", sonnx_ort.models.names())
@pytest.mark.parametrize("operators", ["default", "all,-Graph"])
def test_every_bundled_model_has_a_valid_document(name: str, operators: str) -> None:
    run_of(alone(sonnx_ort.models.load(name), operators=operators))


def test_violations_are_errors_at_their_nodes(run: dict[str, Any]) -> None:
    inner = "If 'choose' then_branch/Div 'inner'"
    assert found(run, "error") == [("Div.float.R1", "Div 'ratio'"), ("Div.float.R1", inner)]


def test_what_is_left_to_the_run_and_findings_are_notes(run: dict[str, Any]) -> None:
    assert found(run, "note") == [
        ("Div.int.C1", "Div 'quotient'"),
        ("Div.int.C2", "Div 'quotient'"),
        ("GR4", "LogSoftmax '(output q)'"),
        ("GR2", "value 'r'"),
        ("Graph.implicit_shape", "value 'r'"),
    ]


def test_what_is_proved_has_no_result_and_is_counted(run: dict[str, Any]) -> None:
    counts = run["artifacts"][0]["properties"]["counts"]
    assert counts == dict(sonnx_ort.check(mixed(), operators="default").counts)
    assert counts["proved"] > 0
    assert sum(r["level"] == "error" for r in run["results"]) == counts["violated"]


def test_message_says_what_was_found_and_how_to_mend_it(run: dict[str, Any]) -> None:
    (first, *_) = (r for r in run["results"] if r["level"] == "error")
    assert first["message"]["text"] == str(
        sonnx_ort.check(mixed(), operators="default").violations[0]
    )
    assert "to fix it: " in first["message"]["text"]


def test_rules_of_results_are_described_with_help(run: dict[str, Any]) -> None:
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for rule in rules:
        assert rule["help"]["text"] == in_command(explain(rule["id"]))


def test_artifact_is_the_models_file_with_its_digest(run: dict[str, Any]) -> None:
    (artifact,) = run["artifacts"]
    assert artifact["location"]["uri"] == "model.onnx"
    assert artifact["hashes"] == {
        "sha-256": sonnx_ort.check(mixed(), operators="default").identity.sha256
    }
    for result in run["results"]:
        location = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert location == {"uri": "model.onnx", "index": 0}


@pytest.mark.parametrize(("name", "uri"), [
    ("folder/a model#1.onnx", "folder/a%20model%231.onnx"),
    ("/folder/ü.onnx", "file:///folder/%C3%BC.onnx"),
    ("a:b.onnx", "a%3Ab.onnx"),
])  # fmt: skip
def test_names_of_files_become_references(name: str, uri: str) -> None:
    run = run_of(alone(binary_model("Div", "float", [3], [1]), name))
    assert run["artifacts"][0]["location"] == {"uri": uri}


def fingerprints(model: onnx.ModelProto, name: str = "model.onnx") -> dict[str, str]:
    return {
        result["partialFingerprints"]["sonnx_ort/v1"]: result["message"]["text"]
        for result in run_of(alone(model, name))["results"]
    }


def test_fingerprints_tell_all_results_apart(run: dict[str, Any]) -> None:
    assert len(fingerprints(mixed())) == len(run["results"])


def test_sparse_tensors_of_one_graph_are_told_apart() -> None:
    made = sonnx_ort.models.load("div_sparse_initializer")
    results = run_of(alone(made))["results"]
    assert len(fingerprints(made)) == len(results)


def test_fingerprints_stay_where_the_rest_of_the_model_changes() -> None:
    before = parse("(float[3] x, float[1] y) => (float[3] z) { [ratio] z = Div(x, y) }")
    after = parse(
        "(float[4] x, float[1] y) => (float[4] z) { [more] a = Relu(x) [ratio] z = Div(a, y) }"
    )
    (kept,) = fingerprints(before)
    assert kept in fingerprints(after, "elsewhere.onnx")


def test_fail_on_runtime_changes_no_level() -> None:
    assert sarif_report(alone(mixed(), fail_on=FailOn.RUNTIME)) == sarif_report(alone(mixed()))


def test_document_with_a_suppression_is_valid() -> None:
    waiver = sonnx_ort.Waiver("Div.float.R1", "ratio", "reason", "who", dt.date.max)
    results = run_of(alone(mixed(), waivers=[waiver]))["results"]
    assert [r["ruleId"] for r in results if r["suppressions"]] == ["Div.float.R1"]


def test_several_models_are_artifacts_of_one_run() -> None:
    run = run_of(together())
    names = [artifact["location"]["uri"] for artifact in run["artifacts"]]
    assert names == ["kept.onnx", "folder/broken.onnx", "none.onnx"]
    places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["index"]
              for r in run["results"] if r["level"] == "error"}  # fmt: skip
    assert places == {1}


def test_model_that_cannot_be_used_is_a_notification() -> None:
    (invocation,) = run_of(together())["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"] == {"text": "there is no file 'none.onnx'"}
    location = notification["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "none.onnx", "index": 2}


def test_what_conform_mends_has_a_fix_and_nothing_else_has_one() -> None:
    check = alone(mendable(), "a folder/model.onnx", operators="profile,-Graph")
    fixed, other, *_ = run_of(check)["results"]
    assert (fixed["ruleId"], other["ruleId"]) == ("Concat.R1", "Softmax.C2")
    assert "fixes" not in other
    (fix,) = fixed["fixes"]
    assert fix["description"]["text"] == f"sonnx-ort conform: {MENDING}"
    assert fix["artifactChanges"] == [
        {
            "artifactLocation": {"uri": "a%20folder/model.onnx", "index": 0},
            "replacements": [{"deletedRegion": {"byteOffset": 0, "byteLength": 0}}],
        }
    ]


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


def test_waived_violation_is_skipped_with_its_waiver() -> None:
    root = parsed(alone(unequal(), waivers=[SHAPES]))
    assert not failures(root)
    assert [
        (case.attrib["name"], skipped.attrib)
        for case in root.iter("testcase")
        for skipped in case.iter("skipped")
    ] == [("Div.float.R1", {"type": "waived", "message": f"waived {SHAPES}"})]
    assert root.attrib["skipped"] == "1"


def test_checks_of_one_rule_of_a_graph_are_told_apart_by_their_values() -> None:
    text = "(float[2] x) => (float[2] z) { a = Exp(x) z = Exp(a) }"
    run = run_of(alone(parse(text), operators="Graph.finite_values"))
    finite = [result for result in run["results"] if result["ruleId"] == "Graph.finite"]
    assert len({str(each["partialFingerprints"]) for each in finite}) == len(finite) == 2


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a<b>&\"'", "a<b>&\"'"),
        ("a\x00b\x1f", r"a\x00b\x1f"),
        ("ümläut \U0001f600", "ümläut \U0001f600"),
        ("two\nlines", r"two\x0alines"),
    ],
)
def test_any_name_of_a_node_gives_xml(name: str, shown: str) -> None:
    node = onnx.helper.make_node("Div", ["A", "B"], ["C"], name=name)
    inputs = [tensor("A", "float", [3]), tensor("B", "float", [1])]
    made = model([node], inputs, [tensor("C", "float", [3])])
    assert failures(parsed(alone(made)))[0][0] == f"Div '{shown}'"


OPEN = binary_model("Div", "float", ["n"], ["m"], c_shape=["n"])


def test_each_cause_is_an_error_and_names_what_cannot_be_used() -> None:
    assert github_report(together()).splitlines() == [
        (
            "::error file=folder/broken.onnx,title=Div.float.R1::Div 'ratio': rank 2 is not rank 1"
            "%0Aand 1 more check of this rule%0Ato fix it: rewrite with --broadcast explicit, "
            "which expands B from (3,) to (n, 3)"
        ),
        "::error file=none.onnx,title=unusable::there is no file 'none.onnx'",
    ]


def test_checks_of_runs_are_a_notice_unless_they_fail_the_check() -> None:
    assert github_report(alone(OPEN)) == (
        "::notice file=model.onnx,title=kept::1 check in each run"
    )
    failing = github_report(alone(OPEN, fail_on=FailOn.RUNTIME))
    assert failing.startswith("::error file=model.onnx,title=Div.float.R1::Div 'the_node': ")


def test_what_separates_properties_is_escaped() -> None:
    report = sonnx_ort.check(
        binary_model("Div", "float", [3], [1], node="a%b\nc"), operators="default"
    )
    text = github_report(Check((CheckedModel("a,b:c.onnx", report),)))
    assert text.startswith("::error file=a%2Cb%3Ac.onnx,title=Div.float.R1::Div 'a%25b\\x0ac': ")
    assert "\n" not in text
