"""Tensors of texts, which no kernel of ours reads: their operators are enforced all the same."""

import numpy as np
import pytest

import sonnx_ort
from support.graphs import parse

SLICE = """(string[2,2] x, int64[2] s, int64[2] e, int64[2] a, int64[2] k) => (string[?,?] y)
    { y = Slice(x, s, e, a, k) }"""


@pytest.mark.parametrize("backend", ["python", "native"])
def test_slice_of_texts_is_checked_in_runs(backend: str) -> None:
    session = sonnx_ort.InferenceSession(parse(SLICE), operators="Slice", backend=backend)
    feeds = {
        "x": np.array([["a", "b"], ["c", "d"]], object),
        "s": np.array([0, 0]),
        "e": np.array([1, 2]),
        "a": np.array([0, 1]),
        "k": np.array([1, 1]),
    }
    (result,) = session.run(None, feeds)
    assert result.tolist() == [["a", "b"]]
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds | {"s": np.array([0, 2])})
    assert caught.value.rule == "Slice.R8"
