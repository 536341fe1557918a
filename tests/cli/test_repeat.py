"""`sonnx-ort repeat`: output and exit status."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from support.command import command, output, refusal
from support.graphs import parse


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = """(float[2] x, float[2] y) => (float[2] z) <float one = {1}> {
        [invert] r = Div(one, x) [scale] z = Mul(r, y) }"""
    onnx.save(parse(text), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.array([3, 2], np.float32))
    np.save(tmp_path / "y.npy", np.array([5, 2], np.float32))
    np.save(tmp_path / "same.npy", np.array([4, 2], np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


GIVEN = ("repeat", "model.onnx", "--threads", "1", "--runs", "2", "--input", "y=y.npy")
PLAIN = """
     2       0  again
     2       0  new process
     2       0  bound inputs and outputs
     2       0  nodes in parallel
     6       0  elements at other indices
"""


def test_ways_that_differ_are_named_with_their_values_and_optimizers(folder: Path) -> None:
    del folder
    done = command(*GIVEN, "--input", "x=x.npy")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "model: model.onnx\ninput x: float32 (2,) [3., 2.]\ninput y: float32 (2,) [5., 2.]\n"
        f"plain run: without optimizations, 1 thread\n\n  runs  differ  setting{PLAIN}"
        "     2       2  level basic by DivMulFusion\n"
        "     2       2  level extended by DivMulFusion\n"
        "     2       2  level all by DivMulFusion\n\n"
        "value               differs with\n"
        "'z' of Mul 'scale'  level basic, level extended, level all\n"
        "next: sonnx-ort diff model.onnx --why --input y=y.npy --input x=x.npy\n"
    )


def test_model_with_the_same_bits_in_every_way_has_exit_status_0(folder: Path) -> None:
    del folder
    shown = output(*GIVEN, "--input", "x=same.npy")
    assert shown.endswith(
        f"  setting{PLAIN}     2       0  level basic\n     2       0  level extended\n"
        "     2       0  level all\n"
    )
    quiet = command(*GIVEN, "--input", "x=x.npy", "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, "", "")


def test_provider_that_onnx_runtime_has_not_is_refused(folder: Path) -> None:
    del folder
    said = refusal(*GIVEN, "--providers", "Abacus")
    assert said.startswith(
        "sonnx-ort: ONNX Runtime has no execution provider 'Abacus' here; choose from "
    )


@pytest.mark.parametrize("sizes", ["--size n=2", "--input-shape x=2 --input-shape y=2"])
def test_sizes_are_set_by_name_and_by_input(folder: Path, sizes: str) -> None:
    onnx.save(parse("(float[n] x, float[n] y) => (float[n] z) { z = Add(x, y) }"), "open.onnx")
    del folder
    line = f"repeat open.onnx --runs 1 --threads 1 --seed 4 {sizes}"
    lines = output(*line.split()).splitlines()
    assert [each.split(" [")[0] for each in lines[1:3]] == [
        "input x: float32 (2,)",
        "input y: float32 (2,)",
    ]
    assert all(each.endswith("(random, seed 4)") for each in lines[1:3])


def test_inputs_of_the_line_replace_those_of_a_folder(folder: Path) -> None:
    (folder / "data").mkdir()
    for name, value in {"x": [3, 2], "y": [7, 7]}.items():
        np.save(folder / "data" / f"{name}.npy", np.array(value, np.float32))
    done = command(*GIVEN, "--data", "data", "--quiet")
    shown = command(*GIVEN, "--data", "data").stdout.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert shown[1:3] == ["input x: float32 (2,) [3., 2.]", "input y: float32 (2,) [5., 2.]"]


def test_threads_are_as_many_as_processors_by_default_and_the_model_is_named_as_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    model = folder / "model.onnx"
    shown = output("repeat", model, "--runs", "1", "--input", "x=same.npy", "--input", "y=y.npy")
    assert shown.startswith(f"model: {model}\n")
    assert "\n     1       0  2 threads\n" in shown
    assert "3 threads" not in shown
