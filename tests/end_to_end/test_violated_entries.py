"""The error of a rule about an entry of vectors, such as starts and ends, has its numbers."""

from collections.abc import Mapping

import numpy as np
import pytest

import sonnx_ort
from support.backends import BACKENDS
from support.graphs import parse

SLICE = """(float[3, 2] x, int64[2] st, int64[2] en) => (float[n, m] z)
    <int64[2] ax = {1, 0}, int64[2] sp = {1, 1}> { z = Slice(x, st, en, ax, sp) }"""
UNORDERED = SLICE.replace("sp = {1, 1}", "sp = {1, -1}")
RESHAPE = "(float[n, m] x, int64[2] s) => (float[k, l] z) { z = Reshape(x, s) }"
SQUEEZE = "(float[1, 3, 1] x, int64[2] axes) => (float[n] z) { z = Squeeze(x, axes) }"

SHAPES = {"Slice": (3, 2), "Reshape": (0, 2), "Squeeze": (1, 3, 1)}

Case = tuple[str, str, Mapping[str, list[int]], tuple[int, ...], tuple[int, ...]]

CASES: Mapping[str, Case] = {
    "a start": (SLICE, "Slice.R8", {"st": [0, 5], "en": [2, 3]}, (1,), (5, 3, 0, 1)),
    "an end": (SLICE, "Slice.C2", {"st": [0, 0], "en": [7, 3]}, (0,), (0, 7, 1, 1)),
    "both": (SLICE, "Slice.R6", {"st": [0, 2], "en": [2, 1]}, (1,), (2, 1, 0, 1)),
    "both, backwards": (UNORDERED, "Slice.R6", {"st": [0, 0], "en": [2, 2]}, (1,), (0, 2, 0, -1)),
    "a size of -1": (RESHAPE, "Reshape.allowzero.C3", {"s": [0, -1]}, (1,), (-1,)),
    "axes": (SQUEEZE, "Squeeze.A.C2", {"axes": [0, -3]}, (1,), (-3,)),
}


@BACKENDS
@pytest.mark.parametrize("name", CASES)
def test_error_has_the_entry_and_its_numbers(name: str, backend: str) -> None:
    graph, rule, given, index, values = CASES[name]
    operators = rule.partition(".")[0]
    session = sonnx_ort.InferenceSession(parse(graph), operators=operators, backend=backend)
    feeds = {name: np.array(each) for name, each in given.items()}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": np.ones(SHAPES[operators], np.float32), **feeds})
    found = caught.value
    assert (found.rule, found.index, found.values) == (rule, index, values)
