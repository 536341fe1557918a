"""Models that do not import the standard operators, of which enforcement adds some."""

import numpy as np
import onnx
import pytest

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import parse


def without_standard_operators(model: onnx.ModelProto) -> onnx.ModelProto:
    (entry,) = [entry for entry in model.opset_import if not entry.domain]
    model.opset_import.remove(entry)
    return model


BROADCAST = without_standard_operators(
    parse(
        "(float[n,1] A, float[m] B) => (float[] C, float[] D) { C, D = sonnx.Broadcast(A, B) }",
        domains={"sonnx": 1},
    )
)

CALLING = without_standard_operators(
    parse(
        """(float[n] A, float[n] B) => (float[n] C) { C = own.ratio(A, B) }
        <domain: "own", opset_import: ["": 13]>
        ratio (a, b) => (c) { c = Div(a, b) }""",
        domains={"own": 1},
    )
)


@on_each_backend
def test_enforced_broadcast_imports_them_and_runs() -> None:
    feeds = {"A": np.ones((2, 1), np.float32), "B": np.ones(3, np.float32)}
    session = sonnx_ort.InferenceSession(BROADCAST)
    assert [result.shape for result in session.run(None, feeds)] == [(2, 3), (2, 3)]


@on_each_backend
@pytest.mark.parametrize(("model", "version"), [(BROADCAST, 17), (CALLING, 13)])
def test_version_is_that_of_functions_or_a_recent_one(model: onnx.ModelProto, version: int) -> None:
    rewritten = sonnx_ort.rewrite(model)
    assert {entry.domain: entry.version for entry in rewritten.opset_import}[""] == version


@pytest.mark.satisfies("Graph.draft.functions")
@on_each_backend
def test_function_that_is_inlined_runs() -> None:
    feeds = {"A": np.ones(2, np.float32), "B": np.full(2, 4, np.float32)}
    (quotient,) = sonnx_ort.InferenceSession(CALLING).run(None, feeds)
    assert quotient.tolist() == [0.25, 0.25]
