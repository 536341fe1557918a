"""Integer division in a branch of an If that ONNX Runtime puts in the place of the If."""

import pytest

from support.child import run_python

MODEL = """
import numpy as np, onnx.parser, sonnx_ort

model = onnx.parser.parse_model('''
<ir_version: 8, opset_import: ["" : 17]>
g (int8[n] x, int8[m] y) => (int8[] z) {
  no = Constant<value = bool {0}>()
  z = If(no) <
    else_branch = outer_else () => (int8[] o) {
      i = If(no) <
        else_branch = inner_else () => (int8[] p) { d = Div(x, y) p = Identity(d) },
        then_branch = inner_then () => (int8[] q) { q = Identity(x) }
      >
      o = Identity(i)
    },
    then_branch = outer_then () => (int8[] r) { r = Identity(y) }
  >
}''')
session = sonnx_ort.InferenceSession(model, backend="native")

def run(x, y):
    feeds = {"x": np.array(x, np.int8), "y": np.array(y, np.int8)}
    try:
        print(session.run(None, feeds)[0].tolist())
    except sonnx_ort.ContractViolation as violation:
        print(violation.rule)
"""


@pytest.mark.parametrize(
    ("x", "y", "outcome"),
    [
        pytest.param([-128, 9], [2, -1], "[-64, -9]", id="kept"),
        pytest.param([-128, 9], [-1, 2], "Div.int.C2", id="smallest by -1"),
        pytest.param([1, 9], [0, 2], "Div.int.C1", id="zero divisor"),
        pytest.param([1, 9], [1], "Div.int.R1", id="shapes that differ"),
    ],
)
def test_session_starts_and_keeps_the_rules(x: list[int], y: list[int], outcome: str) -> None:
    child = run_python(MODEL, f"run({x}, {y})")
    assert child.stdout == f"{outcome}\n", child
