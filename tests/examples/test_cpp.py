"""The example in C++ builds, and runs a model of the compiled backend without Python."""

import shutil
import subprocess
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from support.compiled import HEADER
from support.graphs import parse

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = sorted(ROOT.glob("tests/node/node_modules/onnxruntime-node/bin/*/linux/x64"))
"""Where the package onnxruntime-node has a shared library of ONNX Runtime."""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.skipif(not HEADER.is_file(), reason="needs the header of ONNX Runtime")
@pytest.mark.skipif(not LIBRARIES, reason="needs the package onnxruntime-node")
def test_example_divides_and_says_what_is_violated(tmp_path):
    program, model = tmp_path / "divide", tmp_path / "enforced.onnx"
    original = parse("(int32[n] A, int32[n] B) => (int32[n] C) { [ratio] C = Div(A, B) }")
    onnx.save(sonnx_ort.rewrite(original, backend="compiled"), model)
    folder = LIBRARIES[0]
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-isystem", HEADER.parent]
    command += [ROOT / "examples/cpp/divide.cc", "-L", folder, "-l:libonnxruntime.so.1"]
    command += [f"-Wl,-rpath,{folder}", "-o", program]
    subprocess.run(command, check=True)
    done = subprocess.run(
        [program, model, sonnx_ort.kernels_library()], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines() == [
        "4 3",
        (
            "Non-zero status code returned while running CheckedDiv node. Name:'ratio' Status "
            "Message: SONNX: Div 'ratio' breaks Div.int.C1: a zero divisor: A[1] = 9, B[1] = 0; "
            "shapes A (2,), B (2,). The rule: No element of B is zero."
        ),
    ]
