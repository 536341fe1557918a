"""Rules of shapes, and every fact of the checker, say what ONNX Runtime's kernels compute.

Each operator runs a hundred times and more: attributes, optional inputs, versions, sizes and what
is declared of them vary, also to what its document does not allow.

`SONNX_ORT_RUNS=10 pytest tests/soundness/test_shape_rules.py` has them run ten times,
`SONNX_ORT_GRAPHS=10000` tries more graphs than the default. Shapes are also tried on the node cases
of the onnx package: on their own data, and on inputs of sizes 0, 1, one less and twice as large.
"""

import os
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from support.changes import INSTALLED
from support.chosen_cases import trials
from support.graphs import parse
from support.sessions import on_one_thread
from support.soundness.certified_runs import OPERATORS
from support.soundness.isolated import run_attempts
from support.soundness.node_cases import (
    inferred_shapes,
    misfit,
    node_cases,
    tensors,
    with_constants,
    with_symbols,
)
from support.soundness.nodes import believed_versions
from support.soundness.operator_runs import HeldToRuns, runs_of

DEFAULT = 100
NEEDED = int(os.environ.get("SONNX_ORT_RUNS", str(DEFAULT)))


OLDER = INSTALLED < (1, 31)
"""Whether the installed ONNX Runtime is older than the one that all versions were verified with."""


NO_KERNEL = ("NOT_IMPLEMENTED", "ValidateOpsetForDomain")
"""What its errors say of an operator that it does not have, and of a version too new for it."""


def has_no_kernel(lines, version):
    """Whether ONNX Runtime refused a version of an operator whenever it was tried."""
    results = [line.get("result") or {} for line in lines]
    refused = [r.get("refused", "") for r in results if r.get("version") == version]
    return all(any(sign in reason for sign in NO_KERNEL) for reason in refused)


class TestShapes(HeldToRuns):
    """No result is of another shape than is certain, nor contradicts a fact of the checker."""

    attempt = "support.soundness.certified_runs:attempt"
    operators = OPERATORS
    needed = NEEDED

    @pytest.mark.usefixtures("first_part")
    @pytest.mark.skipif(NEEDED < DEFAULT, reason="too few runs to tell")
    def test_every_version_has_run_that_has_a_kernel(self, attempts):
        missing = {}
        for operator, lines in attempts.items():
            versions = Counter(run["version"] for run in runs_of(lines))
            absent = [v for v in believed_versions(operator) if not versions[v]]
            absent = [v for v in absent if not (OLDER and has_no_kernel(lines, v))]
            if absent:
                missing[operator] = absent
        assert not missing, missing

    @pytest.mark.usefixtures("first_part")
    def test_facts_of_every_operator_have_been_confirmed_often_enough(self, attempts):
        counts = {o: sum(run["facts"] > 0 for run in runs_of(ls)) for o, ls in attempts.items()}
        assert {o: count for o, count in counts.items() if count < 0.4 * NEEDED} == {}


GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", "300"))
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def graphs(once: Callable[..., Any], part_of_trials: int) -> Lines:
    attempt = "support.soundness.certified_runs:attempt_of_graph"
    numbers = trials(part_of_trials, GRAPHS)
    found: Lines = once("certified_graphs", lambda: run_attempts(attempt, numbers, 2))
    return found


def test_no_attempt_fails(graphs: Lines) -> None:
    assert [line["error"] for line in graphs if "error" in line] == []


def confirmed(lines: Lines) -> Lines:
    """The runs that confirm or contradict a fact."""
    results = (line.get("result") or {} for line in lines)
    return [result for result in results if result.get("facts")]


def test_no_run_of_a_graph_contradicts_a_fact(graphs: Lines) -> None:
    assert "\n\n".join(filter(None, (run["misfit"] for run in confirmed(graphs)))) == ""


@pytest.mark.usefixtures("first_part")
def test_the_graphs_are_worth_looking_at(graphs: Lines) -> None:
    assert sum(run["facts"] for run in confirmed(graphs)) > 2 * GRAPHS


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


SIZES = (0, 1, 2, 3, 5)


def conv(attributes: str, kernel: tuple[int, ...]) -> bytes:
    axes = ", ".join(f"s{axis}" for axis in range(len(kernel)))
    filters = ", ".join(map(str, (2, 1, *kernel)))
    model = parse(
        f"(float[n, 1, {axes}] x, float[{filters}] w) => (float[] z)"
        f" {{ z = Conv<{attributes}>(x, w) }}"
    )
    return model.SerializeToString()


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [
        ("strides = [1, 1]", (3, 2)),
        ("strides = [2, 3]", (2, 2)),
        ("dilations = [2, 2]", (2, 3)),
        ("pads = [1, 0, 0, 1]", (3, 3)),
        ('auto_pad = "VALID"', (2, 2)),
        ('auto_pad = "SAME_UPPER", strides = [2, 2]', (2, 3)),
        ('auto_pad = "SAME_LOWER"', (3, 3)),
        ("strides = [2]", (2,)),
        ('auto_pad = "SAME_UPPER"', (3,)),
        ("strides = [1, 2, 1]", (1, 2, 2)),
    ],
)
def test_conv_refuses_an_image_without_room(
    attributes: str, kernel: tuple[int, ...], level: str
) -> None:
    session = ort.InferenceSession(conv(attributes, kernel), on_one_thread(level))
    filters = np.zeros((2, 1, *kernel), np.float32)
    given = []
    for sizes in product(SIZES, repeat=len(kernel)):
        for batch in (0, 1):
            feeds = {"x": np.zeros((batch, 1, *sizes), np.float32), "w": filters}
            try:
                given.append(session.run(None, feeds)[0].shape)
            except Exception:  # noqa: BLE001, S112 - it refuses
                continue
    assert given
    assert [shape for shape in given if 0 in shape[2:]] == []
