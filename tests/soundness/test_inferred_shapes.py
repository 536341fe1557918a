"""Every shape that `check` rests on is one that the operator gives.

Tried on the node cases of the onnx package: on their own data, and in ONNX Runtime on inputs of
sizes 0, 1, one less and twice as large.
"""

import os
import subprocess
import sys

import pytest

from support.child import TESTS
from support.soundness.node_cases import (
    fits,
    inferred_shapes,
    node_cases,
    tensors,
    with_constants,
    with_symbols,
)

CHUNKS = 8
SHARDS = 4
TRIALS = int(os.environ.get("SONNX_ORT_TRIALS", "8"))


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("variant", [with_symbols, with_constants], ids=lambda v: v.__name__)
def test_inferred_shapes_are_those_of_the_operators_test_data(variant, chunk):
    cases = node_cases()[chunk::CHUNKS]
    assert len(cases) > 100
    misfits = []
    for case in cases:
        model, sizes = variant(case)
        outputs = tensors(case.data_sets[0][1])
        for shape, array in zip(inferred_shapes(model), outputs, strict=False):
            if not fits(shape, array, sizes):
                misfits.append(f"{case.name}: {array.shape}, inferred {shape} with {sizes}")
    assert misfits == []


@pytest.mark.parametrize("shard", range(SHARDS))
def test_inferred_shapes_are_those_that_onnxruntime_gives_for_other_sizes(shard):
    lines, first = [], shard
    while first < len(node_cases()):
        finished = subprocess.run(
            [
                sys.executable,
                "-m",
                "support.soundness.other_sizes",
                *map(str, (first, SHARDS, TRIALS)),
            ],
            capture_output=True,
            check=False,
            cwd=TESTS,
            text=True,
            timeout=600,
        )
        lines += finished.stdout.splitlines()
        tried = [int(line.split()[1]) for line in lines if line.startswith("case ")]
        assert tried, finished.stderr
        # Some operators end the process; go on behind the one that did.
        first = len(node_cases()) if finished.returncode == 0 else tried[-1] + SHARDS
    assert len(tried) == len(range(shard, len(node_cases()), SHARDS))
    assert [line for line in lines if line.startswith("misfit ")] == []
