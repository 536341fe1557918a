"""What optimizers may make of a graph where a proof rests on numbers."""

import re
from collections.abc import Set as AbstractSet
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest

from sonnx_ort.loading.traversal import every_node
from sonnx_ort.ort.disabled_optimizers import names_needed_off
from sonnx_ort.ort.optimized_numbers import MADE, REMOVED, unknown_nodes
from sonnx_ort.ort.optimizers import switch_off_optimizers
from support.graphs import parse
from support.sessions import on_one_thread


def test_no_product_sum_or_normalization_is_said_to_be_removed() -> None:
    """Whoever removes one has changed other numbers for it."""
    assert REMOVED.isdisjoint({"Add", "BatchNormalization", "Conv", "Div", "MatMul", "Mul", "Sub"})


def test_nothing_is_made_of_a_product_or_a_normalization() -> None:
    for operators in MADE.values():
        assert operators.isdisjoint({"Mul", "BatchNormalization"})


def test_only_what_moves_or_converts_stands_where_the_node_before_may() -> None:
    assert {name for (_, name), operators in MADE.items() if not operators} == {
        *("Cast", "Identity", "ReorderInput", "ReorderOutput", "Squeeze", "Transpose", "Unsqueeze")
    }


CONSTANTS = {
    "w": np.ones((16, 1, 2, 2), np.float32),
    "of_one": np.ones((16, 16, 1, 1), np.float32),
    "m": np.ones((4, 3), np.float32),
    "b": np.ones(16, np.float32),
    "f": np.ones((1, 16, 1, 1), np.float32),
    "each": np.ones((16, 1, 1, 1), np.float32),
    "doubled": np.array([1, 1, 2, 2], np.float32),
    "bias": np.ones(3, np.float32),
    "scale": np.array(0.5, np.float32),
    **{f"i{number}": np.array(number) for number in range(3)},
    **{f"n{number}": np.array([number]) for number in range(5)},
    **{f"at{i}{j}": np.array([i, j]) for i in range(2) for j in range(2)},
    "end": np.full(2, np.iinfo(np.int64).max),
    "axes": np.array([2, 3]),
    "steps": np.array([2, 2]),
}
PARTS = " ".join(
    f"s{i}{j} = Slice(v, at{i}{j}, end, axes, steps)" for i in range(2) for j in (0, 1)
)
CONV = "(float[1,1,4,4] v) => (float[] z) { c = Conv(v, w)"
BOTH = "(float[1,1,4,4] v) => (float[] z) { c = Conv(v, w) d = Conv(v, w)"
GEMM = "(float[2,4] x) => (float[] z) { c = Gemm(x, m)"


