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
    assert len(list(cache.iterdir())) == 1
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


@pytest.mark.parametrize("backend", ["native", "compiled"])
def test_optimized_graph_of_a_model_from_the_cache_is_looked_at(
    backend: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"operators": "Div", "backend": backend, "cache": cache}
    sonnx_ort.InferenceSession(MODEL, **options)

    def refuse(*_: object) -> None:
        raise SonnxError("it was looked at")

    monkeypatch.setattr(RecordedOptimization, "require_enforced", refuse)
    with pytest.raises(SonnxError, match=r"^it was looked at$"):
        sonnx_ort.InferenceSession(MODEL, **options)


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
