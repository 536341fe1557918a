"""Models in the cache of a hub: the model and its weights are links into a folder of blobs."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import sonnx_ort
from support.command import command, output, refusal
from support.graphs import parse

FEEDS = {"x": np.ones((2, 4), np.float32)}


def cache(folder: Path, *, weights: str = "bbb", linked: bool = True, blobs: str = "blobs") -> Path:
    """The link to a model; its weights may be in another folder of blobs."""
    snapshot, real, others = folder / "snapshots" / "1", folder / "blobs", folder / blobs
    for each in (snapshot, real, others):
        each.mkdir(parents=True, exist_ok=True)
    model = parse("(float[2, 4] x) => (float[2, 4] y) { y = Div(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.full((2, 4), 2, np.float32), "w"))
    onnx.save(model, real / "aaa", save_as_external_data=True, location="w.bin", size_threshold=0)
    (real / "w.bin").rename(others / weights)
    (snapshot / "w.bin").symlink_to(others / weights)
    path = snapshot / "model.onnx"
    if linked:
        path.symlink_to(Path("../../blobs/aaa"))
    else:
        path.write_bytes((real / "aaa").read_bytes())
    return path


@pytest.mark.parametrize("weights", ["w.bin", "bbb"])
def test_model_runs_as_in_onnx_runtime(tmp_path: Path, weights: str) -> None:
    path = cache(tmp_path, weights=weights)
    (plain,) = onnxruntime.InferenceSession(path).run(None, FEEDS)
    for backend in ("native", "python"):
        (ours,) = sonnx_ort.InferenceSession(path, backend=backend).run(None, FEEDS)
        np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize("line", [
    "check {}", "diff {0} {0}", "diff {} --why", "audit {}", "run {}", "repeat {} --runs 1",
    "contract {}",
])  # fmt: skip
def test_commands_take_it(tmp_path: Path, line: str) -> None:
    done = command(*line.format(cache(tmp_path)).split())
    assert (done.returncode in {0, 1}, done.stderr) == (True, "")


@pytest.mark.parametrize("place", ["here", "beside"])
def test_enforced_model_has_the_weights_beside_it(tmp_path: Path, place: str) -> None:
    path = cache(tmp_path)
    target = (path.parent if place == "beside" else tmp_path) / "enforced.onnx"
    output("rewrite", path, "-o", target, "--backend", "native")
    (found,) = onnxruntime.InferenceSession(target).run(None, FEEDS)
    assert found.tolist() == [[0.5] * 4] * 2
    assert not (target.parent / "bbb").is_symlink()


def test_certificate_needs_the_names_of_the_file(tmp_path: Path) -> None:
    path = cache(tmp_path)
    line = ("rewrite", path, "-o", tmp_path / "e.onnx", "--backend", "native", "--certificate")
    assert refusal(*line, tmp_path / "c.json") == (
        f"sonnx-ort: '{path}' and its weights are links to files of other names, such as 'bbb', "
        "and a certificate has names; copy the model with its weights, and give the copy\n"
    )
    named = cache(tmp_path / "same", weights="w.bin")
    output(*line[:1], named, *line[2:], tmp_path / "c.json")


def test_blobs_are_not_replaced(tmp_path: Path) -> None:
    path = cache(tmp_path)
    done = command("rewrite", path, "-o", tmp_path / "blobs" / "bbb")
    assert done.returncode == 2
    assert "it would replace the model's external data" in done.stderr


@pytest.mark.parametrize("how", [{"linked": False}, {"blobs": "elsewhere"}])
def test_link_that_leads_elsewhere_is_refused(tmp_path: Path, how: dict[str, bool]) -> None:
    path = cache(tmp_path, **how)  # type: ignore[arg-type]
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(path)
    assert str(caught.value).endswith(
        "is a link that leads outside the model's folder; put the file itself there, or make "
        "the model's file a link into the same folder"
    )
