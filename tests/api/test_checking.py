"""`check` hands on what it is asked for, and records the report that it gives back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

import sonnx_ort
from support.graphs import binary_model, parse
from support.waivers import SHAPES, unequal

ACOS = "(float[2] x) => (float[2] y) { y = Acos(x) }"
SMALL = sonnx_ort.Contract((sonnx_ort.ValueContract("x", (0, 0.5)),))


def status(report: sonnx_ort.Report, rule: str) -> str:
    (found,) = {each.status.value for each in report.obligations if each.rule.id == rule}
    return found


def test_contract_is_what_proofs_rest_on() -> None:
    without = sonnx_ort.check(parse(ACOS), operators="Acos")
    within = sonnx_ort.check(parse(ACOS), operators="Acos", contract=SMALL)
    assert (status(without, "Acos.float.C1"), status(within, "Acos.float.C1")) == (
        "runtime", "proved",
    )  # fmt: skip


@pytest.mark.parametrize("backend", list(sonnx_ort.Backend))
def test_report_is_for_the_backend_that_is_named(backend: sonnx_ort.Backend) -> None:
    assert sonnx_ort.check(parse(ACOS), operators="Acos", backend=backend).backend == backend.value


def test_forecast_is_left_out_on_request() -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Softmax(x) }")
    made, without = (sonnx_ort.check(model, forecast=each) for each in (True, False))
    assert [bool(each.mendable) for each in (made, without)] == [True, False]


def test_record_has_the_waivers_of_the_report(tmp_path: Path) -> None:
    onnx.save(unequal(), tmp_path / "m.onnx")
    record = tmp_path / "record.json"
    options: Mapping[str, Any] = {"operators": "default", "waivers": [SHAPES]}
    report = sonnx_ort.check(tmp_path / "m.onnx", record=record, **options)
    assert [each.rule.id for each in report.waived] == [SHAPES.rule]
    claims = json.dumps(json.loads(record.read_text(encoding="utf-8"))["declarations"])
    assert SHAPES.who in claims


@pytest.mark.parametrize("option", ["waivers", "contract"])
def test_record_replaces_no_file_that_is_read(option: str, tmp_path: Path) -> None:
    onnx.save(binary_model("Div", "float", [3], [3]), tmp_path / "m.onnx")
    file = tmp_path / "read.toml"
    file.write_text("", encoding="utf-8")
    options: Any = {"operators": "default", option: file}
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.check(tmp_path / "m.onnx", record=file, **options)
    assert str(caught.value) == (
        f"'{file}' cannot be written: it would replace the input '{file}'; name another file"
    )
    assert file.read_bytes() == b""


def test_place_of_a_record_is_looked_at_before_the_model_is_read(tmp_path: Path) -> None:
    record = tmp_path / "missing" / "record.json"
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.check(tmp_path / "none.onnx", record=record)
    assert str(caught.value) == (
        f"'{record}' cannot be written: there is no folder '{record.parent}'"
    )
