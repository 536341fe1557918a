"""Integer division in a branch of an If that ONNX Runtime puts in the place of the If."""

import pytest

from support.child import run_python

MODEL = """
import numpy as np, sonnx_ort
from support.graphs import parse

model = parse('''(int8[n] x, int8[m] y) => (int8[] z) {
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


RUNS = {
    "kept": ([-128, 9], [2, -1], "[-64, -9]"),
    "smallest by -1": ([-128, 9], [-1, 2], "Div.int.C2"),
    "zero divisor": ([1, 9], [0, 2], "Div.int.C1"),
    "shapes that differ": ([1, 9], [1], "Div.int.R1"),
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What came of each run, up to one that ended the process."""
    child = run_python(MODEL, *(f"run({x}, {y})" for x, y, _ in RUNS.values()))
    return dict(zip(RUNS, child.stdout.splitlines(), strict=False))


@pytest.mark.parametrize("name", RUNS)
def test_session_starts_and_keeps_the_rules(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes.get(name) == RUNS[name][-1]
