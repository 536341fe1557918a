"""`sonnx-ort repeat`: output and exit status."""

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
