"""What a command adds to a model to watch it: tried with all operators, in all their versions."""

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.runs.derived_models import exposed, seed_random_operators
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns, Level, Settings
from sonnx_ort.runs.observing import ObservedGraph
from support.soundness.node_cases import node_cases

OLDEST = 7
"""The first version of the standard operators of which ONNX Runtime has kernels."""

NEWEST_FORMAT = 10
"""Of the file, which every supported ONNX Runtime reads."""

PARTS = 96


@functools.cache
def models() -> Sequence[tuple[str, onnx.ModelProto, dict[str, Any]]]:
    """ONNX's own models of one operator or of few, with inputs that are tensors."""
    found = []
    for case in sorted(node_cases(), key=lambda each: str(each.name)):
        values = case.data_sets[0][0]
        if not any(isinstance(value, list | dict | None) for value in values):
            names = (value.name for value in case.model.graph.input)
            feeds = {name: np.asarray(value) for name, value in zip(names, values, strict=False)}
            found.append((str(case.name), case.model, feeds))
    return found


@functools.cache
def versions() -> dict[str, set[int]]:
    """The versions of each standard operator, of which the oldest with kernels is the first."""
    found: dict[str, set[int]] = defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            found[schema.name].add(max(OLDEST, schema.since_version))
    return found


def in_all_versions(
    part: int,
) -> Iterator[tuple[str, onnx.ModelProto, dict[str, Any]]]:
    """Some of the models, in each version that changes one of their operators."""
    for name, model, feeds in models()[part::PARTS]:
        for version in sorted(set().union(*(versions()[n.op_type] for n in model.graph.node))):
            made = deepcopy(model)
            made.ir_version = min(made.ir_version, NEWEST_FORMAT)
            for entry in made.opset_import:
                if not entry.domain:
                    entry.version = version
            yield f"{name} of {version}", made, feeds


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(PARTS))
def test_model_that_runs_can_be_watched(part: int) -> None:
    unable, tried = [], 0
    with IsolatedRuns() as runs:
        for name, model, feeds in in_all_versions(part):
            if isinstance(runs.run(model, feeds), Failed):
                continue
            tried += 1
            shown = runs.run(exposed(model, len(model.graph.node)), feeds)
            if isinstance(shown, Failed):
                unable.append(f"{name}: {shown.reason}")
            seed_random_operators(model)
            for level in (Level.NONE, Level.ALL):
                try:
                    list(ObservedGraph(model, feeds, Settings(level), runs).steps())
                except SonnxError as error:
                    unable.append(f"{name}, {level}: {error}")
    assert tried
    assert not unable
