"""The functions from file to file hand on what they are asked for, and write all files or none."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort.api import rewriting
from sonnx_ort.backends import Backend
from sonnx_ort.errors import BackendUnavailable
from sonnx_ort.evidence.verification import read_record
from support.graphs import binary_model, parse

WITH_WEIGHTS = "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Div(x, w) }"
NATIVE: Mapping[str, Any] = {"backend": "native", "operators": "default"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model in a folder of its own, with its weights beside it."""
    made = parse(WITH_WEIGHTS)
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    path = tmp_path / "source" / "m.onnx"
    path.parent.mkdir()
    onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A file to write, in another folder."""
    path = tmp_path / "target" / "e.onnx"
    path.parent.mkdir()
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("option", ["target", "record", "certificate"])
def test_place_of_each_file_is_looked_at_before_the_model_is_read(
    option: str, target: Path
) -> None:
    place, missing = target.parent / "missing" / "file", target.with_name("none.onnx")
    files: Any = {"target": target, **NATIVE, option: place}
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(missing, **files)
    assert str(caught.value) == f"'{place}' cannot be written: there is no folder '{place.parent}'"


def test_record_and_certificate_are_two_files(source: Path, target: Path) -> None:
    one, other = target.with_name("x.json"), target.parent / "." / "x.json"
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, target, **NATIVE, record=one, certificate=other)
    assert str(caught.value) == f"'{one}' is the record; give the certificate another file"
    assert names(target.parent) == []


@pytest.mark.parametrize("written", ["target", "record", "certificate"])
@pytest.mark.parametrize("read", ["waivers", "contract"])
def test_no_written_file_replaces_one_that_is_read(
    written: str, read: str, source: Path, target: Path
) -> None:
    file = target.with_name("read.toml")
    file.write_text("", encoding="utf-8")
    files: Any = {"target": target, **NATIVE, read: file}
    sonnx_ort.rewrite_file(source, **files)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, **{**files, written: file})
    assert str(caught.value) == (
        f"'{file}' cannot be written: it would replace the input '{file}'; name another file"
    )
    assert file.read_bytes() == b""


@pytest.mark.parametrize("name", ["record", "certificate"])
@pytest.mark.parametrize("taken", ["source", "target"])
def test_further_file_takes_the_place_of_no_model(
    name: str, taken: str, source: Path, target: Path
) -> None:
    place, before = {"source": source, "target": target}[taken], source.read_bytes()
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, target, **NATIVE, **{name: place})
    assert str(caught.value) == f"'{place}' is a file of the model; give the {name} another file"
    assert (source.read_bytes(), names(target.parent)) == (before, [])


def test_certificate_is_of_the_edition_that_is_named(tmp_path: Path) -> None:
    onnx.save(binary_model("Div", "int32", ["n"], ["n"]), tmp_path / "m.onnx")
    rules = {
        edition: {each.rule.id for each in made.obligations}
        for edition in sonnx_ort.Edition
        if (made := sonnx_ort.certify(tmp_path / "m.onnx", edition=edition))
    }
    assert rules == {
        sonnx_ort.Edition.TYPED: {"Div.int.R2", "Div.int.RG1"},
        sonnx_ort.Edition.PRELIMINARY: {"Div.R2", "Div.R3"},
    }


def test_record_is_of_all_operators(source: Path, target: Path) -> None:
    onnx.save(parse("(float[2] x) => (float[2] y) { a = Tanh(x) y = Div(a, x) }"), source)
    record = target.with_name("record.json")
    sonnx_ort.rewrite_file(source, target, operators="Div", record=record)
    assert "Tanh.float.R2" in {each["rule"] for each in read_record(record).original.obligations}


def test_record_beside_a_certificate_proves_what_that_proves(source: Path, target: Path) -> None:
    """The sizes of an Expand are proved by a folded constant, which no certificate follows."""
    graph = """(int32[1] x) => (int32[k] z) <int64[1, 2] c = {1, 2}, int32[2] w = {1, 2}> {
        s = ReduceMax<axes = [1], keepdims = 0>(c) e = Expand(x, s) z = Div(e, w) }"""
    onnx.save(parse(graph), source)
    record, statuses = target.with_name("record.json"), []
    for certificate in (None, target.with_name("c.json")):
        options: Mapping[str, Any] = {"record": record, "certificate": certificate}
        sonnx_ort.rewrite_file(source, target, **NATIVE, **options)
        found = read_record(record).original.obligations
        statuses += [each["status"] for each in found if each["rule"] == "Div.int.R1"]
    assert statuses == ["proved", "runtime"]


def test_record_has_what_conform_changed(source: Path, target: Path) -> None:
    onnx.save(parse("(float[2, 3] x) => (float[2, 3] y) { y = Softmax(x) }"), source)
    record = target.with_name("record.json")
    sonnx_ort.rewrite_file(source, target, conform=True, operators="profile,-Graph", record=record)
    fixed = {(each.node, rule) for each in read_record(record).mendings for rule in each.rules}
    assert fixed == {("(output y)", "Softmax.R3"), ("(output y)", "Softmax.R4")}


def test_weights_are_certified_by_the_names_that_the_file_has(tmp_path: Path, source: Path) -> None:
    """As in the cache of a model hub: links to files that are named after their content."""
    snapshot, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    snapshot.mkdir()
    source.parent.rename(blobs)
    for name, blob in (("m.onnx", "4f2a"), ("w.bin", "9c01")):
        (blobs / name).rename(blobs / blob)
        (snapshot / name).symlink_to(blobs / blob)
    linked, enforced = snapshot / "m.onnx", tmp_path / "e.onnx"
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(linked, enforced, **NATIVE, certificate=tmp_path / "c.json")
    assert str(caught.value) == (
        f"'{linked}' and its weights are links to files of other names, such as '9c01', and a "
        "certificate has names; copy the model with its weights, and give the copy"
    )
    assert names(tmp_path) == ["blobs", "snapshot"]


def test_model_that_is_a_link_beside_its_weights_is_certified(source: Path, target: Path) -> None:
    link = source.with_name("link.onnx")
    link.symlink_to(source)
    certificate = target.with_name("c.json")
    assert sonnx_ort.rewrite_file(link, target, **NATIVE, certificate=certificate) is not None


FUNCTIONS: Mapping[str, Callable[[Path, Path], object]] = {
    "rewrite": lambda source, _: sonnx_ort.rewrite(source, **NATIVE),
    "rewrite_file": lambda source, target: sonnx_ort.rewrite_file(source, target, **NATIVE),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_caller_is_warned_of_a_model_that_cannot_run_here(
    function: str, source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(backend: Backend) -> None:
        raise BackendUnavailable(f"there is no {backend}")

    monkeypatch.setattr(rewriting, "require_runnable", missing)
    with pytest.warns(UserWarning, match="^there is no native$") as warned:
        FUNCTIONS[function](source, target)
    assert [Path(each.filename).name for each in warned] == [Path(__file__).name]
