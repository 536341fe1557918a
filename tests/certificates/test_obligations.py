"""The checker concludes a rule from what is established of a node's operands, and not otherwise."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.checker import Model, Rejected, obligations
from sonnx_ort.checker.obligations import rules_of
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.options import Edition
from support.derived import alone, concluded, derived
from support.graphs import parse

INF, NAN = float("inf"), float("nan")
LINES = "float[n] x, float[m] z"
IMAGES = "uint8[1, 1, 3, 3] x, int8[1, 1, 2, 2] w"
POOL = "MaxPool<kernel_shape = [2, 9], dilations = [2, 1], pads = [1, 0, 1, 0]{}>(x)"


def integers(operator: str, elements: str, kind: str = "int32") -> str:
    constant = f"{kind}[2] c = {{{elements}}}"
    return f"({kind}[2] x) => ({kind}[2] y) <{constant}> {{ y = {operator}(x, c) }}"


def bounded(node: str, lower: int, upper: int) -> str:
    """A node that reads integers within bounds, c."""
    stored = f"int32 l = {{{lower}}}, int32 u = {{{upper}}}"
    return f"(int32[n] x) => (int32[n] y) <{stored}> {{ c = Clip(x, l, u) y = {node} }}"


def floats(node: str, *elements: float) -> onnx.ModelProto:
    return parse(alone(node), constants={"c": np.array(elements, np.float32)})


def cut(start: str, end: str, x: str = "float[4] x") -> str:
    stored = f"int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{0}}"
    return alone("Slice(x, s, e, a, p)", x, f"{stored}, int64[1] p = {{1}}")


def cut_at(size: str) -> str:
    """A Slice of x that ends at a size that a run decides."""
    stored = "int64[1] s = {0}, int64[1] a = {0}, int64[1] p = {1}"
    node = f"e = Shape({size}) y = Slice(x, s, e, a, p)"
    return f"(float[n] x, float[m] z) => (float[k] y) <{stored}> {{ {node} }}"


def reshaped(sizes: str, of: str = "") -> str:
    return alone(f"Reshape{of}(x, s)", "float[n, 3] x", f"int64[2] s = {{{sizes}}}")


def lstm(w: str = "float[1, 12, 4] w") -> str:
    inputs = f"float[5, 2, 4] x, {w}, float[1, 12, 3] r"
    return f"({inputs}) => (float[n] y) {{ y = LSTM<hidden_size = 3>(x, w, r) }}"


def lstm_of_constants(lengths: str) -> onnx.ModelProto:
    """An LSTM of constants, and of lengths of sequences."""
    node = "y = LSTM<hidden_size = 3>(x, w, r, , s)"
    text = f"(float[5, 2, 4] x) => (float[n] y) {{ {lengths} {node} }}"
    shapes = {"w": (1, 12, 4), "r": (1, 12, 3)}
    return parse(text, constants={n: np.ones(shape, np.float32) for n, shape in shapes.items()})


CASES: Mapping[str, tuple[Any, Any]] = {
    "Div.float.R1": (alone("Div(x, x)", "float[n] x"), alone("Div(x, z)", LINES)),
    "Div.R4": (alone("Div(x, x)", "float[n] x"), alone("Div(x, z)", LINES)),
    "Div.R5": (integers("Div", "1, 2"), integers("Div", "1, 0")),
    "Div.int.C1": (integers("Div", "1, 2"), integers("Div", "1, 0")),
    "Mod.int.C1": (bounded("Mod(x, c)", 1, 9), bounded("Mod(x, c)", -1, 1)),
    "Div.int.C2": (integers("Div", "1, 2"), integers("Div", "1, -1")),
    "Mod.int.C2": (bounded("Mod(x, c)", -3, -2), bounded("Mod(x, c)", -3, -1)),
    "Pow.int.C1": (bounded("Pow(x, c)", 0, 9), bounded("Pow(x, c)", -1, 9)),
    "Pow.int.C2": (bounded("Pow(c, c)", 0, 9), bounded("Pow(c, c)", 0, 99)),
    "Abs.int.C1": (bounded("Abs(c)", 1 - 2**31, 9), bounded("Abs(c)", -(2**31), 9)),
    "BitShift.int.C1": (integers('BitShift<direction = "LEFT">', "0, 31", "uint32"),
        integers('BitShift<direction = "LEFT">', "0, 32", "uint32")),
    "Max.int.C1": (alone("Max(x, x)", "int32[2] x"), alone("Max(x, x)", "int64[2] x")),
    "Cast.float.C1": (alone("Cast<to = 11>(x)"), alone("Cast<to = 6>(x)")),
    "LeakyRelu.R1": (alone("LeakyRelu<alpha = 0.5>(x)"), alone("LeakyRelu(x)")),
    "BatchNormalization.R1": (alone("BatchNormalization(x, x, x, x, x)"),
        alone("BatchNormalization<training_mode = 1>(x, x, x, x, x)")),
    "MatMul.C1": (alone("MatMul(x, x)"), alone("MatMul(x, x)", "float[1, 2, 3] x")),
    "Slice.R1": (cut("0", "4"), alone("Slice(x, s, s)", stored="int64[1] s = {0}")),
    "Slice.R2": (cut("0", "4"), cut("0", "2", "float[2, 3] x")),
    "Slice.R8": (cut("3", "4"), cut("4", "4")),
    "Slice.C2": (cut_at("x"), cut_at("z")),
    "Slice.R6": (cut("1", "3"), cut("3", "1")),
    "ArgMax.R5": (alone("ArgMax<axis = 1>(x)"), alone("ArgMax<axis = 1>(x)", "float[2, n] x")),
    "ArgMax.float.C1": (floats("ArgMax(c)", INF, -INF), floats("ArgMax(c)", 1, NAN)),
    "Clip.float.C3": (floats("Clip(x, , c)", NAN),
        alone("Clip(x, l, u)", "float[n] x", "float l = {5}, float u = {1}")),
    "Softmax.C2": (alone("Softmax<axis = 1>(x)"), alone("Softmax<axis = 2>(x)")),
    "Softmax.float.C6": (floats("Softmax(c)", 1, -INF), floats("Softmax(c)", -INF, -INF)),
    "QuantizeLinear.C1": (floats("QuantizeLinear(x, c)", 2), floats("QuantizeLinear(x, c)", NAN)),
    "QuantizeLinear.given": (alone("QuantizeLinear(x, x, z)", "float x, uint8 z"),
        alone("QuantizeLinear(x, x)")),
    "DequantizeLinear.C1": (
        alone("DequantizeLinear(x, s, z)", "int32[2] x", "float s = {1}, int32 z = {0}"),
        alone("DequantizeLinear(x, s, z)", "int32[2] x", "float s = {1}, int32 z = {1}")),
    "Concat.C2": (alone("Concat<axis = 0>(x, z)", "float[2, 3] x, float[n, 3] z"),
        alone("Concat<axis = 0>(x, z)", "float[2, 3] x, float[2, n] z")),
    "Reshape.allowzero.C3": (reshaped("2, 3"), reshaped("-1, 3")),
    "Squeeze.A.C2": (alone("Squeeze(x, a)", "float[1, 2, 1] x", "int64[2] a = {0, -1}"),
        alone("Squeeze(x, a)", "float[1, 2, 1] x", "int64[2] a = {0, -3}")),
    "Squeeze.A.C1": (alone("Squeeze(x, a)", "float[1, 2] x, int64[n] a"),
        alone("Squeeze(x, a)", "float[1, 2] x", "int64[1] a = {2}")),
    "Conv.R3": (alone("Conv<group = 4>(x, w)", "float[1, 4, 8, 8] x, float[4, 1, 3, 3] w"),
        alone("Conv<group = 2>(x, w)", "float[1, 4, 8, 8] x, float[4, 2, 3, 3] w")),
    "Conv.B": (alone("Conv(x, w, b)", "float[1, 1, 4, 4] x, float[8, 1, 2, 2] w, float[8] b"),
        alone("Conv(x, w, b)", "float[1, 1, 4, 4] x, float[8, 1, 2, 2] w, float[1] b")),
    "ConvInteger.signs": (alone("ConvInteger(x, w)", IMAGES),
        alone("ConvInteger(x, w)", "int8[1, 1, 3, 3] x, uint8[1, 1, 2, 2] w")),
    "ConvInteger.C1": (alone("ConvInteger(x, w, x)", IMAGES),
        alone("ConvInteger<pads = [1, 1, 1, 1]>(x, w, x)", IMAGES)),
    "MaxPool.fits": (alone(POOL.format(""), "float[1, 1, n, 9] x").replace("n, 9", "1, 9"),
        alone(POOL.format(""), "float[1, 1, n, n] x")),
    "LSTM.W": (lstm(), lstm("float[1, 12, 5] w")),
    "LSTM.constant": (lstm_of_constants("s = Constant<value = int32[2] {1, 1}>()"),
        lstm_of_constants("t = Constant<value = int32[1] {1}>() s = Concat<axis = 0>(t, t)")),
    "Broadcast.E1": (alone("sonnx.Broadcast(x, x)", "float[n] x"),
        alone("sonnx.Broadcast(x, z)", LINES)),
    "Broadcast.C1": (alone("sonnx.Broadcast(x, x)"), alone("Div(x, x)")),
}  # fmt: skip
"""By rule a model whose last node keeps it, and one of which it is not known."""


@pytest.mark.parametrize("rule", CASES)
def test_rule_is_concluded_where_it_is_kept_in_every_run(rule: str) -> None:
    kept, other = CASES[rule]
    assert concluded(kept, rule) is None
    assert concluded(other, rule) is not None


def test_a_rule_of_every_kind_is_tried() -> None:
    kinds = {type(rule.requirement) for each in OPERATORS.values() for rule in each.all_rules()}
    rules = (*CASES, *OLDER, *TYPED, "Div.float.RG1")
    assert kinds - {type(RULES[rule].requirement) for rule in rules} == set()


OLDER = {
    "Softmax.C4": (
        alone("Softmax<axis = 1>(x)", "float[n, 3, 1, 0] x"),
        alone("Softmax<axis = 1>(x)", "float[2, 3, n] x"),
    )
}


@pytest.mark.parametrize("rule", OLDER)
def test_rule_of_an_older_version_is_concluded_where_it_is_kept(rule: str) -> None:
    kept, other = (parse(text, opset=11) for text in OLDER[rule])
    assert concluded(kept, rule) is None
    assert concluded(other, rule) is not None


def test_division_by_zero_is_that_of_onnx() -> None:
    """It gives NaN for 0 / 0, and a negative number an infinity with its sign."""
    assert concluded(floats("Div(x, c)", 2, -3), "Div.R5") is None
    assert concluded(floats("Div(x, c)", 2, 0), "Div.R5") is not None
    reason = "it is not proved: the elements of B depend on the inputs"
    assert concluded(alone("Div(x, x)"), "Div.R5") == reason


REASONS = {
    "a type": ("(int64[n] x) => (int64[n] y) { a = com.example.Twice(x) y = Cast<to = 7>(a) }",
        "Cast.R2", "the type of 'a' is not known"),
    "a shape": ("(float[n] x) => (float[n] y) { a = Unique(x) y = MatMul(x, a) }", "MatMul.C1",
        "it is not proved: the rank of A (n,) is 1, not 2"),
    "a shape of no step": ("(float[n] x) => (float[n] y) { a = Unique(x) y = Max(a) }",
        "Max.float.R1", "the shape of 'a' is not known"),
    "elements": (alone("Div(x, z)", "int32[n] x, int32[n] z"), "Div.int.C1",
        "it is not proved: the elements of B depend on the inputs"),
    "a rule of another version": (alone("Squeeze(x)"), "Squeeze.axes",
        "the rule does not bind the node"),
}  # fmt: skip


@pytest.mark.parametrize("name", REASONS)
def test_what_is_not_concluded_has_a_reason(name: str) -> None:
    text, rule, reason = REASONS[name]
    assert concluded(text, rule) == reason


def test_version_that_the_profile_does_not_know_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    older = replace(OPERATORS["Div"], versions=(1, 6, 7, 13))
    monkeypatch.setattr(obligations, "OPERATORS", {"Div": older})
    assert concluded(alone("Div(x, x)"), "Div.float.R1") == "version 14 of Div is not known"


def test_claim_of_another_result_is_not_held() -> None:
    proto = parse(alone("Div(x, x)"))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [3, 2]))
    reason = "the file says that 'y' has the shape [3, 2]"
    assert concluded(proto, "Div.float.R1") == reason


CLAIMS = {
    "the shape of an operand": ("a = Abs(x) b = Neg(x) y = Sub(a, b)", "Sub.float.R1",
        "it is not proved: the rank of A is unknown (the file says that 'a' has the shape [7])"),
    "the range of an operand": ("a = Cast<to = 1>(i) y = Cast<to = 7>(a)", "Cast.float.C1",
        "it is not proved: the elements of X depend on the inputs"),
    "the range of what is computed before": (
        "a = Cast<to = 1>(i) b = Neg(a) y = Cast<to = 7>(b)", "Cast.float.C1",
        "it is not proved: the elements of X depend on the inputs"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_nothing_is_concluded_behind_a_claim_that_is_not_established(name: str) -> None:
    nodes, rule, reason = CLAIMS[name]
    head = "(float[n] x, int8[n] i) => (float[n] y)"
    assert concluded(f"{head} {{ {nodes} }}", rule) is None
    assert concluded(f"{head} <float[7] a> {{ {nodes} }}", rule) == reason


def test_error_in_a_rule_is_a_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(obligations, "conclude_of_node", fail)
    with pytest.raises(Rejected) as caught:
        obligations.conclude(derived(alone("Div(x, x)")), "y", "Div.float.R1")
    assert str(caught.value) == (
        "Div.float.R1 of the node of 'y' cannot be followed: KeyError('x')"
    )


def bound(text: str, edition: Edition) -> set[str]:
    return {rule.id for rule in rules_of(derived(text).node("y"), edition)}


def test_rules_are_those_of_the_type_that_decides() -> None:
    where = alone("Where(c, x, x)", "bool[2] c, int32[2] x")
    assert bound(where, Edition.TYPED) == {"Where.int.R1", "Where.int.R2", "Where.int.RG1"}
    division = alone("Div(x, x)", "int32[2] x")
    typed = bound(division, Edition.TYPED) - bound(division, Edition.PRELIMINARY)
    assert typed == {"Div.int.R1", "Div.int.R2", "Div.int.RG1", "Div.int.C1"}


def test_rules_that_are_the_same_for_all_types_need_none() -> None:
    model = Model(parse(alone("Concat<axis = 0>(x, x)")))
    assert "Concat.RG1" in {rule.id for rule in rules_of(model.node("y"), Edition.TYPED)}
    with pytest.raises(Rejected, match=r"^the type of 'x' is not known$"):
        rules_of(Model(parse(alone("Div(x, x)"))).node("y"), Edition.TYPED)


TYPED = {
    "Div.float.R2": ("float x, float z", None),
    "Add.float.R2": ("float x, double z", "it is not proved: A is float and B is double"),
}


@pytest.mark.parametrize("rule", TYPED)
def test_types_that_are_known_are_the_same(rule: str) -> None:
    inputs, reason = TYPED[rule]
    text = alone(f"{rule.partition('.')[0]}(x, z)", inputs)
    assert concluded(text, rule) == reason


def sparse(name: str) -> onnx.SparseTensorProto:
    values = numpy_helper.from_array(np.ones(1, np.float32), name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(np.zeros(1, np.int64)), [3])


def with_sparse_input() -> onnx.ModelProto:
    proto = parse(alone("Div(x, x)"))
    kind = helper.make_sparse_tensor_type_proto(onnx.TensorProto.FLOAT, [3])
    proto.graph.input[0].type.CopyFrom(kind)
    return proto


def with_sparse_initializer() -> onnx.ModelProto:
    proto = parse(alone("Div(x, c)"))
    proto.graph.sparse_initializer.append(sparse("c"))
    return proto


def with_constant(**value: Any) -> onnx.ModelProto:
    """A model of a Constant, which has a value, and a division by it."""
    proto = parse(alone("Div(x, c)"))
    proto.graph.node.insert(0, helper.make_node("Constant", [], ["c"], **value))
    return proto


def constant(**value: Any) -> onnx.ModelProto:
    proto = parse("() => (float[n] y) { y = Constant() }")
    proto.graph.node[0].CopyFrom(helper.make_node("Constant", [], ["y"], **value))
    return proto


SPARSE: Mapping[str, tuple[onnx.ModelProto, str, str | None]] = {
    "an input": (with_sparse_input(), "Div.float.RG1", "A 'x' and B 'x' are sparse"),
    "an initializer": (with_sparse_initializer(), "Div.float.RG1", "B 'c' is sparse"),
    "a Constant": (with_constant(sparse_value=sparse("")), "Div.float.RG1", "B 'c' is sparse"),
    "a dense Constant": (with_constant(value_floats=[1.0]), "Div.float.RG1", None),
    "a dense input": (parse(alone("Div(x, x)")), "Div.float.RG1", None),
    "a Constant itself": (constant(sparse_value=sparse("")), "Constant.R2",
        "the result 'y' is sparse"),
    "a dense Constant itself": (constant(value_floats=[1.0]), "Constant.R2", None),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensor_is_seen(name: str) -> None:
    proto, rule, reason = SPARSE[name]
    assert concluded(proto, rule) == (reason and f"it is not proved: {reason}")
