"""The checker concludes a rule of a node that keeps it, and not of one that breaks it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from support.graphs import parse
from support.steps import alone, concluded

X = "float[1, 4, 8, 8] x"
POOL: Mapping[str, str] = {
    "auto_pad": '"NOTSET"',
    "ceil_mode": "0",
    "dilations": "[1, 1]",
    "kernel_shape": "[2, 2]",
    "pads": "[0, 0, 0, 0]",
    "storage_order": "0",
    "strides": "[1, 1]",
}
PADDED = "<pads = [1, 1, 1, 1]>"
LSTM = "float[5, 2, 4] x, float[1, 12, 4] w, float[1, 12, 3] r"


def conv(w: str = "float[8, 4, 3, 3] w", of: str = "group = 1", x: str = X) -> str:
    return f"({x}, {w}) => (float[n] y) {{ y = Conv<{of}>(x, w) }}"


def conv_of_itself(of: str = "") -> str:
    """A convolution with as many channels as its kernel, of which a run decides how many."""
    return (
        "(float[1, n, 8, 8] x) => (float[k] y) "
        f"{{ w = Transpose<perm = [2, 1, 0, 3]>(x) y = Conv{of}(x, w) }}"
    )


def pool(x: str = X, **changed: str) -> str:
    """A pool with other attributes; an empty one is left out."""
    given = ", ".join(f"{name} = {said}" for name, said in {**POOL, **changed}.items() if said)
    return f"({x}) => (float[n] y) {{ y = MaxPool<{given}>(x) }}"


def cut(starts: str, ends: str, steps: str = "1", x: str = "float[4] x") -> str:
    named = {"s": starts, "e": ends, "a": "0", "p": steps}
    stored = ", ".join(f"int64[1] {name} = {{{number}}}" for name, number in named.items())
    return alone("Slice(x, s, e, a, p)", x, stored)


def lstm(of: str = "hidden_size = 3", inputs: str = LSTM) -> str:
    return f"({inputs}) => (float[n] y) {{ y = LSTM<{of}>(x, w, r) }}"


def of_integer(operator: str, elements: str, kind: str = "int32") -> str:
    constant = f"{kind}[2] c = {{{elements}}}"
    return f"({kind}[2] x) => ({kind}[2] y) <{constant}> {{ y = {operator}(x, c) }}"


def integers(zero_point: str, of: str) -> str:
    """A ConvInteger with a zero point, if it is given."""
    stored = f"uint8 z = {{{zero_point or 0}}}"
    operands = "x, w, z" if zero_point else "x, w"
    inputs = "uint8[1, 1, 3, 3] x, uint8[1, 1, 2, 2] w"
    return alone(f"ConvInteger{of}({operands})", inputs, stored)


def norm(of: str, variance: str = "1, 2") -> str:
    stored = f"float[2] s = {{1, 1}}, float[2] v = {{{variance}}}"
    return alone(f"BatchNormalization{of}(x, s, s, s, v)", "float[1, 2] x", stored)


def quantized(of: str = "", scale: str = "1", zero: str = "uint8 z = {0}") -> str:
    stored = f"float s = {{{scale}}}, {zero}"
    return f"(float[2] x) => (uint8[2] y) <{stored}> {{ y = QuantizeLinear{of}(x, s, z) }}"


def bounded(node: str, lower: int, upper: int) -> str:
    """A node that reads integers within bounds, c."""
    stored = f"int32 l = {{{lower}}}, int32 u = {{{upper}}}"
    return f"(int32[n] x) => (int32[n] y) <{stored}> {{ c = Clip(x, l, u) y = {node} }}"


CASES: Mapping[str, tuple[str, str]] = {
    "Div.int.C1": (of_integer("Div", "1, 2"), of_integer("Div", "1, 0")),
    "Div.int.C2": (of_integer("Div", "1, 2"), of_integer("Div", "1, -1")),
    "Mod.int.C2": (of_integer("Mod", "3, 2", "uint32"), of_integer("Mod", "1, -1")),
    "Pow.int.C1": (of_integer("Pow", "0, 2"), of_integer("Pow", "0, -1")),
    "BitShift.int.C1": (
        of_integer('BitShift<direction = "LEFT">', "0, 31", "uint32"),
        of_integer('BitShift<direction = "LEFT">', "0, 32", "uint32"),
    ),
    "Max.int.C1": (
        of_integer("Max", "1, 2"),
        "() => (int64[1] y) <int64[1] c = {2147483648}> { y = Max(c, c) }",
    ),
    "Abs.int.C1": (
        "() => (int8[1] y) <int8[1] c = {-127}> { y = Abs(c) }",
        "() => (int8[1] y) <int8[1] c = {-128}> { y = Abs(c) }",
    ),
    "Acos.float.C1": (
        "() => (float[1] y) <float[1] c = {1}> { y = Acos(c) }",
        "() => (float[1] y) <float[1] c = {2}> { y = Acos(c) }",
    ),
    "Div.float.R1": (
        "(float[n, 2] x) => (float[n, 2] y) { y = Div(x, x) }",
        "(float[n, 2] x, float[m, 2] z) => (float[n, 2] y) { y = Div(x, z) }",
    ),
    "Cast.float.C1": (alone("Cast<to = 11>(x)"), alone("Cast<to = 6>(x)")),
    "LeakyRelu.R1": (alone("LeakyRelu<alpha = 0.5>(x)"), alone("LeakyRelu(x)")),
    "MatMul.C1": (alone("MatMul(x, x)"), alone("MatMul(x, x)", "float[1, 2, 3] x")),
    "Clip.C1": (
        alone("Clip(x, c)", stored="float c = {1}"),
        alone("Clip(x, c)", stored="float[1] c = {1}"),
    ),
    "BatchNormalization.R1": (norm(""), norm("<training_mode = 1>")),
    "BatchNormalization.C1": (norm(""), norm("<epsilon = -1.0>")),
    "BatchNormalization.C3": (norm(""), norm("", "1, -2")),
    "Slice.R1": (cut("0", "4"), alone("Slice(x, s, s)", stored="int64[1] s = {0}")),
    "Slice.R2": (cut("0", "4"), cut("0", "2", x="float[2, 3] x")),
    "Slice.R8": (cut("3", "4"), cut("4", "4")),
    "Slice.C2": (cut("0", "4"), cut("0", "5")),
    "Slice.R6": (cut("1", "3"), cut("3", "1")),
    "Clip.float.min.C2": (
        alone("Clip(x, c)", stored="float c = {1}"),
        alone("Clip(x, c)", "float[2, 3] x, float c"),
    ),
    "Clip.float.max.C2": (
        alone("Clip(x, , c)", stored="float c = {1}"),
        alone("Clip(x, , c)", "float[2, 3] x, float c"),
    ),
    "ArgMax.keepdims.C1": (alone("ArgMax(x)"), alone("ArgMax<keepdims = 2>(x)")),
    "ArgMax.select_last_index.C1": (
        alone("ArgMax<select_last_index = 1>(x)"),
        alone("ArgMax<select_last_index = -1>(x)"),
    ),
    "ArgMax.R4": (alone("ArgMax<axis = 1>(x)"), alone("ArgMax<axis = -1>(x)")),
    "ArgMax.R5": (alone("ArgMax<axis = 1>(x)"), alone("ArgMax<axis = 1>(x)", "float[2, n] x")),
    "Softmax.R3": (alone("Softmax<axis = 1>(x)"), alone("Softmax(x)")),
    "Softmax.R4": (alone("Softmax<axis = 1>(x)"), alone("Softmax<axis = -1>(x)")),
    "Softmax.C2": (alone("Softmax<axis = 1>(x)"), alone("Softmax<axis = 2>(x)")),
    "QuantizeLinear.R1": (quantized(), quantized("<axis = 0>")),
    "QuantizeLinear.C1": (quantized(), quantized(scale="0")),
    "QuantizeLinear.signature": (quantized(), quantized(zero="uint8[1] z = {0}")),
    "QuantizeLinear.given": (
        quantized(),
        alone("QuantizeLinear(x, s)", stored="float s = {1}"),
    ),
    "DequantizeLinear.C1": (
        alone("DequantizeLinear(x, s, z)", "int32[2] x", "float s = {1}, int32 z = {0}"),
        alone("DequantizeLinear(x, s, z)", "int32[2] x", "float s = {1}, int32 z = {1}"),
    ),
    "Concat.R1": (alone("Concat<axis = 0>(x, x)"), alone("Concat<axis = -1>(x, x)")),
    "Concat.C2": (
        alone("Concat<axis = 0>(x, z)", "float[2, 3] x, float[n, 3] z"),
        alone("Concat<axis = 0>(x, z)", "float[2, 3] x, float[2, n] z"),
    ),
    "Reshape.allowzero.C1": (
        alone("Reshape<allowzero = 1>(x, s)", stored="int64[1] s = {6}"),
        alone("Reshape<allowzero = 2>(x, s)", stored="int64[1] s = {6}"),
    ),
    "Reshape.allowzero.C3": (
        alone("Reshape(x, s)", stored="int64[1] s = {-1}"),
        alone("Reshape(x, s)", "float[n, 3] x", "int64[1] s = {-1}"),
    ),
    "Squeeze.A.C2": (
        alone("Squeeze(x, a)", "float[1, 2, 1] x", "int64[2] a = {0, -1}"),
        alone("Squeeze(x, a)", "float[1, 2, 1] x", "int64[2] a = {0, -3}"),
    ),
    "Squeeze.A.names": (
        alone("Squeeze(x, a)", "float[1, 2] x", "int64[1] a = {0}"),
        alone("Squeeze(x, a)", "float[1, 2] x, int64[n] a"),
    ),
    "Unsqueeze.A.rank": (
        alone("Unsqueeze(x, a)", stored="int64[1] a = {0}"),
        alone("Unsqueeze(x, a)", stored="int64 a = {0}"),
    ),
    "Constant.R1": (
        "() => (float y) { y = Constant<value = float {1}>() }",
        "() => (float y) { y = Constant<value_float = 1.0>() }",
    ),
    "Range.scalars": (
        "() => (int64[n] y) <int64 s = {0}, int64 l = {4}> { y = Range(s, l, l) }",
        "() => (int64[n] y) <int64[1] s = {0}, int64 l = {4}> { y = Range(s, l, l) }",
    ),
    "Conv.R1": (conv(), conv("float[8, 4, 3] w", x="float[1, 4, 8] x")),
    "Conv.R2": (conv(of='auto_pad = "NOTSET"'), conv()),
    "Conv.R3": (conv("float[4, 1, 3, 3] w", "group = 4"), conv("float[4, 2, 3, 3] w", "group = 2")),
    "Conv.group": (conv(), conv(of="group = 0")),
    "Conv.strides": (conv(of="strides = [2, 2]"), conv(of="strides = [2, 0]")),
    "Conv.dilations": (conv(of="dilations = [2, 2]"), conv(of="dilations = [2]")),
    "Conv.pads": (conv(of="pads = [0, 0, 1, 1]"), conv(of="pads = [0, 0, 1, -1]")),
    "Conv.kernel": (conv(), conv("float[8, 4, 0, 3] w")),
    "Conv.channels": (conv("float[4, 1, 3, 3] w", "group = 4"), conv("float[8, 3, 3, 3] w")),
    "Conv.B": (
        f"({X}, float[8, 4, 3, 3] w, float[8] b) => (float[n] y) {{ y = Conv(x, w, b) }}",
        f"({X}, float[8, 4, 3, 3] w, float[1] b) => (float[n] y) {{ y = Conv(x, w, b) }}",
    ),
    "MaxPool.R2": (pool(), pool(strides="")),
    "MaxPool.R3": (pool(), pool(auto_pad='"VALID"')),
    "MaxPool.R4": (pool(), pool(ceil_mode="1")),
    "MaxPool.R5": (pool(), pool(storage_order="1")),
    "MaxPool.kernel_shape": (pool(), pool(kernel_shape="[2]")),
    "MaxPool.fits": (pool(), pool(kernel_shape="[2, 9]")),
    "MaxPool.C1": (
        pool(dilations="[2, 2]", pads="[1, 1, 1, 1]"),
        pool("float[1, 1, 1, 1] x", dilations="[2, 2]", pads="[1, 1, 1, 1]"),
    ),
    "Gemm.R1": (alone("Gemm(x, x)"), alone("Gemm(x, x)", "float[3] x")),
    "Gemm.R2.alpha": (alone("Gemm(x, x)"), alone("Gemm<alpha = 2.0>(x, x)")),
    "Gemm.R2.transB": (alone("Gemm(x, x)"), alone("Gemm<transB = 1>(x, x)")),
    "Gemm.R3": (
        alone("Gemm(x, w, c)", "float[2, 3] x, float[3, 4] w, float[2, 4] c"),
        alone("Gemm(x, w, c)", "float[2, 3] x, float[3, 4] w, float[1, 4] c"),
    ),
    "Gemm.R4": (alone("Gemm(x, x, x)"), alone("Gemm(x, x)")),
    "LSTM.X": (lstm(), lstm(inputs=LSTM.replace("5, 2, 4", "5, 4"))),
    "LSTM.W": (lstm(), lstm(inputs=LSTM.replace("12, 4", "12, 5"))),
    "LSTM.R": (lstm(), lstm("hidden_size = 4")),
    "LSTM.batch": (lstm(), lstm(inputs=LSTM.replace("5, 2, 4", "5, n, 4"))),
    "LSTM.sequences": (lstm(), lstm(inputs=LSTM.replace("5, 2, 4", "n, 2, 4"))),
    "LSTM.clip": (lstm(), lstm("hidden_size = 3, clip = 1.0")),
    "LSTM.layout": (lstm("hidden_size = 3, layout = 0"), lstm()),
    "LSTM.activations": (
        lstm('hidden_size = 3, activations = ["Sigmoid", "Tanh", "Tanh"]'),
        lstm('hidden_size = 3, activations = ["Tanh", "Tanh", "Tanh"]'),
    ),
    "LSTM.constant": (
        alone("LSTM(x, w, w)", "float[5, 2, 4] x", "float[1] w = {1}"),
        lstm(),
    ),
    "ConvInteger.signs": (
        "(int8[1, 1, 3, 3] x, int8[1, 1, 2, 2] w) => (int32[n] y) { y = ConvInteger(x, w) }",
        "(int8[1, 1, 3, 3] x, uint8[1, 1, 2, 2] w) => (int32[n] y) { y = ConvInteger(x, w) }",
    ),
    "ConvInteger.C1": (integers("0", PADDED), integers("1", PADDED)),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_rule_that_is_kept_is_concluded(rule: str) -> None:
    assert concluded(CASES[rule][0], rule) is None


@pytest.mark.parametrize("rule", CASES)
def test_rule_that_is_broken_or_open_is_not_concluded(rule: str) -> None:
    assert concluded(CASES[rule][1], rule) is not None


def cut_at(end: str, start: str = "0", step: str = "1", x: str = "float[n] x") -> str:
    """A Slice whose end is a size that a run decides."""
    stored = f"int64[1] s = {{{start}}}, int64[1] a = {{0}}, int64[1] p = {{{step}}}"
    return (
        f"({x}, float[m] z) => (float[k] y) <{stored}> "
        f"{{ e = Shape({end}) y = Slice(x, s, e, a, p) }}"
    )


def cut_from(start: str) -> str:
    """A Slice whose start is a size that a run decides."""
    return cut_at(start, x="float[4] x").replace("(x, s, e, a, p)", "(x, e, s, a, p)")


def sized(last: str) -> str:
    """A Reshape to a size that a run decides, and a number."""
    return (
        f"(float[2, 3] x, float[m] z) => (float[k] y) <int64[1] l = {{{last}}}> "
        "{ s = Shape(z) t = Concat<axis = 0>(s, l) "
        "y = Reshape<allowzero = 1>(x, t) }"
    )


def largest(*numbers: str) -> str:
    """A Max of constants of int64."""
    b, c = (f"int64[1] {name} = {{{n}}}" for name, n in zip("bc", numbers, strict=True))
    return f"() => (int64[1] y) <{b}, {c}> {{ y = Max(b, c) }}"


def reshaped(sizes: str, x: str = "float[n, 3] x", allowzero: int = 0) -> str:
    count = len(sizes.split(","))
    stored = f"int64[{count}] s = {{{sizes}}}"
    return alone(f"Reshape<allowzero = {allowzero}>(x, s)", x, stored)


FURTHER = [
    ("Slice.R8", cut("-4", "4"), True),
    ("Slice.R8", cut("-5", "4"), False),
    ("Slice.R8", cut("0", "4", x="float[n] x"), False),
    ("Slice.C2", cut("0", "-5"), False),
    ("Slice.C2", cut("3", "-5", "-1"), True),
    ("Slice.C2", cut("3", "-6", "-1"), False),
    ("Slice.C2", cut("3", "4", "-1"), False),
    ("Slice.C2", cut("0", "4", x="float[n] x"), False),
    ("Slice.C2", cut_at("x"), True),
    ("Slice.C2", cut_at("z"), False),
    ("Slice.C2", cut_at("x", step="-1"), False),
    ("Slice.R6", cut("-3", "-1"), True),
    ("Slice.R6", cut("-1", "-3"), False),
    ("Slice.R6", cut("3", "1", "-1"), True),
    ("Slice.R6", cut("1", "3", "-1"), False),
    ("Slice.R6", cut_at("x"), True),
    ("Slice.R6", cut_at("z"), False),
    ("Slice.R6", cut_at("x", start="1"), False),
    ("Slice.R6", cut_at("x", step="-1"), False),
    ("Conv.R3", conv(x="float[1, n, 8, 8] x"), True),
    ("Conv.channels", conv("float[8, n, 3, 3] w", x="float[1, m, 8, 8] x"), False),
    ("Conv.channels", conv("float[4, n, 3, 3] w", "group = 4"), False),
    ("Conv.channels", conv("float[4, 2, 3, 3] w", "group = 4"), False),
    ("Conv.B", conv(), True),
    ("LSTM.W", lstm('hidden_size = 3, direction = "bidirectional"'), False),
    ("MaxPool.C1", pool("float[1, 1, 1, 1] x", dilations="[2, 2]"), True),
    ("MaxPool.C1", pool("float[1, 1, 1, 1] x", pads="[1, 1, 1, 1]"), True),
    ("MaxPool.fits", pool("float[1, 1, n, n] x"), False),
    ("MaxPool.fits", pool("float[1, 1, n, n] x", pads="[1, 1, 1, 1]"), True),
    ("Max.int.C1", alone("Max(x, x)", "int32[2] x"), True),
    ("Max.int.C1", alone("Max(x, x)", "int64[2] x"), False),
    ("Concat.C2", alone("Concat<axis = 0>(x)", "float[n] x"), True),
    ("Squeeze.A.C2", alone("Squeeze(x, a)", "float[1, 2] x", "int64[2] a = {0, 0}"), False),
    ("Squeeze.A.names", alone("Squeeze(x)", "float[1, 2] x"), True),
    ("Reshape.allowzero.C3", reshaped("2, 3"), True),
    ("Reshape.allowzero.C3", reshaped("-1, 3", allowzero=1), True),
    ("Reshape.allowzero.C3", reshaped("-1, 0", allowzero=1), False),
    ("DequantizeLinear.C1", alone("DequantizeLinear(x, s)", "int32[2] x", "float s = {1}"), True),
    ("MaxPool.C1", pool("float[1, 1, n, n] x", pads="[1, 1, 1, 1]"), True),
    ("MaxPool.C1", pool("float[1, 1, n, n] x", dilations="[2, 2]", pads="[1, 1, -1, -1]"), False),
    ("Max.int.C1", largest("2147483648", "1"), False),
    ("Max.int.C1", largest("2", "1"), True),
    ("Div.int.C2", alone("Div(x, x)", "uint8[2] x"), True),
    ("Div.int.C2", alone("Div(x, x)", "int8[2] x"), False),
    ("Conv.channels", conv_of_itself(), True),
    ("Conv.channels", conv_of_itself("<group = 2>"), False),
    ("ConvInteger.C1", integers("1", of=""), True),
    ("ConvInteger.C1", integers("", of=PADDED), True),
    ("Slice.C2", cut_at("z", x="float[4] x"), False),
    ("Slice.R6", cut("-1", "2"), False),
    ("Slice.R6", cut("1", "-1"), True),
    ("Slice.R6", cut("0", "2", x="float[n] x"), False),
    ("Slice.R6", cut_at("z", x="float[4] x"), False),
    ("Slice.R6", cut_from("z"), False),
    ("Slice.R8", cut_from("z"), False),
    ("Reshape.allowzero.C3", reshaped("0, 3", "float[0, 3] x", allowzero=1), True),
    ("Reshape.allowzero.C3", sized("-1"), False),
    ("Reshape.allowzero.C3", sized("4"), True),
    (
        "Squeeze.A.C2",
        "(float[n] v) => (float[k] y) <int64[2] a = {0, 1}> { x = NonZero(v) y = Squeeze(x, a) }",
        True,
    ),
    ("ArgMax.R5", alone("ArgMax(x)", "float[n, 3] x"), False),
    ("Softmax.C2", alone("Softmax(x)", "float[3] x"), True),
    (
        "LSTM.activations",
        lstm('hidden_size = 3, activations = ["Sigmoid", "Tanh", "Tanh", "Relu", "Tanh", "Tanh"]'),
        True,
    ),
    (
        "LSTM.activations",
        lstm('hidden_size = 3, activations = ["Sigmoid", "Tanh", "Tanh", "Relu", "Tanh", "Relu"]'),
        False,
    ),
    ("Broadcast.E1", alone("sonnx.Broadcast(x, x)", "float[n] x"), True),
    ("Broadcast.E1", alone("sonnx.Broadcast(x, z)", "float[n] x, float[m] z"), False),
    ("Div.float.R1", alone("Div(x, z)", "float[2] x, float[3] z"), False),
    ("Div.float.RG1", alone("Div(x, x)"), True),
    ("Div.int.C1", bounded("Div(x, c)", 1, 9), True),
    ("Div.int.C1", bounded("Div(x, c)", 0, 9), False),
    ("Div.int.C1", bounded("Div(x, c)", -1, 1), False),
    ("Div.int.C2", bounded("Div(x, c)", -3, -2), True),
    ("Div.int.C2", bounded("Div(x, c)", -3, -1), False),
    ("Div.int.C2", bounded("Div(c, x)", 0, 9), True),
    ("Div.int.C2", bounded("Div(c, x)", -(2**31), 9), False),
    ("Pow.int.C1", bounded("Pow(x, c)", 0, 9), True),
    ("Pow.int.C1", bounded("Pow(x, c)", -1, 9), False),
    ("Abs.int.C1", bounded("Abs(c)", 1 - 2**31, 9), True),
    ("Abs.int.C1", bounded("Abs(c)", -(2**31), 9), False),
]


@pytest.mark.parametrize(("rule", "text", "kept"), FURTHER)
def test_rule_is_concluded_only_if_it_is_kept(rule: str, text: str, kept: bool) -> None:
    assert (concluded(text, rule) is None) is kept


OLDER = [
    ("Softmax.C2", alone("Softmax(x)", "float[3] x"), False),
    ("Softmax.C2", alone("Softmax(x)", "float[2, 3] x"), True),
    ("Softmax.C4", alone("Softmax<axis = 1>(x)", "float[n, 3, 1, 0] x"), True),
    ("Softmax.C4", alone("Softmax<axis = 1>(x)", "float[2, 3, 2] x"), False),
    ("Softmax.C4", alone("Softmax<axis = 1>(x)", "float[2, 3, n] x"), False),
]


@pytest.mark.parametrize(("rule", "text", "kept"), OLDER)
def test_rule_of_an_older_version_is_concluded_only_if_it_is_kept(
    rule: str, text: str, kept: bool
) -> None:
    assert (concluded(parse(text, opset=11), rule) is None) is kept


INF, NAN = float("inf"), float("nan")
OF_FLOATS = [
    ("Clip.float.min.C2", "Clip(x, c)", [INF], True),
    ("Clip.float.max.C2", "Clip(x, , c)", [NAN], False),
    ("ArgMax.float.C1", "ArgMax(c)", [INF, -INF], True),
    ("ArgMax.float.C1", "ArgMax(c)", [1, NAN], False),
    ("Softmax.float.C5", "Softmax(c)", [1, -INF], True),
    ("Softmax.float.C5", "Softmax(c)", [1, INF], False),
    ("QuantizeLinear.C1", "QuantizeLinear(x, c)", [1, NAN], False),
    ("QuantizeLinear.C2", "QuantizeLinear(c, x)", [1, 2], True),
    ("QuantizeLinear.C2", "QuantizeLinear(c, x)", [1, INF], False),
    ("MaxPool.float.C2", "MaxPool<kernel_shape = [1]>(c)", [1, INF], True),
    ("MaxPool.float.C2", "MaxPool<kernel_shape = [1]>(c)", [1, -INF], False),
    ("MaxPool.float.C2", "MaxPool<kernel_shape = [1]>(c)", [1, NAN], False),
]


@pytest.mark.parametrize(("rule", "node", "elements", "kept"), OF_FLOATS)
def test_elements_of_constants_are_looked_at(
    rule: str, node: str, elements: list[float], kept: bool
) -> None:
    proto = parse(alone(node), constants={"c": np.array(elements, np.float32)})
    assert (concluded(proto, rule) is None) is kept


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


SPARSE: Mapping[str, tuple[onnx.ModelProto, bool]] = {
    "an input": (with_sparse_input(), True),
    "an initializer": (with_sparse_initializer(), True),
    "a Constant": (with_constant(sparse_value=sparse("")), True),
    "a dense Constant": (with_constant(value_floats=[1.0]), False),
    "a dense input": (parse(alone("Div(x, x)")), False),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_operand_is_seen(name: str) -> None:
    proto, is_sparse = SPARSE[name]
    reason = "an operand is sparse" if is_sparse else None
    assert concluded(proto, "Div.float.RG1") == reason


def test_sparse_constant_is_seen() -> None:
    proto = parse("() => (float[n] y) { y = Constant() }")
    proto.graph.node[0].attribute.append(helper.make_attribute("sparse_value", sparse("")))
    assert concluded(proto, "Constant.R2") == "it is sparse"


def test_dense_constant_is_concluded() -> None:
    proto = parse("() => (float[n] y) { y = Constant<value_floats = [1.0]>() }")
    assert concluded(proto, "Constant.R2") is None
