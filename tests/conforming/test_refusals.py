"""What no change is made of, with the reason: each is a shape, a type or an attribute by itself."""

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.conforming import change
from support.conformed import reasons
from support.graphs import parse

RULED = {
    "how many axes a Slice names": (
        "(float[4] x, int64[n] s, int64[n] e) => (float[] y) { y = Slice(x, s, e) }",
        "Slice.R1", "the number of axes that it names depends on the input",
    ),
    "layout of an LSTM": (
        """(float[1,2,3] x, float[1,16,3] w, float[1,16,4] r) => (float[] y) {
            y = LSTM <hidden_size = 4, layout = 1> (x, w, r) }""",
        "LSTM.sequence_lens", "ONNX Runtime rejects its layout",
    ),
    "product by a scalar": (
        "(float[2] w) => (float[] y) <float x = {3}> { y = MatMul(x, w) }",
        "MatMul.C1", "an operand is a scalar, which MatMul rejects",
    ),
    "more axes of C than of the product": (
        "(float[2,3] a, float[3,4] b, float[1,1,4] c) => (float[] y) { y = Gemm(a, b, c) }",
        "Gemm.R3", "'c' has more axes than the product",
    ),
    "product without elements": (
        "(float[0,3] a, float[3,4] b, float[4] c) => (float[] y) { y = Gemm(a, b, c) }",
        "Gemm.R3", "the product is empty",
    ),
    "product of a vector": (
        "(float[3] a, float[3,4] b, float[4] c) => (float[] y) { y = Gemm(a, b, c) }",
        "Gemm.R3", "'a' is no matrix",
    ),
    "ranks of a Conv": (
        "(float[1,1,4,4] x, float[1,1,2] w) => (float[] y) { y = Conv(x, w) }",
        "Conv.R1", "'x' and 'w' have different ranks",
    ),
    "kernel of two axes on one": (
        "(float[1,1,4] x) => (float[] y) { y = MaxPool <kernel_shape = [2, 2]> (x) }",
        "MaxPool.R1", "its kernel does not fit the axes of its operand",
    ),
    "bfloat16": (
        "(bfloat16[2] x, bfloat16[1] w) => (bfloat16[2] y) { y = Add(x, w) }",
        "Add.float.R1", "ONNX Runtime has no Expand of bfloat16",
    ),
}  # fmt: skip
"""Nodes that keep a violation: the graph, the rule, and how the reason begins."""

