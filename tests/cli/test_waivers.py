"""`rewrite --waivers` and `run --waivers`: what they print, and their exit status."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from support.backends import BACKENDS
from support.command import command, output, refusal, without_next
from support.graphs import binary_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(binary_model("Div", "int32", [3], [1], node="divide"), path)
    return path


@pytest.fixture(params=['node = "divide"', 'nodes = "div*"\ncount = 1'], ids=["node", "nodes"])
def waivers(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "waivers.toml"
    fields = f'rule = "Div.int.R1"\n{request.param}\nreason = "because"\nwho = "us"\n'
    path.write_text(f"[[waiver]]\n{fields}until = 9999-12-31\n", encoding="utf-8")
    return path


@BACKENDS
def test_rewrite_says_what_it_does_not_enforce(model: Path, waivers: Path, backend: str) -> None:
    target = model.with_name("enforced.onnx")
    shown = output("rewrite", model, "-o", target, "--waivers", waivers, "--backend", backend)
    first, *_, last = shown.splitlines()
    assert last == f"next: sonnx-ort run {target} --waivers {waivers}"
    assert first == (
        f"{target}: written; it enforces the profile in every run, except for the violations that "
        f"'{waivers}' waives"
    )


def test_expired_waiver_keeps_the_model_from_being_written(model: Path, waivers: Path) -> None:
    text = waivers.read_text(encoding="utf-8")
    waivers.write_text(text.replace("9999-12-31", "2020-01-31"), encoding="utf-8")
    target = model.with_name("enforced.onnx")
    said = refusal("rewrite", model, "-o", target, "--waivers", waivers)
    place = "nodes 'div*'" if "count" in text else "node 'divide'"
    assert said == (
        f"sonnx-ort: '{waivers}', entry 1: the waiver of Div.int.R1 at {place} expired on "
        "2020-01-31; fix the model, or have the waiver renewed\n"
    )
    assert not target.exists()


def test_unknown_rule_keeps_the_model_from_being_written(model: Path, waivers: Path) -> None:
    text = waivers.read_text(encoding="utf-8")
    waivers.write_text(text.replace("Div.int.R1", "Div.int.R9"), encoding="utf-8")
    target = model.with_name("enforced.onnx")
    done = command("rewrite", model, "-o", target, "--waivers", waivers)
    assert done.returncode == 2
    assert "entry 1: there is no rule 'Div.int.R9'" in done.stderr
    assert not target.exists()


def test_run_takes_waivers(model: Path, waivers: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([6, 9, 15], np.int32))
    np.save(tmp_path / "b.npy", np.array([3], np.int32))
    feeds = ("--input", f"A={tmp_path}/a.npy", "--input", f"B={tmp_path}/b.npy")
    assert command("run", model, *feeds).returncode == 1
    done = command("run", model, *feeds, "--waivers", waivers)
    assert (done.returncode, without_next(done.stdout)) == (0, "C: int32 (3,) [2, 3, 5]\n")


def test_verify_proposes_no_run_of_a_model_that_needs_the_file_of_its_waivers(
    model: Path, waivers: Path
) -> None:
    target, record = model.with_name("enforced.onnx"), model.with_name("record.json")
    command("rewrite", model, "-o", target, "--waivers", waivers, "--record", record)
    shown = output("verify", target, record)
    assert shown.endswith("no difference\n")
