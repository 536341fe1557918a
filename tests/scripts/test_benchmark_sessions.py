"""The measurement of starting sessions: its models, its table, and one run of it."""

import subprocess
import sys

import benchmark
import numpy as np
import onnx
import onnxruntime
import pytest
from benchmarks.starting import OURS, PLAIN, REWRITE, REWRITTEN, Memory, make_weighted, row

TURNS = [
    {PLAIN: 0.010, REWRITTEN: 0.020, REWRITE: 0.030, OURS: 0.050},
    {PLAIN: 0.020, REWRITTEN: 0.020, REWRITE: 0.030, OURS: 0.060},
    {PLAIN: 0.010, REWRITTEN: 0.020, REWRITE: 0.030, OURS: 0.060},
]
MEGABYTE = 2**20


def test_row_has_times_ratios_and_memory():
    plain, ours = Memory(200 * MEGABYTE, 100 * MEGABYTE), Memory(300 * MEGABYTE, 150 * MEGABYTE)
    assert row("m", TURNS, plain, ours) == {
        "model": "m",
        "ONNX Runtime, ms": "10.0 / 10.0",
        "ONNX Runtime, rewritten, ms": "20.0 / 20.0",
        "rewrite, ms": "30.0 / 30.0",
        "InferenceSession, ms": "50.0 / 60.0",
        "over ONNX Runtime": "5.00 / 5.00",
        "peak, MB": "200 -> 300",
        "held, MB": "100 -> 150",
    }


def test_memory_that_the_system_does_not_tell_is_unknown():
    unknown = Memory(None, None)
    assert row("m", TURNS, unknown, unknown)["peak, MB"] == "unknown -> unknown"


def test_large_model_is_the_same_with_its_weights_in_the_file_and_outside(tmp_path):
    whole, external = make_weighted(1.0, tmp_path)
    weights = sum(tensor.ByteSize() for tensor in onnx.load(whole).graph.initializer)
    assert 0.9 * MEGABYTE < weights < 1.1 * MEGABYTE
    assert external.stat().st_size < 10_000
    results = []
    for path in (whole, external):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        size = session.get_inputs()[0].shape[1]
        feeds = {name: np.ones((2, size), np.float32) for name in ("x0", "y")}
        results.append(session.run(None, feeds)[0])
    np.testing.assert_array_equal(*results)


@pytest.mark.thorough
def test_smallest_measurement_prints_a_row_for_each_model(tmp_path):
    file = tmp_path / "sessions.md"
    arguments = ["--seconds", "0.01", "--megabytes", "1", "--markdown", file]
    done = subprocess.run(
        [sys.executable, benchmark.__file__, "sessions", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, _, *rows = file.read_text(encoding="utf-8").splitlines()
    assert first.startswith("| model | ONNX Runtime, ms | ONNX Runtime, rewritten, ms |")
    assert [line.split(" | ")[0] for line in rows] == [
        "| div_int32",
        "| normalization_broadcast",
        "| digits",
        "| 1 MB of weights, external data",
        "| 1 MB of weights, in the file",
        "| 1 MB of weights, bytes",
    ]
