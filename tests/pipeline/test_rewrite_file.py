"""`rewrite_file` writes everything or nothing, and keeps external data external."""

import os
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import binary_model, model, parse, tensor
from support.waivers import SHAPES

pytestmark = on_each_backend

WEIGHTS = np.array([1, 2, 4, 8], np.float32)
X = np.ones(4, np.float32)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = model(
        [helper.make_node("Div", ["a", "w"], ["c"], name="div")],
        [tensor("a", "float", [4])],
        [tensor("c", "float", [4])],
        initializers=[onnx.numpy_helper.from_array(WEIGHTS, "w")],
    )
    path = tmp_path / "source" / "model.onnx"
    path.parent.mkdir()
    onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A target in a folder of its own."""
    path = tmp_path / "target" / "enforced.onnx"
    path.parent.mkdir()
    return path


def run(path: Path) -> np.ndarray:
    (result,) = ort.InferenceSession(path, sonnx_ort.register()).run(None, {"a": X})
    return result


def test_target_beside_the_source_refers_to_the_same_data(source: Path) -> None:
    target = source.with_name("enforced.onnx")
    sonnx_ort.rewrite_file(source, target)
    assert sorted(p.name for p in source.parent.iterdir()) == [
        "enforced.onnx", "model.onnx", "w.bin",
    ]  # fmt: skip
    np.testing.assert_array_equal(run(target), X / WEIGHTS)


def test_target_elsewhere_gets_a_copy_of_the_data(source: Path, elsewhere: Path) -> None:
    sonnx_ort.rewrite_file(source, elsewhere)
    assert (elsewhere.parent / "w.bin").read_bytes() == WEIGHTS.tobytes()
    np.testing.assert_array_equal(run(elsewhere), X / WEIGHTS)


def test_data_can_be_linked(source: Path, elsewhere: Path) -> None:
    sonnx_ort.rewrite_file(source, elsewhere, external_data="link")
    assert (elsewhere.parent / "w.bin").samefile(source.parent / "w.bin")
    np.testing.assert_array_equal(run(elsewhere), X / WEIGHTS)


def test_data_in_another_folder_cannot_be_referred_to(source: Path, elsewhere: Path) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, elsewhere, external_data="reference")
    assert str(caught.value) == (
        f"'{elsewhere}' cannot refer to the external data in '{source.parent}', which lies outside "
        "its folder; copy or link it, or write the model into that folder"
    )
    assert not list(elsewhere.parent.iterdir())


def test_data_in_the_same_folder_can_be_referred_to(source: Path) -> None:
    target = source.with_name("enforced.onnx")
    sonnx_ort.rewrite_file(source, target, external_data="reference")
    np.testing.assert_array_equal(run(target), X / WEIGHTS)


def test_target_replaces_the_source_by_force_alone(source: Path) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, source)
    assert str(caught.value) == (
        f"'{source}' cannot be written: it would replace the input '{source}'; name another file, "
        "or add force=True"
    )
    sonnx_ort.rewrite_file(source, source, force=True)
    np.testing.assert_array_equal(run(source), X / WEIGHTS)


def test_other_data_in_the_place_of_the_copy_is_not_overwritten(
    source: Path, elsewhere: Path
) -> None:
    other = elsewhere.parent / "w.bin"
    other.write_bytes(b"something else")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, elsewhere)
    assert str(caught.value) == (
        f"'{other}' is another file, with the name of the model's external data; write the model "
        "to another folder"
    )
    assert other.read_bytes() == b"something else"
    assert not elsewhere.exists()


def test_copy_of_the_data_that_is_there_already_is_taken(source: Path, elsewhere: Path) -> None:
    (elsewhere.parent / "w.bin").write_bytes(WEIGHTS.tobytes())
    sonnx_ort.rewrite_file(source, elsewhere)
    np.testing.assert_array_equal(run(elsewhere), X / WEIGHTS)


def test_other_data_of_the_same_size_and_time_is_told_from_a_copy(
    source: Path, elsewhere: Path
) -> None:
    other = elsewhere.parent / "w.bin"
    other.write_bytes(bytes(WEIGHTS.nbytes))
    told = (source.parent / "w.bin").stat()
    os.utime(other, ns=(told.st_atime_ns, told.st_mtime_ns))
    with pytest.raises(sonnx_ort.SonnxError, match="is another file"):
        sonnx_ort.rewrite_file(source, elsewhere)


def test_folders_of_the_data_are_made(source: Path, elsewhere: Path) -> None:
    made = onnx.load(source)
    location = "all/of/them/w.bin"
    (source.parent / location).parent.mkdir(parents=True)
    onnx.save(made, source, save_as_external_data=True, location=location, size_threshold=0)
    sonnx_ort.rewrite_file(source, elsewhere)
    np.testing.assert_array_equal(run(elsewhere), X / WEIGHTS)


def test_rejected_model_leaves_the_target_as_it_was(tmp_path: Path) -> None:
    source, target = tmp_path / "source.onnx", tmp_path / "target.onnx"
    onnx.save(binary_model("Div", "float", [3], [1]), source)
    target.write_bytes(b"old")
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.rewrite_file(source, target)
    assert target.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source.onnx", "target.onnx"]


def test_target_in_a_missing_folder(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "missing" / "enforced.onnx"
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, target)
    assert str(caught.value) == (
        f"'{target}' cannot be written: there is no folder '{target.parent}'"
    )


def test_target_that_is_a_folder(source: Path, tmp_path: Path) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, tmp_path)
    assert str(caught.value) == f"'{tmp_path}' cannot be written: it is a folder"


def test_path_with_external_data_gives_a_model_of_its_own(source: Path) -> None:
    made = sonnx_ort.rewrite(source)
    (weights,) = made.graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weights), WEIGHTS)


def test_model_object_with_external_data_keeps_its_references(source: Path) -> None:
    made = sonnx_ort.rewrite(onnx.load(source, load_external_data=False))
    assert made.graph.initializer[0].data_location == onnx.TensorProto.EXTERNAL


def test_session_on_a_path_with_external_data_runs(source: Path) -> None:
    (result,) = sonnx_ort.InferenceSession(source).run(None, {"a": X})
    np.testing.assert_array_equal(result, X / WEIGHTS)


def test_unknown_transfer_is_refused(source: Path) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, source, external_data="move")
    assert str(caught.value) == (
        "external_data='move' is unknown; choose 'copy' or 'link' or 'reference'"
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(18, "Invalid cross-device link", "w.bin"), "Invalid cross-device link (w.bin)"),
        (OSError("no more"), "no more"),
    ],
)
def test_data_that_cannot_be_linked(
    source: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, told: str
) -> None:
    monkeypatch.setattr(os, "link", Mock(side_effect=error))
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite_file(source, elsewhere, external_data="link")
    assert str(caught.value) == f"'{elsewhere}' cannot be written: {told}"


def test_choices_have_effect(tmp_path: Path) -> None:
    source, target = tmp_path / "source.onnx", tmp_path / "target.onnx"
    choices = {"make_explicit": True, "waivers": [SHAPES]}
    made = parse("""(float[3] x, float[1] y) => (float[3] z) {
        [the_node] q = Div(x, y)
        z = Softmax(q)
    }""")
    onnx.save(made, source)
    sonnx_ort.rewrite_file(source, target, **choices)
    assert onnx.load(target) == sonnx_ort.rewrite(made, **choices)


def test_path_of_a_natively_enforced_model_gives_a_model_of_its_own(source: Path) -> None:
    target = source.with_name("enforced.onnx")
    sonnx_ort.rewrite_file(source, target, backend="native")
    (weights,) = sonnx_ort.rewrite(target).graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weights), WEIGHTS)
