"""Sessions of models from a cache: the same verdicts and results, and the same checks."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from model_builders.graphs import parse

import sonnx_ort
from sonnx_ort import ContractViolation, ModelRejected, SonnxError, pipeline
from sonnx_ort.caching.folder import Folder
from sonnx_ort.ort.optimized_graph import RecordedOptimization
from support.backends import BACKENDS
from support.waivers import unequal

MODEL = parse(
    """(float[n,200] x, float[n,200] y) => (float[n,200] z) {
    h = MatMul(x, w) [divide] z = Div(h, y) }""",
    constants={"w": np.eye(200, dtype=np.float32)},
)
"""A model with weights of more than 64 KiB, which a session keeps outside of the graph."""

ONES = np.ones((2, 200), np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def external(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    # What is saved refers to the file from then on.
    copy = deepcopy(MODEL)
    onnx.save(copy, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


def inside(tmp_path: Path) -> Path:
    path = tmp_path / "whole.onnx"
    onnx.save(MODEL, path)
    return path


def outcome(session: sonnx_ort.InferenceSession) -> tuple[bytes, str]:
    """What a run gives that keeps the rules, and what one is told that does not."""
    (kept,) = session.run(None, {"x": 2 * ONES, "y": ONES})
    with pytest.raises(ContractViolation) as raised:
        session.run(None, {"x": ONES, "y": ONES[:1]})
    return kept.tobytes(), str(raised.value)


@BACKENDS
@pytest.mark.parametrize("kind", ["file", "bytes", "object", "external"])
def test_session_of_a_model_from_the_cache_runs_alike(
    backend: Any, kind: str, tmp_path: Path, cache: Path, external: Path
) -> None:
    sources: dict[str, Any] = {
        "file": inside(tmp_path),
        "bytes": MODEL.SerializeToString(),
        "object": MODEL,
        "external": external,
    }
    options: dict[str, Any] = {"backend": backend, "operators": "Div"}
    plain = sonnx_ort.InferenceSession(sources[kind], **options)
    first = sonnx_ort.InferenceSession(sources[kind], cache=cache, **options)
    kept = {"model"} if backend == "python" else {"guards", "model"}
    assert {path.name.partition("-")[0] for path in cache.iterdir()} == kept
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pipeline, "load", None)
        second = sonnx_ort.InferenceSession(sources[kind], cache=cache, **options)
    assert outcome(plain) == outcome(first) == outcome(second)
    assert repr(second) == repr(plain)
    assert second.graph_inputs == plain.graph_inputs


def test_large_weights_are_not_kept(cache: Path) -> None:
    sonnx_ort.InferenceSession(MODEL, operators="Div", cache=cache)
    (file,) = cache.iterdir()
    assert file.stat().st_size < 20_000


def test_large_weights_are_those_of_the_model_that_is_given(cache: Path) -> None:
    other = deepcopy(MODEL)
    other.graph.initializer[0].raw_data = np.full((200, 200), 2, np.float32).tobytes()
    for model in (MODEL, other, MODEL):
        session = sonnx_ort.InferenceSession(model, operators="Div", cache=cache)
        (found,) = session.run(None, {"x": ONES, "y": ONES})
        weights = onnx.numpy_helper.to_array(model.graph.initializer[0])
        assert (found == ONES @ weights).all()


def test_external_data_in_the_memory_of_options_is_that_of_the_session(cache: Path) -> None:
    model = deepcopy(MODEL)
    (tensor,) = model.graph.initializer
    content = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    found = []
    for factor in (1, 2, 1):
        elements = (np.frombuffer(content, np.float32) * factor).tobytes()
        options = onnxruntime.SessionOptions()
        options.add_external_initializers_from_files_in_memory(
            ["w.bin"], [elements], [len(elements)]
        )
        session = sonnx_ort.InferenceSession(model, options, operators="Div", cache=cache)
        found.append(session.run(None, {"x": ONES, "y": ONES})[0][0, 0])
    assert found == [1, 2, 1]


BY_STANDARD_NODES = pytest.mark.parametrize("backend", ["native", "compiled"])


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The optimized graphs that sessions compare, in which guards may be missing."""
    graphs: list[bytes] = []
    compare = RecordedOptimization.require_enforced

    def noted(record: RecordedOptimization, *models: Any) -> Any:
        graphs.append(record.content)
        return compare(record, *models)

    monkeypatch.setattr(RecordedOptimization, "require_enforced", noted)
    return graphs


def at_level(level: onnxruntime.GraphOptimizationLevel) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    return options


@BY_STANDARD_NODES
def test_optimized_graph_is_compared_once_with_a_model(
    backend: Any, cache: Path, external: Path, compared: list[bytes]
) -> None:
    for source in (MODEL, external):
        before = len(compared)
        for _ in range(3):
            sonnx_ort.InferenceSession(source, operators="Div", backend=backend, cache=cache)
        assert len(compared) == before + 1


