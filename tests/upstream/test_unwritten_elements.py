"""Elements of results that no kernel writes, and memory beyond an operand that one reads.

Once all supported versions write all elements or refuse such nodes, `moves` of GatherND and
ReverseSequence can be set, and `require_filled` and what ConvTranspose requires can go.
"""

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from support.changes import before_and_since
from support.graphs import parse
from support.sessions import on_one_thread

pytestmark = pytest.mark.upstream

REFUSED, WRITTEN, UNWRITTEN = "refused", "written", "unwritten"

Feeds = Mapping[str, np.ndarray[Any, Any]]

NODES: Mapping[str, tuple[str, int, Feeds, Set[Any], Set[str], Set[str]]] = {
    "Pad fills all that it adds": (
        "(int32[2, 2, 1, 2] x, int64[8] k, int32 c) => (int32[] y) { y = Pad(x, k, c) }",
        19,
        {
            "x": np.full((2, 2, 1, 2), 3, np.int32),
            "k": np.array([0, 2, 2, 2, 1, -1, -1, 0]),
            "c": np.array(9, np.int32),
        },
        {3, 9},
        {UNWRITTEN},
        {WRITTEN},
    ),
    "Pad refuses to reflect more than there is": (
        '(int32[1, 1, 2] x, int64[6] k) => (int32[] y) { y = Pad<mode = "reflect">(x, k) }',
        13,
        {"x": np.int32([[[8, 9]]]), "k": np.array([0, 1, 0, 1, 0, 1])},
        {8, 9},
        {UNWRITTEN},
        {REFUSED},
    ),
    "GatherND refuses an index into an empty axis": (
        "(int64[1, 0] x, int64[1, 2] k) => (int64[] y) { y = GatherND(x, k) }",
        13,
        {"x": np.zeros((1, 0), np.int64), "k": np.array([[0, 0]])},
        set(),
        {UNWRITTEN},
        {REFUSED},
    ),
    "ReverseSequence copies a sequence of no length": (
        "(float[2, 3] x, int64[3] k) => (float[] y) { y = ReverseSequence(x, k) }",
        10,
        {"x": np.float32([[3, 4, 5], [6, 7, 8]]), "k": np.array([0, 0, 1])},
        {3, 4, 5, 6, 7, 8},
        {UNWRITTEN},
        {WRITTEN},
    ),
    # What is in memory that nothing was written to may be what was written there before.
    "ConvTranspose refuses to add more than a step": (
        (
            "(float[1, 1, 2, 7] x, float[1, 1, 1, 3] w) => (float[] y) {"
            " y = ConvTranspose<output_padding = [0, 1]>(x, w) }"
        ),
        11,
        {"x": np.ones((1, 1, 2, 7), np.float32), "w": np.ones((1, 1, 1, 3), np.float32)},
        {0, 1, 2, 3},
        {WRITTEN, UNWRITTEN},
        {REFUSED},
    ),
}
"""By a fact of the table of changes: a node, its opset and operands, what it may give, what becomes
of it before and since."""


@pytest.mark.parametrize("fact", NODES)
def test_elements_are_left_unwritten(fact: str) -> None:
    graph, opset, feeds, admitted, before, since = NODES[fact]
    session = ort.InferenceSession(
        parse(graph, opset=opset).SerializeToString(), on_one_thread("none")
    )
    try:
        (found,) = session.run(None, dict(feeds))
        outcome = WRITTEN if set(found.ravel().tolist()) <= admitted else UNWRITTEN
    except Exception:  # noqa: BLE001 - ONNX Runtime raises several
        outcome = REFUSED
    assert outcome in before_and_since(fact, before, since)


@pytest.mark.parametrize("node", ["GlobalMaxPool(x)", "MaxPool<kernel_shape = [3]>(x)"])
def test_largest_of_negative_infinities_is_the_lowest_number(node: str) -> None:
    """Once it is right in all supported versions, the interval need not reach to 0."""
    made = parse(f"(float[1, 1, 3] x) => (float[1, 1, 1] y) {{ y = {node} }}")
    session = ort.InferenceSession(made.SerializeToString())
    (found,) = session.run(None, {"x": np.full((1, 1, 3), -np.inf, np.float32)})
    assert found.item() == np.finfo(np.float32).min
