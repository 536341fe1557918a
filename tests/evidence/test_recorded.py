"""Records are written with the model, or neither is."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import pipeline
from sonnx_ort.loading import saving
from support.backends import on_each_backend
from support.graphs import binary_model

pytestmark = on_each_backend


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(binary_model("Div", "float", ["n"], ["n"]), path)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.onnx"
    onnx.save(binary_model("Div", "float", [3], [1]), path)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_record_changes_nothing_of_the_model(source: Path) -> None:
    with_record, without = source.with_name("a.onnx"), source.with_name("b.onnx")
    sonnx_ort.rewrite_file(source, with_record, record=source.with_name("record.json"))
    sonnx_ort.rewrite_file(source, without)
    assert with_record.read_bytes() == without.read_bytes()


def test_rejected_model_has_no_record(broken: Path) -> None:
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.rewrite_file(
            broken, broken.with_name("a.onnx"), record=broken.with_name("record.json")
        )
    assert names(broken.parent) == ["broken.onnx"]


def test_without_its_record_there_is_no_model(source: Path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise sonnx_ort.SonnxError("the disk is full")

    monkeypatch.setattr(saving, "write_text", fail)
    with pytest.raises(sonnx_ort.SonnxError, match="the disk is full"):
        sonnx_ort.rewrite_file(
            source, source.with_name("a.onnx"), record=source.with_name("record.json")
        )
    assert names(source.parent) == ["model.onnx"]


def test_rewriting_a_model_in_its_place_records_what_it_was(source: Path) -> None:
    original, record = source.with_name("kept.onnx"), source.with_name("record.json")
    original.write_bytes(source.read_bytes())
    sonnx_ort.rewrite_file(source, source, record=record, force=True)
    assert sonnx_ort.verify(original, record, original=True).kept
    assert sonnx_ort.verify(source, record).kept


@pytest.mark.parametrize("name", ["model.onnx", "enforced.onnx"])
def test_record_in_the_place_of_a_model(source: Path, name: str) -> None:
    before = source.read_bytes()
    record = source.with_name(name)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, source.with_name("enforced.onnx"), record=record)
    assert str(caught.value) == (f"'{record}' is a file of the model; give the record another file")
    assert names(source.parent) == ["model.onnx"]
    assert source.read_bytes() == before


def test_record_in_the_place_of_external_data(tmp_path: Path) -> None:
    weights = onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    made = binary_model("Div", "float", [2], [2])
    made.graph.initializer.append(weights)
    source, data = tmp_path / "model.onnx", tmp_path / "w.bin"
    onnx.save(made, source, save_as_external_data=True, location="w.bin", size_threshold=0)
    before = data.read_bytes()
    with pytest.raises(sonnx_ort.SonnxError, match="is a file of the model"):
        sonnx_ort.rewrite_file(source, tmp_path / "enforced.onnx", record=data)
    with pytest.raises(sonnx_ort.SonnxError, match="is a file of the model"):
        sonnx_ort.check(source, operators="default", record=data)
    assert data.read_bytes() == before


def test_record_in_a_missing_folder(source: Path, tmp_path: Path) -> None:
    record = tmp_path / "missing" / "record.json"
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, source.with_name("a.onnx"), record=record)
    assert str(caught.value) == (
        f"'{record}' cannot be written: there is no folder '{record.parent}'"
    )
    assert names(source.parent) == ["model.onnx"]


def test_record_of_a_check_is_of_a_file(source: Path) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.check(
            source.read_bytes(), operators="default", record=source.with_name("record.json")
        )
    assert str(caught.value) == "a record needs a model file; give the path of the model"


def test_there_is_no_record_of_a_file_that_was_changed_while_it_was_checked(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = pipeline.check

    def changing(*given: Any, **choices: Any) -> Any:
        report = checked(*given, **choices)
        onnx.save(binary_model("Sub", "float", ["n"], ["n"]), source)
        return report

    monkeypatch.setattr(pipeline, "check", changing)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.check(source, operators="default", record=source.with_name("record.json"))
    assert str(caught.value) == f"'{source}' was changed while it was checked; check it again"
    assert names(source.parent) == ["model.onnx"]
