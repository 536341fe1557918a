"""The audit of an enforced model: its zeros are those of the drafts, with each backend."""

from pathlib import Path

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.runs.audit.verdicts import Verdict
from support.graphs import parse, tensor

ZEROS = {
    "a": np.array([-0.0, 0.0, -0.0], np.float32),
    "b": np.array([0.0, -0.0, -0.0], np.float32),
    "c": np.array([True, False, True]),
}
MODELS = {
    "Max": "(float[n] a, float[n] b) => (float[n] y) { h = Max(a, b) y = Neg(h) }",
    "Min": "(float[n] a, float[n] b) => (float[n] y) { h = Min(a, b, a) y = Neg(h) }",
    "Where": (
        "(bool[n] c, float[n] a, float[n] b) => (float[n] y) { h = Where(c, a, b) y = Neg(h) }"
    ),
    "Max that is returned": "(float[n] a, float[n] b) => (float[n] y) { y = Max(a, b) }",
}


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
@pytest.mark.parametrize("name", MODELS)
def test_zeros_of_an_enforced_model_are_exact(name: str, backend: str) -> None:
    model = parse(MODELS[name])
    feeds = {value.name: ZEROS[value.name] for value in model.graph.input}
    assert not sonnx_ort.audit(model, feeds).ok
    enforced = sonnx_ort.rewrite(model, backend=backend, operators="all,-Graph")
    made = sonnx_ort.audit(enforced, feeds)
    assert {node.verdict for node in made.nodes} == {Verdict.EXACT}
    kernels = [node for node in made.nodes if node.operator.startswith("sonnx")]
    assert not [broken for node in kernels for broken in node.broken]


@pytest.mark.parametrize("is_output", [False, True], ids=["a node", "the caller"])
def test_result_that_something_else_reads_is_audited_itself(is_output: bool) -> None:
    model = parse(MODELS["Max"])
    feeds = {name: ZEROS[name] for name in "ab"}
    enforced = sonnx_ort.rewrite(model, backend="native", operators="all,-Graph")
    if is_output:
        enforced.graph.output.append(tensor("h_result", "float", ["n"]))
    else:
        (negated,) = (node for node in enforced.graph.node if node.op_type == "Neg")
        negated.input[0] = "h_result"
    (found,) = sonnx_ort.audit(enforced, feeds).outside
    assert (found.operator, found.node) == ("Max", "(output h_result)")


def test_operands_of_a_kernel_of_any_number_are_shown_one_by_one(tmp_path: Path) -> None:
    model = parse(MODELS["Max that is returned"])
    enforced = sonnx_ort.rewrite(model, backend="python", operators="all,-Graph")
    feeds = {name: ZEROS[name] for name in "ab"}
    sonnx_ort.audit(enforced, feeds, save_values=tmp_path / "values")
    path = tmp_path / "values" / "y_result.npy"
    np.save(path, np.array([0.0, 1.0, 0.0], np.float32))
    found = next(
        node
        for node in sonnx_ort.audit(enforced, feeds, values=tmp_path / "values").nodes
        if node.operator == "sonnx::CheckedMax"
    )
    assert found.worst is not None
    assert found.worst.operands == ("data_0 = 0.0", "data_1 = -0.0")
