"""Models with maps and operators of `ai.onnx.ml`, as of scikit-learn, run like any other."""

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import on_one_thread, quiet

LEVELS = ["none", "all"]
ROWS = np.array([[1, 2, 5], [3, 3, 2]], np.float32)
SUMS = np.array([[8, 8, 8], [8, 8, 8]], np.float32)

GIVING = parse(
    """(float[n,3] x, float[n,3] y) => (seq(map(int64, float)) z) {
        [share] q = Div(x, y)
        [label] z = ai.onnx.ml.ZipMap<classlabels_int64s = [3, 4, 5]>(q)
    }""",
    domains={"ai.onnx.ml": 3},
)
TAKING = parse(
    """(map(string, float) m, float[1,3] y) => (float[1,3] q) {
        [read] x = ai.onnx.ml.DictVectorizer<string_vocabulary = ["a", "b", "c"]>(m)
        [share] q = Div(x, y)
    }""",
    domains={"ai.onnx.ml": 3},
)
CALLING = parse(
    """(float[n,3] x, float[n,3] y) => (seq(map(int64, float)) z) {
        [call] z = own.Label(x, y)
    }
    <domain: "own", opset_import: ["": 17, "ai.onnx.ml": 3]>
    Label (x, y) => (z) {
        [share] q = Div(x, y)
        [label] z = ai.onnx.ml.ZipMap<classlabels_int64s = [3, 4, 5]>(q)
    }""",
    domains={"ai.onnx.ml": 3, "own": 1},
)
MODELS = {
    "giving": (GIVING, {"x": ROWS, "y": SUMS}),
    "taking": (TAKING, {"m": {"a": 1.0, "c": 3.0}, "y": SUMS[:1]}),
    "calling": (CALLING, {"x": ROWS, "y": SUMS}),
}
each_model = pytest.mark.parametrize(("made", "feeds"), MODELS.values(), ids=MODELS)


@each_model
@BACKENDS
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("conform", [False, True])
def test_results_are_those_of_onnx_runtime(
    made: onnx.ModelProto, feeds: dict[str, Any], backend: str, level: str, conform: bool
) -> None:
    session = sonnx_ort.InferenceSession(
        made, on_one_thread(level), backend=backend, conform=conform
    )
    plain = ort.InferenceSession(made.SerializeToString(), quiet())
    expected = repr(plain.run(None, feeds))
    assert repr(session.run(None, feeds)) == expected
    session.set_providers(["CPUExecutionProvider"])
    assert repr(session.run(None, feeds)) == expected


@BACKENDS
@pytest.mark.parametrize("level", LEVELS)
def test_violation_in_front_of_a_map_is_reported(backend: str, level: str) -> None:
    session = sonnx_ort.InferenceSession(GIVING, on_one_thread(level), backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": ROWS, "y": SUMS[:1]})
    assert (caught.value.node, caught.value.rule) == ("share", "Div.float.R1")


@BACKENDS
def test_enforced_model_is_recognized(backend: str) -> None:
    enforced = sonnx_ort.rewrite(GIVING, backend=backend)
    assert sonnx_ort.rewrite(enforced, backend=backend) == enforced


@BACKENDS
def test_concat_of_one_value_of_unknown_rank(backend: str) -> None:
    made = parse(
        """(float[n,3] x) => (float[n,3] y) {
            scaled = ai.onnx.ml.Scaler<offset = [1.0], scale = [2.0]>(x)
            [union] y = Concat<axis = 1>(scaled)
        }""",
        domains={"ai.onnx.ml": 3},
    )
    session = sonnx_ort.InferenceSession(made, quiet(), backend=backend, operators="Concat")
    assert session.run(None, {"x": ROWS})[0].tolist() == [[0, 2, 8], [4, 4, 2]]


def test_operators_with_maps_are_outside_of_the_profile() -> None:
    report = sonnx_ort.check(GIVING, operators="profile")
    evidence = "ai.onnx.ml::ZipMap is not in the operator set, and no draft covers it"
    assert evidence in {violation.evidence for violation in report.violations}
    assert not [v for v in report.violations if v.node == "z"]