@pytest.mark.parametrize(("text", "level", "made"), [
    ("(float[2,4] x) => (float[] z) { c = MatMul(x, m) z = Add(c, bias) }", "basic",
     {("Gemm", "Add")}),
    ("(float[2,2,4] x) => (float[] z) { c = MatMul(x, m) z = Add(c, bias) }", "basic",
     {("Reshape", ""), ("Gemm", ""), ("Reshape", "Add")}),
    ("(float[2,4] x, float[2,3] y) => (float[] z) { c = Gemm(x, m) z = Sum(c, y) }", "basic",
     {("Gemm", "Sum")}),
    (("(float[4,2] x, float[4,2] y) => (float[] z) "
     "{ t = Transpose <perm = [1, 0]> (x) z = MatMul(t, y) }"), "extended",
     {("FusedMatMul", "MatMul")}),
    *((f"{GEMM} z = {function}(c) }}", "extended", {("FusedGemm", function)})
      for function in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid")),
    *((f"{CONV} z = {function}(c) }}", "extended", {("FusedConv", function)})
      for function in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip")),
    *((f"{CONV} z = {function}(c) }}", "all", {("Conv", ""), ("ReorderOutput", function)})
      for function in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip", "Identity")),
    (f"{CONV} z = Exp(c) }}", "all", {("Conv", ""), ("ReorderOutput", "Conv")}),
    (f"{CONV} z = Gelu(c) }}", "all", {("Conv", ""), ("Gelu", ""), ("ReorderOutput", "Gelu")}),
    (f"{CONV} z = HardSwish(c) }}", "all",
     {("Conv", ""), ("HardSigmoid", ""), ("Mul", ""), ("ReorderOutput", "HardSwish")}),
    (f"{CONV} d = HardSwish(c) z = Neg(d) }}", "all",
     {("Conv", ""), ("ReorderOutput", "HardSwish")}),
    (f"{CONV} z = Mul(c, f) }}", "all", {("Conv", ""), ("ReorderOutput", "Mul")}),
    (f"{CONV} d = BatchNormalization(c, b, b, b, b) z = Neg(d) }}", "all",
     {("Conv", ""), ("ReorderOutput", "BatchNormalization")}),
    (f"{CONV} d = BatchNormalization(c, b, b, b, b) z = Sigmoid(d) }}", "all",
     {("Conv", ""), ("ReorderOutput", "Sigmoid")}),
    (f"{CONV} z = MaxPool <kernel_shape = [2, 2]> (c) }}", "all",
     {("Conv", ""), ("MaxPool", ""), ("ReorderOutput", "MaxPool")}),
    (f"{CONV} z = AveragePool <kernel_shape = [2, 2]> (c) }}", "all",
     {("Conv", ""), ("AveragePool", ""), ("ReorderOutput", "AveragePool")}),
    (f"{CONV} z = GlobalMaxPool(c) }}", "all",
     {("Conv", ""), ("GlobalMaxPool", ""), ("ReorderOutput", "GlobalMaxPool")}),
    (f"{CONV} z = GlobalAveragePool(c) }}", "all",
     {("Conv", ""), ("GlobalAveragePool", ""), ("ReorderOutput", "GlobalAveragePool")}),
    ((f'{CONV} z = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", '
     'nearest_mode = "floor"> (c, "", doubled) }'), "all",
     {("Conv", ""), ("Upsample", ""), ("ReorderOutput", "Resize")}),
    *((f"{BOTH} z = {operator}(c, d) }}", "all",
       {("Conv", ""), (operator, ""), ("ReorderOutput", operator)})
      for operator in ("Add", "Sum", "Mul")),
    (f"{BOTH} z = Concat <axis = 1> (c, d) }}", "all",
     {("Conv", ""), ("Concat", ""), ("ReorderOutput", "Concat")}),
    ("(float[1,16,4,4] v) => (float[] z) { z = Conv(v, of_one) }", "all",
     {("ReorderInput", ""), ("Conv", ""), ("ReorderOutput", "Conv")}),
    *((("(float[1,1,4,4] v, float[1,16,3,3] u) => (float[] z) { c = Conv(v, w) d = Conv(u, of_one) "
       f"e = {operator}(c, d) z = Neg(e) }}"), "all",
       {("ReorderInput", ""), ("Conv", ""), ("ReorderOutput", operator)})
      for operator in ("Add", "Sum")),
    (f"(float[1,2,4,4] v) => (float[] z) {{ {PARTS} z = Concat <axis = 1> (s00, s10, s01, s11) }}",
     "basic", {("SpaceToDepth", ""), ("Gather", "Concat")}),
    (("(float[2,3] x) => (float[] z, float[] y, float[] t) { v = Abs(x) "
      "z = Gather <axis = 1> (v, i0) y = Gather <axis = 1> (v, i1) "
      "t = Gather <axis = 1> (v, i2) }"), "extended",
     {("Split", ""), ("Squeeze", "Gather")}),
    (("(float[2,4] x) => (float[] z, float[] y) "
     "{ v = Abs(x) z = Slice(v, n0, n2, n1) y = Slice(v, n2, n4, n1) }"), "extended",
     {("Split", "Slice")}),
    (("(float[a,b] x) => (int64[2] z, float[] y) { v = Exp(x) t = Transpose <perm = [1, 0]> (v) "
     "z = Shape(t) y = Sqrt(t) }"), "basic", {("Shape", ""), ("Gather", "Shape")}),
    (("(float[2,3] x) => (float[] z) "
     "{ t = Transpose <perm = [1, 0]> (x) v = Exp(t) z = Transpose <perm = [1, 0]> (v) }"), "basic",
     {("Exp", "Transpose")}),
    (("(float[2,3,4] x, float[2] y) => (float[] z) { t = Transpose <perm = [2, 1, 0]> (x) "
     "v = Max(t, y) z = Transpose <perm = [2, 1, 0]> (v) }"), "basic",
     {("Unsqueeze", ""), ("Transpose", ""), ("Max", "Transpose")}),
    (("(uint8[4,8,4,4] x) => (float[] z) { v = DequantizeLinear(x, scale) "
      "t = Transpose <perm = [3, 2, 1, 0]> (v) z = AveragePool <kernel_shape = [3, 3]> (t) }"),
     "all",
     {("Transpose", ""), ("QuantizeLinear", ""), ("DequantizeLinear", "Transpose")}),
    ("(float16[3] x, float16[3] y) => (float16[3] z) { v = Sin(x) z = Mul(v, y) }", "all",
     {("Sin", ""), ("Cast", ""), ("Mul", ""), ("Cast", "Mul")}),
])  # fmt: skip
def test_what_an_optimizer_makes_that_may_act_is_known(
    text: str, level: str, made: AbstractSet[tuple[str, str]], tmp_path: Path
) -> None:
    words = re.findall(r"\w+", text)
    used = {name: array for name, array in CONSTANTS.items() if name in words}
    model = parse(text, opset=20, constants=used)
    options = on_one_thread(level)
    off = names_needed_off(rests_on_numbers=True, has_minus_zero=False)
    switch_off_optimizers(options, off)
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    ort.InferenceSession(model.SerializeToString(), options)
    before = ir.from_proto(model)
    after = ir.from_proto(onnx.load(tmp_path / "optimized.onnx"))
    computed = {node.outputs[0].name: node.op_type for node in every_node(before.graph)}
    found = {
        (node.op_type, computed.get(output.name, ""))
        for node in every_node(after.graph)
        for output in node.outputs
        if computed.get(output.name) != node.op_type
    }
    assert found == made
    assert unknown_nodes(before, after) == []


def told(before: str, after: str) -> list[str]:
    return unknown_nodes(
        *(
            ir.from_proto(
                parse(
                    f"(float[n] x, float[n] y, bool c, int64[1] k) => (float[] z) {{ {nodes} }}",
                    opset=13,
                    domains={"own": 1, "com.microsoft": 1, "com.microsoft.nchwc": 1},
                    constants=CONSTANTS,
                )
            )
            for nodes in (before, after)
        )
    )


def chosen(yes: str, no: str = "o = Neg(x)") -> str:
    """An If that gives u of one branch, or o of the other."""
    return (
        f"If(c) <then_branch = t () => (float[] u) {{ {yes} }}, "
        f"else_branch = e () => (float[] o) {{ {no} }}>"
    )


LOOP = (
    'z = Loop(k, "", x) <body = b (int64 i, bool on, float[] v) => (bool go, float[] r) '
    "{ go = Identity(on) r = Exp(v) }>"
)
INNER = (
    "u = If(c) <then_branch = i () => (float[] r) { r = Sin(x) }, "
    "else_branch = l () => (float[] s) { s = Neg(x) }>"
)
BLOCKED = "t = com.microsoft.nchwc.Conv(x, w) z = com.microsoft.nchwc.ReorderOutput(t)"


@pytest.mark.parametrize(("before", "after", "expected"), [
    ("z = Mul(x, y)", "z = Gemm(x, y)", ["Gemm '(output z)' computes 'z', which Mul computed"]),
    ("z = Mul(x, y)", "[g] z = com.microsoft.FusedMatMul(x, y)",
     ["com.microsoft::FusedMatMul 'g' computes 'z', which Mul computed"]),
    ("z = Relu(x)", "z = Erf(x)", ["Erf '(output z)' computes 'z', which Relu computed"]),
    ("z = Exp(x)", "v = Erf(x) z = Exp(v)", ["Erf '(output v)' computes 'v'"]),
    ("z = Celu(x)", "z = own.Celu(x)",
     ["own::Celu '(output z)' computes 'z', which Celu computed"]),
    ("z = Celu(x)", "v = own.Erf(x) z = Celu(v)", ["own::Erf '(output v)' computes 'v'"]),
    ("z = own.Celu(x)", "z = Erf(x)", ["Erf '(output z)' computes 'z', which Celu computed"]),
    ("z = Exp(x)", "v, z = own.Two(x)", ["own::Two '(output v)' computes 'v'"]),
    ("a, b1 = TopK(x, k) z = Mul(x, y)", "a, b1 = TopK(x, k) v, z = TopK(x, k)",
     ["TopK '(output v)' computes 'z', which Mul computed"]),
    (f"z = {chosen('u = Mul(x, y)')}", f"z = {chosen('u = Erf(x)')}",
     ["Erf '(output u)' computes 'u', which Mul computed"]),
    (f"z = {chosen('u = Mul(x, y)')}", "z = Erf(x)",
     ["Erf '(output z)' computes 'z', which If computed"]),
    (f"z = {chosen('u = Mul(x, y)', 'u = Exp(x) o = Neg(u)')}", f"z = {chosen('u = Erf(x)')}",
     ["Erf '(output u)' computes 'u', which Exp or Mul computed"]),
    ("v = Conv(x, w) z = Mul(v, f)", "v1 = Conv(x, w) z = Cast <to = 1> (v1)",
     ["Cast '(output z)' computes 'z', which Mul computed"]),
    ("v = Conv(x, w) z = Mul(v, f)", "v1 = Conv(x, w) t = Identity(v1) z = Transpose(t)",
     ["Transpose '(output z)' computes 'z', which Mul computed"]),
    *((f"v = Conv(x, w) z = {scaled}", BLOCKED,
       [("com.microsoft.nchwc::ReorderOutput '(output z)' computes 'z', which "
        f"{scaled.partition('(')[0]} computed")])
      for scaled in ("Mul(v, f)", "BatchNormalization(v, b, b, b, b)", "MaxPool(v)")),
    *(("v = Conv(x, w) z = Mul(v, f)",
       f"t = com.microsoft.nchwc.Conv {made} z = com.microsoft.nchwc.ReorderOutput(t)",
       ["com.microsoft.nchwc::ReorderOutput '(output z)' computes 'z', which Mul computed"])
      for made in ("<group = 16> (x, w)", "<group = 16> (x, y)", "(x, each)")),
])  # fmt: skip
def test_what_an_unknown_optimizer_makes_is_told(
    before: str, after: str, expected: list[str]
) -> None:
    assert told(before, after) == expected


@pytest.mark.parametrize(("before", "after"), [
    *((f"v = Exp(x) z = {moving}(v)", "z = Exp(x)")
      for moving in ("Cast", "Dropout", "Expand", "Identity", "Relu", "Reshape", "Slice",
                     "Squeeze", "Transpose", "Unsqueeze")),
    ("z = Celu(x)", "v = Erf(x) z = Mul(v, x)"),
    ("z = Softmax(x)", "v = Exp(x) z = Div(v, y)"),
    ("z = Relu(x)", "z = Clip(x)"),
    ("z = Gather(x, i0)", "z = Squeeze(x)"),
    ("z = Gather(x, i0)", "z = Slice(x, n0, n1)"),
    (LOOP, LOOP),
    (f"z = {chosen('u = Sin(x)')}", "z = Sin(x)"),
    (f"z = {chosen('u = Sin(x)')}", "z = Neg(x)"),
    (f"z = {chosen('u = Add(x, y)', 'u = Exp(x) o = Neg(u)')}", f"z = {chosen('u = Gemm(x, y)')}"),
    (f"z = {chosen(INNER)}", "z = Sin(x)"),
])  # fmt: skip
def test_what_is_known_is_not_told(before: str, after: str) -> None:
    assert told(before, after) == []
