"""What records tell of models and of what was chosen."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis.waivers import waivers_to_json
from sonnx_ort.evidence.making import (
    model_files,
    record_check,
    record_of_check,
    record_of_rewriting,
)
from sonnx_ort.evidence.record import ModelFiles, changes, versions
from sonnx_ort.evidence.verification import read_record
from sonnx_ort.loading.source import ReadModel, read
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import enforce, examine, load
from support.graphs import parse
from support.waivers import SHAPES, unequal

DEMANDS = {"edition": "typed", "broadcast": "reject", "operators": "Broadcast,Div,Sub"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with external data, and with a violation."""
    made = unequal()
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, np.float32), "w"))
    path = tmp_path / "source" / "model.onnx"
    path.parent.mkdir()
    onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def document(report: sonnx_ort.Report) -> dict[str, object]:
    found: dict[str, object] = json.loads(json.dumps(report.to_document()))
    return found


def test_record_of_a_check(source: Path) -> None:
    report = sonnx_ort.check(source, operators="default", waivers=[SHAPES])
    record = record_of_check(source, read(source), report)
    files = ModelFiles("model.onnx", digest(source), {"w.bin": digest(source.with_name("w.bin"))})
    assert record.options == DEMANDS | {"backend": "python"}
    assert record.versions == versions()
    assert (record.original.files, record.original.report) == (files, document(report))
    assert (record.rewritten, record.changes) == (None, ())


def test_report_that_leaves_rules_out_has_no_record(source: Path) -> None:
    report = sonnx_ort.check(source, operators="default")
    part = replace(report, left_out=replace(report.left_out, rules=frozenset({"Div.float.R1"})))
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        record_of_check(source, read(source), part)
    assert str(caught.value) == "a record covers all rules; remove the options that select rules"


def test_record_of_a_check_has_the_audits_of_the_model(source: Path) -> None:
    report = sonnx_ort.check(source, operators="default", waivers=[SHAPES])
    audits = [{"source": "3 samples", "counts": {"exact": 2}}]
    record = source.with_name("record.json")
    record_check(source, report, record, audits)
    assert read_record(record).audits == tuple(audits)
    assert sonnx_ort.verify(source, record, original=True).kept


def test_model_that_was_changed_since_its_check_has_no_record(source: Path) -> None:
    report = sonnx_ort.check(source, operators="default")
    onnx.save(unequal(), source)
    record = source.with_name("record.json")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        record_check(source, report, record)
    assert str(caught.value) == f"'{source}' was changed while it was checked; check it again"
    assert not record.exists()


@pytest.mark.parametrize(("make_explicit", "waivers", "told"), [
    (True, (SHAPES,), {"make_explicit": "true", "waivers": waivers_to_json([SHAPES])}),
    (False, (SHAPES,), {"make_explicit": "false", "waivers": waivers_to_json([SHAPES])}),
])  # fmt: skip
def test_record_of_a_rewriting(
    source: Path,
    tmp_path: Path,
    make_explicit: bool,
    waivers: tuple[sonnx_ort.Waiver, ...],
    told: Mapping[str, str],
) -> None:
    choices = Choices.of(
        "typed", "reject", "default", "native", make_explicit=make_explicit, waivers=waivers
    )
    model, target = read(source), tmp_path / "target.onnx"
    made = enforce(model, choices).to_proto()
    content = made.SerializeToString()
    report = examine(load(model, choices), complete=True).examination.report
    record = record_of_rewriting(source, target, model, report, content=content, choices=choices)
    assert record.options == DEMANDS | {"backend": "native"} | told
    assert record.versions == versions()
    external = {"w.bin": digest(source.with_name("w.bin"))}
    assert record.original.files == ModelFiles("model.onnx", digest(source), external)
    found = {o["rule"]: o for o in record.original.obligations}
    assert found.pop("Broadcast.E1")["status"] == "proved"
    checked = document(sonnx_ort.check(source, operators="default", waivers=waivers))
    # Only `check` finds out what can be fixed.
    assert list(found.values()) == [o | {"mendable": None} for o in checked["obligations"]]
    assert record.rewritten is not None
    assert record.rewritten.files == ModelFiles(
        "target.onnx", hashlib.sha256(content).hexdigest(), external
    )
    in_place = source.with_name("target.onnx")
    in_place.write_bytes(content)
    rewritten = document(sonnx_ort.check(in_place, operators="default", waivers=waivers))
    assert record.rewritten.obligations == rewritten["obligations"]
    assert record.changes == changes(model.proto, made)


def test_external_data_lies_where_the_model_was_read(source: Path, tmp_path: Path) -> None:
    model, elsewhere = read(source), tmp_path / "elsewhere.onnx"
    external = {"w.bin": digest(source.with_name("w.bin"))}
    assert model_files(elsewhere, model).external == external
    without_place = ReadModel(model.proto, None, model.sha256)
    assert model_files(source, without_place).external == external
    assert model_files(elsewhere, model, {"w.bin": "known"}).external == {"w.bin": "known"}


def test_record_has_the_measured_deviation_of_a_conformed_model(tmp_path: Path) -> None:
    rounded = tmp_path / "rounded.onnx"
    onnx.save(parse("(float[3] x) => (float[3] y) { [soft] y = Softsign(x) }"), rounded)
    conforming, enforced = tmp_path / "conforming.onnx", tmp_path / "enforced.onnx"
    made = sonnx_ort.conform_file(rounded, conforming, rounding=True)
    assert made.measured is not None
    record = record_of_check(conforming, read(conforming), sonnx_ort.check(conforming))
    assert record.options["measured_deviation"] == made.measured.to_json()
    stored = tmp_path / "record.json"
    sonnx_ort.rewrite_file(conforming, enforced, record=stored)
    assert read_record(stored).options["measured_deviation"] == made.measured.to_json()
    assert sonnx_ort.verify(enforced, stored).kept
    plain = tmp_path / "plain.onnx"
    onnx.save(sonnx_ort.conform(rounded, rounding=True, measure=False).model, plain)
    options = record_of_check(plain, read(plain), sonnx_ort.check(plain)).options
    assert "measured_deviation" not in options
