"""A rule is checked although only the shape of a result is read, which ONNX Runtime may know."""

from collections.abc import Mapping

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from support.graphs import parse

INPUTS = "(int32[n] x, int32[4] y, bool b)"
BRANCHES = (
    "<then_branch = t () => (int32[4] p) { p = Div(x, y) }, "
    "else_branch = e () => (int32[4] q) { q = Abs(y) }>"
)
GRAPHS: Mapping[str, str] = {
    "the result": "=> (int64[1] s) { c = Div(x, y) s = Shape(c) }",
    "a declared result": "=> (int64[1] s) <int32[4] c> { c = Div(x, y) s = Shape(c) }",
    "what follows": "=> (int64[1] s) <int32[4] d> { c = Div(x, y) d = Abs(c) s = Shape(d) }",
    "another node on the result": "=> (int64[1] s) { c = Div(x, y) d = Sub(c, c) s = Shape(d) }",
    "a node that the check proves": (
        "=> (int64[1] s) { c = Div(x, y) d = Sub(c, y) s = Shape(d) }"
    ),
    "a result of a given shape": (
        "=> (int64[2] s) <int64[2] two = {2, 2}> { c = Div(x, y) d = Reshape(c, two) s = Shape(d) }"
    ),
    "two results": (
        "=> (int64[1] s, int64[1] t) { c = Div(x, y) s = Shape(c) d = Abs(c) t = Shape(d) }"
    ),
    "a result of branches": f"=> (int64[1] s) {{ c = If(b) {BRANCHES} s = Shape(c) }}",
    "a result, in branches": (
        "=> (int64[1] s) { c = Div(x, y) s = If(b) "
        "<then_branch = t () => (int64[1] p) { p = Shape(c) }, "
        "else_branch = e () => (int64[1] q) { q = Shape(y) }> }"
    ),
    "elements too": "=> (int64[1] s, int32[4] c) { c = Div(x, y) s = Shape(c) }",
    "elements that nothing reads": "=> (int64[1] s) { c = Div(x, y) d = Abs(c) s = Shape(c) }",
}
FEEDS = {
    "Div.int.R1": {"x": np.ones(3, np.int32), "y": np.ones(4, np.int32)},
    "Div.int.C1": {"x": np.ones(4, np.int32), "y": np.zeros(4, np.int32)},
}


@pytest.mark.parametrize("rule", FEEDS)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("backend", Backend)
def test_rule_is_checked_in_each_run(backend: Backend, graph: str, rule: str) -> None:
    session = sonnx_ort.InferenceSession(parse(f"{INPUTS} {graph}"), backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, FEEDS[rule] | {"b": np.array(True)})
    assert caught.value.rule == rule


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("backend", Backend)
def test_rewritten_model_is_recognized(backend: Backend, graph: str) -> None:
    made = sonnx_ort.rewrite(parse(f"{INPUTS} {graph}"), backend=backend)
    assert sonnx_ort.rewrite(made, backend=backend) == made


NEEDLESS = {
    "elements are read": "=> (int32[n] c, int64[1] s) { c = Div(x, y) s = Shape(c) }",
    "a proof": "=> (int64[1] s) { c = Sub(x, x) s = Shape(c) }",
    "another value": "=> (int32[n] c, int64[1] s) { c = Div(x, y) s = Shape(x) }",
}


@pytest.mark.parametrize("text", NEEDLESS.values(), ids=NEEDLESS.keys())
def test_nothing_is_added_where_the_check_runs_anyway(text: str) -> None:
    made = sonnx_ort.rewrite(parse(f"{INPUTS} {text}"), backend="native")
    assert "Loop" not in [node.op_type for node in made.graph.node]


def test_bfloat16_takes_the_opset_in_which_a_loop_takes_it() -> None:
    text = "(bfloat16[n] x, bfloat16[m] y) => (int64[1] s) { c = Div(x, y) s = Shape(c) }"
    made = sonnx_ort.rewrite(parse(text, opset=15), backend="native")
    assert made.opset_import[0].version == 16
