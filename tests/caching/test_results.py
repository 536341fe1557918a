"""Results from a folder: equal to those that are computed, and computed once."""

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from model_builders.graphs import parse

import sonnx_ort
from sonnx_ort import InvalidModel, ModelRejected, SonnxError, models, pipeline
from sonnx_ort.caching import keys, results
from sonnx_ort.caching.values import written
from sonnx_ort.options import Choices
from support.waivers import SHAPES, unequal

MODEL = parse("(float[n] x, float[m] y) => (float[n] z) { [quotient] z = Div(x, y) }")

OPTIONS: dict[str, dict[str, Any]] = {
    "by default": {},
    "other choices": {"edition": "preliminary", "backend": "native", "broadcast": "explicit"},
    "contract": {"contract": sonnx_ort.Contract(), "operators": "profile,Graph.finite"},
}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def nothing_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each computation fail, so that a result can only be one that was kept."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("it was computed again")

    monkeypatch.setattr(pipeline, "load", fail)


def bits(model: onnx.ModelProto) -> bytes:
    content: bytes = model.SerializeToString(deterministic=True)
    return content


@pytest.mark.parametrize("name", models.names())
@pytest.mark.parametrize("chosen", OPTIONS)
def test_report_that_is_found_is_the_one_that_is_computed(
    name: str, chosen: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, options = models.path(name), OPTIONS[chosen]
    plain = sonnx_ort.check(path, **options)
    first = sonnx_ort.check(path, cache=cache, **options)
    nothing_computed(monkeypatch)
    second = sonnx_ort.check(path, cache=cache, **options)
    assert written(plain) == written(first) == written(second)
    assert plain.to_json() == second.to_json()


def rewritten(path: Path, **options: Any) -> bytes | str:
    """The model that is made, or why none is."""
    try:
        return bits(sonnx_ort.rewrite(path, **options))
    except SonnxError as error:
        return f"{type(error).__name__}: {error}"


REWRITES: dict[str, dict[str, Any]] = {
    "python": {"backend": "python", "operators": "profile,-Graph", "broadcast": "explicit"},
    "native": {"backend": "native", "operators": "elementwise", "broadcast": "explicit"},
    "explicit types": {"make_explicit": True, "operators": "default", "conform": True},
}


@pytest.mark.parametrize("name", models.names())
@pytest.mark.parametrize("chosen", REWRITES)
def test_model_that_is_found_is_the_one_that_is_made(
    name: str, chosen: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, options = models.path(name), REWRITES[chosen]
    plain, first = rewritten(path, **options), rewritten(path, cache=cache, **options)
    if isinstance(plain, bytes):
        nothing_computed(monkeypatch)
    assert plain == first == rewritten(path, cache=cache, **options)


SOURCES = {
    "bytes": lambda path: path.read_bytes(),
    "text": str,
    "object": onnx.load,
    "graph": lambda path: ir.from_proto(onnx.load(path)),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_model_may_be_given_in_any_form(
    kind: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(MODEL, tmp_path / "model.onnx")
    given = SOURCES[kind](tmp_path / "model.onnx")
    plain = sonnx_ort.check(given)
    sonnx_ort.check(given, cache=cache)
    nothing_computed(monkeypatch)
    assert written(sonnx_ort.check(given, cache=cache)) == written(plain)


def test_graph_is_rewritten_anew_and_gives_a_graph(cache: Path) -> None:
    graph = ir.from_proto(MODEL)
    made = [
        sonnx_ort.rewrite(graph, operators="default", cache=cache).graph.num_nodes()
        for _ in range(2)
    ]
    assert made == [sonnx_ort.rewrite(graph, operators="default").graph.num_nodes()] * 2
    assert not cache.exists()


def test_nothing_is_kept_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sonnx_ort.check(MODEL)
    sonnx_ort.rewrite(MODEL, operators="default")
    assert not list(tmp_path.iterdir())


def only_file(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_damaged_file_is_computed_anew_and_replaced(cache: Path) -> None:
    report = sonnx_ort.check(MODEL, cache=cache)
    file = only_file(cache)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert written(sonnx_ort.check(MODEL, cache=cache)) == written(report)
    assert file.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"[]", b'[["whole",7]]', b"\xff", b'[["Report"]]'])
def test_content_that_is_no_result_is_computed_anew_and_replaced(
    cache: Path, content: bytes
) -> None:
    report = sonnx_ort.check(MODEL, cache=cache)
    file = only_file(cache)
    whole = file.read_bytes()
    results.Folder(cache).keep(file.name, content)
    assert written(sonnx_ort.check(MODEL, cache=cache)) == written(report)
    assert file.read_bytes() == whole


@pytest.mark.parametrize("end", [b"", b"\nx", b"\n\xff\xff\xff"])
def test_content_that_is_no_model_is_computed_anew_and_replaced(cache: Path, end: bytes) -> None:
    made = sonnx_ort.rewrite(MODEL, operators="default", cache=cache)
    file = only_file(cache)
    whole = file.read_bytes()
    told = whole.split(b"\n")[1]
    results.Folder(cache).keep(file.name, told + end)
    assert bits(sonnx_ort.rewrite(MODEL, operators="default", cache=cache)) == bits(made)
    assert file.read_bytes() == whole


def test_rejected_model_is_rejected_again_and_not_kept(cache: Path) -> None:
    said = set()
    for _ in range(2):
        with pytest.raises(ModelRejected) as raised:
            sonnx_ort.rewrite(unequal(), cache=cache)
        said.add(str(raised.value))
    assert len(said) == 1
    assert not list(cache.iterdir())


def test_unusable_model_is_refused_and_not_kept(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(InvalidModel):
        sonnx_ort.check(path, cache=cache)
    assert not cache.exists() or not list(cache.iterdir())


def test_waivers_are_applied_to_the_report_that_is_found(cache: Path) -> None:
    assert not sonnx_ort.check(unequal(), cache=cache).ok
    assert sonnx_ort.check(unequal(), cache=cache, waivers=[SHAPES], operators="profile,-Graph").ok
    assert not sonnx_ort.check(unequal(), cache=cache).ok


def test_waiver_that_expires_is_refused_although_the_model_was_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiver = sonnx_ort.Waiver("Div.float.R1", "the_node", "why", "who", dt.date(2030, 1, 1))

    class Day(dt.date):
        now = dt.date(2029, 1, 1)

        @classmethod
        def today(cls) -> "dt.date":  # type: ignore[override]
            return cls.now

    monkeypatch.setattr(dt, "date", Day)
    sonnx_ort.rewrite(unequal(), waivers=[waiver], operators="default", cache=cache)
    Day.now = dt.date(2031, 1, 1)
    with pytest.raises(SonnxError, match="expired on 2030-01-01"):
        sonnx_ort.rewrite(unequal(), waivers=[waiver], operators="default", cache=cache)


def test_warning_of_what_is_not_enforced_is_given_again(cache: Path) -> None:
    model = parse("(float[n] x) => (float[n] z) { [root] z = Sqrt(x) }")
    for _ in range(2):
        with pytest.warns(UserWarning, match="1 node of Sqrt has rules that are not enforced"):
            sonnx_ort.rewrite(model, cache=cache)


def test_nothing_is_kept_if_the_sources_change_meanwhile(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = iter("ab")
    keys.environment.cache_clear()
    monkeypatch.setattr(keys, "sources_digest", lambda: next(digests))
    sonnx_ort.check(MODEL, cache=cache)
    keys.environment.cache_clear()
    assert not list(cache.iterdir())


def test_option_that_no_key_knows_is_computed_and_not_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> str:
        raise results.NotKept("of no class that is kept")

    monkeypatch.setattr(keys, "written", refuse)
    assert written(sonnx_ort.check(MODEL, cache=cache)) == written(sonnx_ort.check(MODEL))
    assert not list(cache.iterdir())


def test_folder_that_can_only_be_read_gives_what_it_has_and_refuses_the_rest(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sonnx_ort.check(MODEL, cache=cache)
    monkeypatch.setattr(os, "access", lambda *_: False)
    nothing_computed(monkeypatch)
    sonnx_ort.check(MODEL, cache=cache)
    with pytest.raises(SonnxError, match="it can only be read"):
        sonnx_ort.check(MODEL, cache=cache, forecast=False)


def test_record_is_of_a_report_that_was_just_made(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(MODEL, path)
    sonnx_ort.check(path, cache=cache)
    file = only_file(cache)
    key, content = file.name, file.read_bytes().split(b"\n", 1)[1]
    results.Folder(cache).keep(key, content.replace(b"quotient", b"forgery"))
    plain, recorded = tmp_path / "plain.json", tmp_path / "record.json"
    sonnx_ort.check(path, record=plain)
    sonnx_ort.check(path, record=recorded, cache=cache)
    assert recorded.read_bytes() == plain.read_bytes()


def test_processes_that_keep_the_same_at_once_do_no_harm(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(MODEL, path)
    code = (
        f"import sonnx_ort; print(sonnx_ort.check({str(path)!r}, cache={str(cache)!r}).to_json())"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    shown = [process.communicate()[0] for process in started]
    assert {json.dumps(json.loads(each)) for each in shown} == {
        json.dumps(sonnx_ort.check(path).to_document())
    }
    assert only_file(cache).stat().st_size > 0


def test_external_data_that_changes_is_seen(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "model.onnx"
    reports = []
    for elements in ([1, 2], [1, 0]):
        model = parse(
            "(int32[2] x) => (int32[2] z) { z = Div(x, w) }",
            constants={"w": np.array(elements, np.int32)},
        )
        (tmp_path / "w.bin").unlink(missing_ok=True)  # onnx appends to it
        onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
        reports.append(sonnx_ort.check(path, cache=cache))
        assert written(reports[-1]) == written(sonnx_ort.check(path))
    assert len(list(cache.iterdir())) == 2


def test_location_that_a_process_chooses_is_replaced_and_no_other() -> None:
    model = onnx.ModelProto()
    for name, location in (("w", "w.bin"), ("held", "chosen-1")):
        tensor = model.graph.initializer.add(name=name, data_location=onnx.TensorProto.EXTERNAL)
        for key, value in (("location", location), ("checksum", "chosen-1")):
            tensor.external_data.add(key=key, value=value)
    moved = results._relocated(model, "chosen-1", "another")
    found = [
        {entry.key: entry.value for entry in tensor.external_data}
        for tensor in moved.graph.initializer
    ]
    assert found == [
        {"location": "w.bin", "checksum": "chosen-1"},
        {"location": "another", "checksum": "chosen-1"},
    ]


@pytest.mark.parametrize(("said", "kept"), [("chosen-1", 0), ("chosen-2", 1)])
def test_model_that_says_a_chosen_location_elsewhere_is_not_kept(
    said: str, kept: int, cache: Path
) -> None:
    """The next process chooses another name, and the text would stay."""
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    model.metadata_props.add(key="weights", value=said)
    choices = Choices.of(backend="native")
    results.kept_model(model.SerializeToString(), choices, cache, "chosen-1")
    assert len(list(cache.iterdir())) == kept


def test_kept_model_has_all_that_is_told_of_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session switches optimizers off where a proof rests on floats that are computed."""
    model = parse(
        "(float[3] x, int32[3] y) => (int32[3] z)"
        " { a = Add(x, x) d = Cast<to = 6>(a) z = Div(y, d) }"
    )
    for named in (*model.opset_import, *model.graph.node):
        named.domain = "ai.onnx"  # the other name of the standard domain
    contract = sonnx_ort.Contract((sonnx_ort.ValueContract("x", (1, 2)),))
    choices = Choices.of(backend="native", operators="Div", contract=contract)
    first = results.kept_model(model, choices, cache)
    nothing_computed(monkeypatch)
    second = results.kept_model(model, choices, cache)
    told = [
        (each.backend, each.demands, each.unchanged, each.rests_on_numbers, each.original)
        for each in (first, second)
    ]
    assert told[0] == told[1]
    assert first.rests_on_numbers