@BY_STANDARD_NODES
def test_other_optimized_graph_of_a_model_from_the_cache_is_compared(
    backend: Any, cache: Path, compared: list[bytes]
) -> None:
    levels = onnxruntime.GraphOptimizationLevel
    model = parse("(float[n] x, float[n] y) => (float[n] z) { h = Identity(x) z = Div(h, y) }")
    for level in (levels.ORT_ENABLE_ALL, levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL):
        options = at_level(level)
        sonnx_ort.InferenceSession(model, options, operators="Div", backend=backend, cache=cache)
    assert len(set(compared)) == len(compared) == 2


@BY_STANDARD_NODES
def test_graph_in_which_a_guard_is_missing_is_compared_each_time(
    backend: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise SonnxError("a guard is missing")

    monkeypatch.setattr(RecordedOptimization, "require_enforced", refuse)
    for _ in range(2):
        with pytest.raises(SonnxError, match=r"^a guard is missing$"):
            sonnx_ort.InferenceSession(MODEL, operators="Div", backend=backend, cache=cache)


@BY_STANDARD_NODES
def test_what_a_further_session_had_to_tell_is_not_kept(
    backend: Any, cache: Path, compared: list[bytes]
) -> None:
    """ONNX Runtime folds a Div of constants, with its guard: another session shows that."""
    model = parse(
        "(float[n] x) => (float[n] z, int64[k] q) { z = Neg(x) q = Div(a, b) }",
        constants={"a": np.array([4, 6]), "b": np.array([2, 3])},
    )
    for _ in range(2):
        sonnx_ort.InferenceSession(model, operators="Div", backend=backend, cache=cache)
    assert len(compared) == 2


BRANCH = parse(
    """(float[n] x, float[m] y) => (float[k] z) <bool c = {1}> {
    z = If(c) <then_branch = t () => (float[i] p) { [divide] p = Div(x, y) },
               else_branch = e () => (float[j] q) { q = Neg(x) }> }"""
)
"""A model in which ONNX Runtime renames the guard of a Div."""


def test_renamed_guard_of_a_model_from_the_cache_is_named_as_it_was(cache: Path) -> None:
    said = []
    for _ in range(2):
        session = sonnx_ort.InferenceSession(BRANCH, operators="Div", backend="native", cache=cache)
        with pytest.raises(ContractViolation) as raised:
            session.run(None, {"x": [1.0, 2.0], "y": [1.0]})
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert said[0].startswith("Div 'divide' breaks Div.float.R1: ")


@pytest.mark.parametrize("known", [False, True])
def test_folder_that_can_only_be_read_serves_sessions(
    cache: Path, compared: list[bytes], monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    options: dict[str, Any] = {"operators": "Div", "backend": "native", "cache": cache}
    sonnx_ort.InferenceSession(MODEL, **options)
    if not known:
        for path in cache.glob("guards-*"):
            path.unlink()
    monkeypatch.setattr(Folder, "writable", False)
    before = sorted(cache.iterdir())
    sonnx_ort.InferenceSession(MODEL, **options)
    assert sorted(cache.iterdir()) == before
    assert len(compared) == (1 if known else 2)


@pytest.mark.parametrize("content", [b"[1]", b'{"a": 1}', b"{", b'"x"'])
def test_names_of_guards_that_cannot_be_read_are_found_again(
    content: bytes, cache: Path, compared: list[bytes]
) -> None:
    options: dict[str, Any] = {"operators": "Div", "backend": "native", "cache": cache}
    sonnx_ort.InferenceSession(MODEL, **options)
    (path,) = cache.glob("guards-*")
    Folder(cache).keep(path.name, content)
    sonnx_ort.InferenceSession(MODEL, **options)
    assert len(compared) == 2
    sonnx_ort.InferenceSession(MODEL, **options)
    assert len(compared) == 2


def test_session_and_rewrite_share_what_is_kept_of_small_models(cache: Path) -> None:
    model = parse("(float[n] x, float[n] y) => (float[n] z) { z = Div(x, y) }")
    made = sonnx_ort.rewrite(model, operators="Div", cache=cache)
    (before,) = cache.iterdir()
    session = sonnx_ort.InferenceSession(model, operators="Div", cache=cache)
    assert list(cache.iterdir()) == [before]
    assert session.run(None, {"x": [4.0], "y": [2.0]})[0] == [2.0]
    assert made.graph.name == model.graph.name


def test_model_from_the_cache_starts_again_with_other_providers(cache: Path) -> None:
    for _ in range(2):
        session = sonnx_ort.InferenceSession(MODEL, operators="Div", backend="native", cache=cache)
    session.set_providers(["CPUExecutionProvider"])
    assert len(outcome(session)[0]) == ONES.nbytes


def test_rejected_model_is_rejected_with_the_digest_of_the_whole(cache: Path) -> None:
    said = set()
    for given in ({}, {"cache": cache}, {"cache": cache}):
        with pytest.raises(ModelRejected) as raised:
            sonnx_ort.InferenceSession(unequal(), operators="Div", **given)
        said.add((str(raised.value), raised.value.report.identity.sha256))
    assert len(said) == 1
