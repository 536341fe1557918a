"""SARIF: valid by its schema, and every result where it belongs."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

import sonnx_ort
from sonnx_ort.reporting.checked_models import Check, FailOn
from sonnx_ort.reporting.explanation import explain
from sonnx_ort.reporting.formats import sarif_report
from sonnx_ort.reporting.verdict import in_commands
from support.checks import MENDING, alone, mendable, mixed, together
from support.graphs import binary_model, parse

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
        assert rule["help"]["text"] == in_commands(explain(rule["id"]))


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
