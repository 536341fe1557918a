"""`verify` checks the certificate of a record again, also where the original is not at hand."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

import sonnx_ort
from sonnx_ort.evidence.cyclonedx import serial_number
from support.graphs import parse

GRAPH = """(int32[n] x, int32[m] y, float[3] u) => (int32[n] z, float[3] v) {
    z = Div(x, y) v = Sub(u, u)
}"""
Certificate = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, the enforced one, and their record with a certificate."""
    folder = tmp_path_factory.mktemp("made")
    onnx.save(parse(GRAPH), folder / "model.onnx")
    sonnx_ort.rewrite_file(
        folder / "model.onnx",
        folder / "enforced.onnx",
        backend="native",
        certificate=folder / "certificate.json",
        record=folder / "record.json",
    )
    return folder


def altered(made: Path, place: Path, change: Callable[[Certificate], None] | None) -> Path:
    """Write the record with another certificate, or without one, and a serial number that fits."""
    record = json.loads((made / "record.json").read_text("utf-8"))
    evidence = record["declarations"]["evidence"]
    (holder,) = (e for e in evidence if e["bom-ref"] == "certificate:1")
    if change is None:
        evidence.remove(holder)
    else:
        attachment = holder["data"][0]["contents"]["attachment"]
        certificate = json.loads(attachment["content"])
        change(certificate)
        attachment["content"] = json.dumps(certificate)
    record["serialNumber"] = serial_number(record)
    place.write_text(json.dumps(record), "utf-8")
    return place


def with_more_proofs(certificate: Certificate) -> None:
    certificate["obligations"] += certificate["guarded"]
    certificate["guarded"] = []


def with_fewer_guards(certificate: Certificate) -> None:
    del certificate["guarded"][1:]


def of_another_original(certificate: Certificate) -> None:
    certificate["model"] = "0" * 64


def of_another_enforced_model(certificate: Certificate) -> None:
    certificate["enforced"] = "0" * 64


def of_another_form(certificate: Certificate) -> None:
    certificate["obligations"] = 7


CHANGES: Mapping[str, tuple[Callable[[Certificate], None] | None, str]] = {
    "guards that are said to be proofs": (
        with_more_proofs,
        (
            "the certificate is rejected: Div.int.R1 of the node of 'z' does not follow: "
            "it is not proved: axis 0 is n in A and m in B"
        ),
    ),
    "guards left out": (
        with_fewer_guards,
        "the certificate is rejected: nothing is said of Div.int.C1 Div.int.C2 of the node of 'z'",
    ),
    "another original": (
        of_another_original,
        f"the certificate is of another original: its SHA-256 is {'0' * 64}",
    ),
    "another enforced model": (
        of_another_enforced_model,
        "the certificate is rejected: it is the certificate of another enforced model",
    ),
    "another form": (
        of_another_form,
        "the certificate is rejected: the entry 'obligations' has another form",
    ),
    "no certificate": (
        None,
        "the model was rewritten with a certificate, and the record has none",
    ),
}


@pytest.mark.parametrize("model", ["enforced.onnx", "model.onnx"])
def test_record_that_was_not_changed_is_confirmed(made: Path, model: str) -> None:
    original = model == "model.onnx"
    found = sonnx_ort.verify(made / model, made / "record.json", original=original)
    assert found.differences == ()


@pytest.mark.parametrize("name", CHANGES)
def test_changed_certificate_is_a_difference_beside_the_enforced_model(
    name: str, made: Path, tmp_path: Path
) -> None:
    change, message = CHANGES[name]
    record = altered(made, tmp_path / "record.json", change)
    assert sonnx_ort.verify(made / "enforced.onnx", record).differences == (message,)


@pytest.mark.parametrize("name", CHANGES)
def test_changed_certificate_is_a_difference_beside_the_original(
    name: str, made: Path, tmp_path: Path
) -> None:
    record = altered(made, tmp_path / "record.json", CHANGES[name][0])
    found = sonnx_ort.verify(made / "model.onnx", record, original=True)
    assert len(found.differences) == 1
    assert "certificate" in found.differences[0]


def test_missing_certificate_is_told_by_the_model_itself(made: Path, tmp_path: Path) -> None:
    """A record may also leave out that there was one."""
    record = json.loads(altered(made, tmp_path / "record.json", None).read_text("utf-8"))
    options = record["metadata"]["properties"]
    options.remove({"name": "sonnx_ort:certified", "value": "true"})
    record["serialNumber"] = serial_number(record)
    (tmp_path / "record.json").write_text(json.dumps(record), "utf-8")
    found = sonnx_ort.verify(made / "enforced.onnx", tmp_path / "record.json")
    assert found.differences == (CHANGES["no certificate"][1],)
