"""Reports say where a node was written, as the model says, in every format."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sonnx_ort
from sonnx_ort.reporting.formats import github_report, junit_report, sarif_report
from sonnx_ort.reporting.html_report import html_report
from sonnx_ort.reporting.text_report import overviews, text_report
from support.checks import alone
from support.examined import check_with_outline
from support.exported_models import WRITTEN, exported

HOSTILE = {
    "pkg.torch.onnx.stack_trace": 'File "</script><b>\x1b[31m", line 7, in f::error\n    x',
}
BROKEN = exported(second="float[3] scale")
"""A Div that breaks a rule in every run."""


def test_text_names_the_line_behind_the_node() -> None:
    shown = " ".join(overviews(alone(BROKEN)).split())
    assert f"Div 'node_div', {WRITTEN}: rank 2 is not rank 1" in shown


def test_whole_text_has_the_line_below_the_node() -> None:
    assert f"      {WRITTEN}\n      rank 2 is not rank 1\n" in text_report(sonnx_ort.check(BROKEN))


def test_rejection_names_the_line() -> None:
    with pytest.raises(sonnx_ort.ModelRejected) as raised:
        sonnx_ort.rewrite(BROKEN)
    assert str(raised.value).splitlines()[1:3] == [
        "1. Div 'node_div': Div.float.R1 violated: rank 2 is not rank 1",
        f"    {WRITTEN}",
    ]


def test_json_has_the_parts() -> None:
    obligations = json.loads(sonnx_ort.check(BROKEN).to_json())["obligations"]
    place, *others = [o["written"] for o in obligations if o["operator"] == "Div"]
    assert place == {
        "file": "/home/me/net.py",
        "line": 7,
        "function": "Scale.forward",
        "scope": "scaling",
    }
    assert all(other == place for other in others)


def result_of(model: Any) -> dict[str, Any]:
    results = json.loads(sarif_report(alone(model)))["runs"][0]["results"]
    found: dict[str, Any] = next(each for each in results if each["ruleId"] == "Div.float.R1")
    return found


def test_sarif_relates_the_line_of_the_source_file() -> None:
    result = result_of(BROKEN)
    assert result["relatedLocations"] == [
        {
            "id": 1,
            "message": {"text": WRITTEN},
            "physicalLocation": {
                "artifactLocation": {"uri": "file:///home/me/net.py"},
                "region": {"startLine": 7},
            },
        }
    ]


def test_result_stays_in_the_model_whatever_the_model_says() -> None:
    """So a model cannot hide its results in other files."""
    plain = exported({}, second="float[3] scale")
    assert result_of(BROKEN)["locations"] == result_of(plain)["locations"]


def test_fingerprint_does_not_change_with_the_line() -> None:
    plain = exported({}, second="float[3] scale")
    assert result_of(BROKEN)["partialFingerprints"] == result_of(plain)["partialFingerprints"]


def test_annotation_names_the_line_and_stays_at_the_model() -> None:
    (line,) = [each for each in github_report(alone(BROKEN)).splitlines() if "Div.float.R1" in each]
    assert line.startswith("::error file=model.onnx,title=Div.float.R1::")
    assert f"Div 'node_div', {WRITTEN}: rank 2 is not rank 1" in line


def test_test_case_of_junit_has_the_line_in_its_text() -> None:
    report = junit_report(alone(BROKEN))
    assert f"\n    {WRITTEN}\n" in report
    assert 'classname="Div \'node_div\'" name="Div.float.R1"' in report


@pytest.mark.parametrize("write", [overviews, sarif_report, github_report, junit_report])
def test_claim_puts_no_control_character_into_a_report(write: Any) -> None:
    report = write(alone(exported(HOSTILE, second="float[3] scale")))
    assert "x1b[31m" in report
    assert "\x1b" not in report


def test_claim_puts_no_markup_into_the_page() -> None:
    hostile = exported(HOSTILE, second="float[3] scale")
    page = html_report(*check_with_outline(hostile), "model.onnx")
    assert "\\u003c/script>\\u003cb>" in page
    assert "</script><b>" not in page


@pytest.mark.parametrize("properties", [{}, HOSTILE, None])
def test_claim_changes_no_verdict(properties: dict[str, str] | None) -> None:
    report = sonnx_ort.check(exported(properties, second="float[3] scale"))
    assert [(o.rule.id, str(o.status), o.evidence) for o in report.obligations] == [
        (o.rule.id, str(o.status), o.evidence) for o in sonnx_ort.check(BROKEN).obligations
    ]


def test_report_with_lines_has_the_documented_form() -> None:
    schema = Path(__file__).parents[2] / "docs/report.schema.json"
    document = sonnx_ort.check(BROKEN).to_document()
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(document)
