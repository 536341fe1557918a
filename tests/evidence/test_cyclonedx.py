"""A record is a valid CycloneDX 1.6 document that tells all, in the same bytes each time."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import sonnx_ort
from sonnx_ort.evidence.cyclonedx import cyclonedx
from sonnx_ort.evidence.record import PACKAGES
from sonnx_ort.evidence.verification import read_record
from support.graphs import parse

GRAPH = """
    (float[n] x, float[n] y, int32[2] i, int32[2] j, float[3] w) => (float[?] z, int32[2] q) {
        [relu] r = Relu(x)
        [ratio] z = Div(r, y)
        [quotient] q = Div(i, j)
        [sum] s = Add(w, w)
    }"""

WAIVER = """
[[waiver]]
rule = "Div.float.R1"
node = "divide"
reason = "B is one number"
who = "safety board"
until = 9999-12-31
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(parse(GRAPH), path)
    return path


@pytest.fixture
def violated(tmp_path):
    path = tmp_path / "violated.onnx"
    text = "(float[3] x, float[1] y) => (float[3] z) { [divide] z = Div(x, y) }"
    onnx.save(parse(text), path)
    return path


def recorded(source: Path, **options) -> dict:
    record = source.with_name("record.json")
    sonnx_ort.rewrite_file(source, source.with_name("enforced.onnx"), record=record, **options)
    return json.loads(record.read_text(encoding="utf-8"))


def checked(source: Path, **options) -> dict:
    record = source.with_name("record.json")
    sonnx_ort.check(source, record=record, **{"operators": "default", **options})
    return json.loads(record.read_text(encoding="utf-8"))


def references(part) -> list[str]:
    """Every `bom-ref` in a document."""
    match part:
        case dict():
            own = [part["bom-ref"]] if "bom-ref" in part else []
            return own + [r for inner in part.values() for r in references(inner)]
        case list():
            return [r for inner in part for r in references(inner)]
        case _:
            return []


def referred_to(document: dict) -> set[str]:
    """Every reference that the declarations follow."""
    declared = document["declarations"]
    found = set()
    for claim in declared["claims"]:
        found |= {claim["target"], *claim.get("evidence", []), *claim.get("counterEvidence", [])}
        found |= set(claim.get("mitigationStrategies", []))
    for attestation in declared["attestations"]:
        found.add(attestation["assessor"])
        for entry in attestation["map"]:
            found |= {entry["requirement"], *entry["claims"], *entry.get("counterClaims", [])}
    return found


@pytest.fixture(params=["rewritten", "native", "checked", "waived", "expired", "without"])
def document(request, source, violated):
    match request.param:
        case "rewritten":
            return recorded(source, operators="all,-Graph")
        case "native":
            return recorded(source, backend="native", make_explicit=True)
        case "checked":
            return checked(source, edition="preliminary")
    waivers = source.with_name("waivers.toml")
    until = "2001-01-01" if request.param == "expired" else "9999-12-31"
    waivers.write_text(WAIVER.replace("9999-12-31", until), encoding="utf-8")
    if request.param == "without":
        return recorded(violated, waivers=waivers)
    return checked(violated, waivers=waivers)


def test_document_is_valid(document):
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(document)) is None


def test_validator_tells_an_invalid_document(source):
    document = recorded(source)
    document["declarations"]["claims"][0]["weight"] = 1
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(document)) is not None


def test_references_are_unique_and_lead_somewhere(document):
    defined = references(document)
    assert len(defined) == len(set(defined))
    assert referred_to(document) <= set(defined)


def test_every_obligation_is_a_claim_of_its_rule(source):
    document = recorded(source)
    obligations = sonnx_ort.check(source, operators="default").obligations
    declared = document["declarations"]
    assert [claim["predicate"] for claim in declared["claims"]] == [
        f"{o.rule.id} is kept at {o.operator} '{o.node}'" for o in obligations
    ]
    described = {e["bom-ref"]: e["description"] for e in declared["evidence"]}
    assert [described[c["evidence"][0]] for c in declared["claims"]] == [
        o.evidence for o in obligations
    ]


