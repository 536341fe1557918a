"""Every shape that `check` rests on is one that the operator gives.

Tried on the node cases of the onnx package: on their own data, and in ONNX Runtime on inputs of
sizes 0, 1, one less and twice as large.
"""

import pytest

from support.soundness.isolated import run_attempts
from support.soundness.node_cases import (
    inferred_shapes,
    misfit,
    node_cases,
    tensors,
    with_constants,
    with_symbols,
)

CHUNKS = 8
SHARDS = 4


@pytest.mark.parametrize(
    "chunk", [0, *(pytest.param(chunk, marks=pytest.mark.thorough) for chunk in range(1, CHUNKS))]
)
@pytest.mark.parametrize("variant", [with_symbols, with_constants], ids=lambda v: v.__name__)
def test_certain_shapes_are_those_of_the_operators_test_data(variant, chunk):
    cases = node_cases()[chunk::CHUNKS]
    assert len(cases) > 100
    misfits = []
    for case in cases:
        model, sizes = variant(case)
        outputs = tensors(case.data_sets[0][1])
        found = misfit(inferred_shapes(model), outputs, sizes)
        if found:
            misfits.append(f"{case.name}: {found}")
    assert misfits == []


@pytest.mark.thorough
@pytest.mark.parametrize("shard", range(SHARDS))
def test_certain_shapes_are_those_that_onnxruntime_gives_for_other_sizes(shard):
    numbers = range(shard, len(node_cases()), SHARDS)
    results = run_attempts("support.soundness.other_sizes:attempt", numbers)
    assert [line["error"] for line in results if "error" in line] == []
    assert [misfits for line in results if (misfits := line.get("result"))] == []