OUTSIDE = {
    "Tile none": ("(float[2] x) => (float[] y) <int64[1] r = {0}> { y = Tile(x, r) }",
                  "axis 0 of 'x' is repeated 0 times"),
    "Tile many": ("(float[2] x) => (float[] y) <int64[1] r = {1000}> { y = Tile(x, r) }",
                  "axis 0 of 'x' is repeated 1000 times"),
    "SpaceToDepth of nothing": (
        "(float[0,4,2,2] x) => (float[] y) { y = SpaceToDepth <blocksize = 2> (x) }",
        "'x' is empty, or has not samples, channels, rows and columns",
    ),
    "SpaceToDepth of odd rows": (
        "(float[1,1,1,4] x) => (float[] y) { y = SpaceToDepth <blocksize = 2> (x) }",
        "2 is no divisor of its 1 rows",
    ),
    "DepthToSpace of odd channels": (
        "(float[1,3,2,2] x) => (float[] y) { y = DepthToSpace <blocksize = 2> (x) }",
        "4 is no divisor of its 3 channels",
    ),
    "Trilu": ("(float[3] x) => (float[] y) { y = Trilu(x) }", "'x' is no matrix"),
    "ReduceProd of many": ("(float[9000] x) => (float[] y) { y = ReduceProd(x) }",
                           "axis 0 of 'x' is of size 9000"),
    "ReduceProd of none": ("(float[0] x) => (float[] y) { y = ReduceProd(x) }",
                           "axis 0 of 'x' is of size 0"),
    "AveragePool in the padding": (
        """(float[1,1,4,4] x) => (float[] y) {
            y = AveragePool <kernel_shape = [2, 2], pads = [2, 0, 0, 0]> (x) }""",
        "a window may lie in the padding alone",
    ),
    "Einsum with an ellipsis": (
        """(float[2,3] x, float[3,2] w) => (float[] y) {
            y = Einsum <equation = "...j,jk->...k"> (x, w) }""",
        "its equation has an ellipsis, a letter twice, or many operands",
    ),
    "Einsum of a diagonal": (
        '(float[3,3] x) => (float[] y) { y = Einsum <equation = "ii->i"> (x) }',
        "its equation has an ellipsis, a letter twice, or many operands",
    ),
    "DFT of an open length": ("(float[1,n,1] x) => (float[] y) { y = DFT <axis = 1> (x) }",
                              "the length of the axis, or whether X is complex, is not known"),
    "DFT to real numbers": (
        "(float[1,4,2] x) => (float[] y) { y = DFT <axis = 1, inverse = 1, onesided = 1> (x) }",
        "it makes real numbers of one half of a spectrum",
    ),
    "OneHot of no depth": (
        """(int64[2] i) => (float[] y) <int64 d = {-1}, float[2] v = {0, 1}> {
            y = OneHot(i, d, v) }""",
        "its depth is -1",
    ),
    "MatMulInteger by rows": (
        "(uint8[2,3] a, uint8[3,2] b, uint8[2] z) => (int32[] y) { y = MatMulInteger(a, b, z) }",
        "its first operand has several zero points",
    ),
}  # fmt: skip
"""Nodes of operators outside the set that no template replaces: the graph, and the reason."""


@pytest.mark.parametrize(("graph", "rule", "reason"), RULED.values(), ids=RULED.keys())
def test_violation_stays_with_the_reason(graph: str, rule: str, reason: str) -> None:
    told = reasons(parse(graph), rounding=True)[rule]
    assert told.startswith(reason)


@pytest.mark.parametrize(("graph", "reason"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_operator_outside_the_set_stays_with_the_reason(graph: str, reason: str) -> None:
    before = parse(graph)
    made = sonnx_ort.conform(before, rounding=True)
    told = {o.rule.id: str(why) for o, why in made.remaining}
    assert told["Graph.operator_set"].startswith(reason)
    assert isinstance(made.model, onnx.ModelProto)
    assert before.graph.node[0].op_type in {node.op_type for node in made.model.graph.node}


def test_lengths_that_may_be_fewer_than_the_sequences_are_not_read_before_opset_14() -> None:
    """There is no Reshape that holds them to the number of sequences, which may be 0."""
    graph = "(float[t,b] x, int64[k] l) => (float[t,b] y) { y = ReverseSequence(x, l) }"
    told = reasons(parse(graph, opset=11), rounding=True)["Graph.operator_set"]
    assert told.startswith("whether each sequence has a length depends on the input")


SEVERAL_EDITS = {
    "operands": "(float[2,1] a, float[1,3] b) => (float[2,3] c) { [n] c = Sub(a, b) }",
    "attributes and operands": (
        "(float[4,5] a, int64 i) => (float[p,q] c) { s = Reshape(i, one) z = Sub(s, s)"
        " [n] c = Slice(a, z, s) }"
    ),
}


@pytest.mark.parametrize("text", SEVERAL_EDITS.values(), ids=SEVERAL_EDITS)
def test_change_that_is_given_up_half_way_leaves_the_node_as_it_was(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = parse(text, constants={"one": np.array([1])})
    whole = len(sonnx_ort.conform(model).model.graph.node)
    left = 0
    for most in range(whole):
        monkeypatch.setattr(change, "_MOST_NODES", most)
        made = sonnx_ort.conform(model)
        if any(f"more than {most} nodes" in reason for _, reason in made.remaining):
            left += 1
            before, after = (each.graph.node[-1] for each in (model, made.model))
            assert (after.input, after.attribute) == (before.input, before.attribute)
    assert left