@pytest.mark.parametrize(("rule", "node", "reasoning"), [
    ("Div.float.RG1", "ratio", "It holds in every run; the evidence says why."),
    ("Div.float.R1", "ratio",
     "The rewritten model checks it in each run, and a violation fails the run."),
    ("Add.float.R1", "sum", "It holds in every run; the evidence says why."),
])  # fmt: skip
def test_claim_says_how_it_is_met(source, rule, node, reasoning):
    claims = recorded(source)["declarations"]["claims"]
    (claim,) = [c for c in claims if c["predicate"].startswith(f"{rule} is kept at ")]
    assert claim["predicate"].endswith(f" '{node}'")
    assert claim["reasoning"] == reasoning


def test_claim_on_a_run_names_the_nodes_that_decide_it(source):
    declared = recorded(source)["declarations"]
    (claim,) = [
        c for c in declared["claims"] if c["predicate"] == "Div.int.C1 is kept at Div 'quotient'"
    ]
    evidence = {e["bom-ref"]: e for e in declared["evidence"]}
    (change,) = [evidence[r] for r in claim["evidence"] if r.startswith("change:")]
    assert change["description"].startswith(
        "Div 'quotient': sonnx::CheckedDiv 'quotient', Reshape "
    )
    assert "report:rewritten" in claim["evidence"]


def test_claim_on_a_run_stands_only_where_the_rewritten_model_was_found_to_decide_it(source):
    record = source.with_name("record.json")
    sonnx_ort.rewrite_file(source, source.with_name("enforced.onnx"), record=record)
    told = read_record(record)
    rewritten = dataclasses.replace(
        told.rewritten, report={**told.rewritten.report, "obligations": []}
    )
    document = json.loads(cyclonedx(dataclasses.replace(told, rewritten=rewritten)))
    (claim,) = [c for c in document["declarations"]["claims"] if "Div.int.C1" in c["predicate"]]
    assert claim["reasoning"].startswith("Only a run can decide it")


def test_check_alone_leaves_to_runs_what_nothing_decides(source):
    declared = checked(source)["declarations"]
    (claim,) = [c for c in declared["claims"] if c["predicate"].startswith("Div.int.C1")]
    assert claim["reasoning"] == (
        "Only a run can decide it, and the record has no rewritten model that does."
    )
    (entry,) = [
        e for e in declared["attestations"][0]["map"] if e["requirement"] == "rule:Div.int.C1"
    ]
    assert entry["conformance"] == {"score": 0.0, "rationale": "1 left to runs"}


@pytest.mark.parametrize(
    ("make", "conformance"),
    [
        (recorded, {"score": 1.0, "rationale": "1 not declared"}),
        (checked, {"score": 0.0, "rationale": "1 left to runs"}),
    ],
    ids=["rewritten", "checked"],
)
def test_declared_shape_that_is_not_proved_is_met_where_a_rewritten_model_lacks_it(
    tmp_path, make, conformance
):
    source = tmp_path / "model.onnx"
    graph = "(float[n] x) => (float[n] y) <float[3] a> { a = Neg(x) y = Abs(a) }"
    onnx.save(parse(graph), source)
    declared = make(source, operators="profile")["declarations"]
    (entry,) = [
        e
        for e in declared["attestations"][0]["map"]
        if e["requirement"] == "rule:Graph.false_claim"
    ]
    assert entry["conformance"] == conformance


@pytest.mark.parametrize("made", ["checked", "rewritten"])
def test_waived_violation_is_a_counter_claim_with_its_waiver(violated, made):
    waivers = violated.with_name("waivers.toml")
    waivers.write_text(WAIVER, encoding="utf-8")
    make = checked if made == "checked" else recorded
    declared = make(violated, waivers=waivers)["declarations"]
    (claim,) = [c for c in declared["claims"] if c["predicate"].startswith("Div.float.R1")]
    told = "It fails in every run that reaches the node; a waiver accepts that."
    assert claim["reasoning"] == told
    (mitigation,) = claim["mitigationStrategies"]
    (waiver,) = [e for e in declared["evidence"] if e["bom-ref"] == mitigation]
    assert waiver["description"] == "B is one number"
    assert waiver["author"] == {"name": "safety board"}
    assert waiver["expires"] == "9999-12-31T23:59:59Z"
    (entry,) = [e for e in declared["attestations"][0]["map"] if "counterClaims" in e]
    assert entry["counterClaims"] == [claim["bom-ref"]]
    assert entry["conformance"] == {"score": 0.0, "rationale": "1 waived"}


