"""A Scan whose state changes its rank is an error in an enforced model, and no dead process."""

from support.child import run_python

ENFORCED = """
import numpy as np, sonnx_ort
from support.graphs import parse

made = parse(
    "(int64[] s, int64[n] x, int64[] q) => (int64[] a, int64[] b) <int64[1] one = {1}> {"
    " a, b = Scan<num_scan_inputs = 1, body = step (int64[] t, int64 e) => (int64[] v, int64 o) {"
    " v = Sub(q, one) o = Identity(e) }>(s, x) }"
)
for backend in ("python", "native"):
    session = sonnx_ort.InferenceSession(made, backend=backend)
    rank_4 = np.ones((1, 1, 1, 1), np.int64)
    try:
        session.run(None, {"s": rank_4, "x": np.ones(2, np.int64), "q": rank_4})
    except Exception as error:
        print(type(error).__name__)
"""


def test_state_of_another_rank_ends_in_an_error() -> None:
    child = run_python(ENFORCED)
    assert child.killed_by is None, child
    assert len(child.stdout.splitlines()) == 2, child