OF_MANY = """
[[waiver]]
rule = "Div.float.R1"
operator = "Div"
count = 3
reason = "B is one number"
who = "safety board"
until = 9999-12-31
"""
THREE = """(float[3] x, float[1] y) => (float[3] z)
    { [one] a = Div(x, y) [two] b = Div(a, y) [three] z = Div(b, y) }"""


@pytest.mark.parametrize("made", ["checked", "rewritten"])
def test_waiver_of_many_violations_is_one_piece_of_evidence(tmp_path, made):
    onnx.save(parse(THREE), tmp_path / "model.onnx")
    (tmp_path / "waivers.toml").write_text(OF_MANY, encoding="utf-8")
    make = checked if made == "checked" else recorded
    document = make(tmp_path / "model.onnx", waivers=tmp_path / "waivers.toml")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document)) is None
    declared = document["declarations"]
    (waiver,) = [e for e in declared["evidence"] if e["propertyName"] == "sonnx_ort:waiver"]
    assert waiver["description"] == "B is one number (3 in all)"
    claims = [c for c in declared["claims"] if "mitigationStrategies" in c]
    assert [c["predicate"] for c in claims] == [
        f"Div.float.R1 is kept at Div '{node}'" for node in ("one", "two", "three")
    ]
    assert [c["mitigationStrategies"] for c in claims] == [[waiver["bom-ref"]]] * 3


def test_rule_is_a_requirement_of_its_document(source):
    standards = recorded(source)["definitions"]["standards"]
    (typed,) = [s for s in standards if s["name"] == "SONNX Div, typed edition"]
    (rule,) = [r for r in typed["requirements"] if r["bom-ref"] == "rule:Div.float.R1"]
    assert rule["identifier"] == "R1"
    assert rule["title"] == "Div.float.R1"
    assert rule["text"] == "Tensors A, B and C must have the same shape."
    assert {"name": "sonnx_ort:standing", "value": "stated"} in rule["properties"]


def test_versions_of_all_that_decided_are_told(source):
    tools = recorded(source)["metadata"]["tools"]["components"]
    versions = {tool["name"]: tool["version"] for tool in tools}
    assert list(versions) == [*PACKAGES, "Python"]
    assert versions["sonnx_ort"] == sonnx_ort.__version__
    assert versions["numpy"] == np.__version__


def test_options_are_told(source):
    document = recorded(source, broadcast="explicit", backend="native", make_explicit=True)
    properties = document["metadata"]["properties"]
    assert {p["name"]: p["value"] for p in properties} == {
        "sonnx_ort:format": "sonnx_ort.record/1",
        "sonnx_ort:edition": "typed",
        "sonnx_ort:broadcast": "explicit",
        "sonnx_ort:operators": "Broadcast,Div,Sub",
        "sonnx_ort:backend": "native",
        "sonnx_ort:make_explicit": "true",
    }


MAKE = """
import sys, sonnx_ort
sonnx_ort.rewrite_file(sys.argv[1], sys.argv[2], record=sys.argv[3], operators="all,-Graph")
"""


def test_same_inputs_give_the_same_bytes_in_another_process(source):
    recorded(source, operators="all,-Graph")
    target, record = (source.with_name(name) for name in ("enforced.onnx", "record.json"))
    here = target.read_bytes(), record.read_bytes()
    command = [sys.executable, "-c", MAKE, source, target, record]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "2"})
    assert (target.read_bytes(), record.read_bytes()) == here


def test_other_content_has_another_serial_number(source):
    first = recorded(source)["serialNumber"]
    assert recorded(source, edition="preliminary")["serialNumber"] != first
    assert recorded(source)["serialNumber"] == first
