"""What ONNX Runtime's optimizers look for around operators of the profile, a model for each.

The table has the optimizers of onnxruntime 1.32.0 that read such operators on the CPU, but for
those of attention layers, embeddings and weights of four bits, and for ConvAddActivationFusion,
which finds nothing where NchwcTransformer was before it. The others look for operators that the
profile does not speak of, or leave models alone that run on the CPU. Those that would take a Div or
Sub away have models of their own."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Template

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser

from sonnx_ort.ort.disabled_optimizers import BY_OPERATOR
from sonnx_ort.profile.div_and_sub import DIV, SUB
from sonnx_ort.profile.operator import Operator
from support.graphs import parse
from support.sessions import LEVELS

TAKEN = "taken"
"""The name of the node that the optimizer takes away in each model."""

_GUARDED = "guarded"
_HEAD = re.compile(r"(.+?): (\w+) (\w+)(.*?); (.*?); (.*)")

_TABLE = """
Gemm with a guarded bias: MatMulAddFusion basic; k=1; k=2
  (float[k,3] x) => (float[] z) <$weights, float[1,4] c = {1, 2, 3, 4}>
  { p = MatMul(x, w)  [taken] z = Add(p, c) }
Gemm in front of a guard: MatMulAddFusion basic native; n=2; n=1
  (float[2,3] x, float[2,4] c, float[n,4] y) => (float[] z) <$weights>
  { p = MatMul(x, w)  [taken] q = Add(p, c)  [guarded] z = Mul(q, y) }
FusedGemm in front of a guard: GemmActivationFusion extended native; n=2; n=1
  (float[2,3] x, float[2,4] c, float[n,4] y) => (float[] z) <$weights>
  { p = MatMul(x, w)  q = Add(p, c)  [taken] r = Relu(q)  [guarded] z = Mul(r, y) }
BiasGelu behind a guard: BiasGeluFusion extended native 20; n=4; n=1
  (float[4] x, float[n] y) => (float[] z) <float[4] b = {1, 2, 3, 4}>
  { [guarded] v = Mul(x, y)  [taken] s = Add(v, b)  z = Gelu(s) }
BiasGelu in front of a guard: BiasGeluFusion extended native 20; n=4; n=1
  (float[4] x, float[n] y) => (float[] z) <float[4] b = {1, 2, 3, 4}>
  { [taken] s = Add(x, b)  g = Gelu(s)  [guarded] z = Mul(g, y) }
Gelu of opset 17: GeluFusionL2 extended explicit; k=2 n=2; n=3
Gelu of opset 20: GeluFusionL1 basic explicit 20; k=2 n=2; n=3
  (float[k,4] x, float[n,4] y) => (float[] z) <float root = {1.4142135}, float one = {1}, float
    half = {0.5}>
  { [guarded] v = Add(x, y)  d = Div(v, root)  e = Erf(d)  [taken] f = Add(e, one)  g = Mul(v, f)
    z = Mul(g, half) }
FastGelu of products: FastGeluFusion extended explicit; k=2 n=2; n=3
  (float[k,4] x, float[n,4] y) => (float[] z) <$gelu>
  { [guarded] v = Add(x, y)  p = Mul(v, c)  square = Mul(v, p)  sum = Add(square, one)
    scaled = Mul(v, s)  t = Mul(scaled, sum)  u = Tanh(t)  [taken] a = Add(u, one)
    half = Mul(v, h)  g = Mul(half, a)  z = Neg(g) }
FastGelu of powers: FastGeluFusion extended explicit 13; k=2 n=2; n=3
  (float[k,4] x, float[n,4] y) => (float[] z) <$gelu, float three = {3}>
  { [guarded] v = Add(x, y)  cube = Pow(v, three)  p = Mul(cube, c)  sum = Add(v, p)
    t = Mul(sum, s)  u = Tanh(t)  [taken] a = Add(u, one)  half = Mul(v, h)  g = Mul(half, a)
    z = Neg(g) }
QuickGelu: QuickGeluFusion extended explicit; k=2 n=2; n=3
  (float[k,4] x, float[n,4] y) => (float[] z) <float alpha = {1.702}>
  { [guarded] v = Add(x, y)  a = Mul(v, alpha)  s = Sigmoid(a)  [taken] z = Mul(v, s) }
QuickGelu behind a guard: QuickGeluFusion extended native; k=2 n=2; n=1
  (float[k] x, float[n] y) => (float[] z)
  { [guarded] v = Add(x, y)  s = Sigmoid(v)  [taken] z = Mul(v, s) }
LayerNormalization of opset 17: LayerNormFusionL1 basic explicit; k=2 n=2; n=3
LayerNormalization of opset 16: LayerNormFusionL2 extended explicit 16; k=2 n=2; n=3
  (float[k,4] x, float[n,4] y) => (float[] z) <float two = {2}, float epsilon = {1e-5}, $scales>
  { [guarded] v = Add(x, y)  mean = ReduceMean <axes = [-1]> (v)  centred = Sub(v, mean)
    square = Pow(centred, two)  variance = ReduceMean <axes = [-1]> (square)
    sum = Add(variance, epsilon)  [taken] deviation = Sqrt(sum)  normal = Div(centred, deviation)
    scaled = Mul(normal, w)  z = Add(scaled, b) }
SimplifiedLayerNormalization: SimplifiedLayerNormFusion extended explicit; k=2 n=2; n=3
  (float[k,4] x, float[n,4] y) => (float[] z) <float two = {2}, float epsilon = {1e-5}, $scales>
  { [guarded] v = Add(x, y)  square = Pow(v, two)  mean = ReduceMean <axes = [-1]> (square)
    sum = Add(mean, epsilon)  [taken] root = Sqrt(sum)  normal = Div(v, root)
    z = Mul(normal, w) }
SkipLayerNormalization of guarded operands: SkipLayerNormFusion extended; k=2; y.k=1
  (float[k,3,4] x, float[k,3,4] y) => (float[] z) <$scales>
  { [taken] v = Add(x, y)  z = LayerNormalization(v, w, b) }
SkipLayerNormalization in front of a guard: SkipLayerNormFusion extended native; n=2; n=1
  (float[2,3,4] x, float[2,3,4] y, float[n,3,4] q) => (float[] z) <$scales>
  { [taken] v = Add(x, y)  u = LayerNormalization(v, w, b)  [guarded] z = Mul(u, q) }
SkipLayerNormalization with a bias: BiasSkipLayerNormFusion extended explicit; k=2 n=2; n=3
  (float[k,3,4] x, float[k,3,4] y, float[n,3,4] q) => (float[] z) <$scales, float[4,4] m = {1, 2,
    3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 8}>
  { p = MatMul(x, m)  [taken] a = Add(p, b)  v = Add(a, y)  u = LayerNormalization(v, w, b)
    [guarded] z = Mul(u, q) }
sum of a convolution, guarded: ConvAddFusion basic; k=1; k=2
  (float[k,1,2,2] x) => (float[] z) <$kernels>
  { c = Conv(x, w)  [taken] z = Add(c, b) }
sum of a convolution in front of a guard: ConvAddFusion basic native; k=1; k=2
  (float[1,1,2,2] x, float[k,2,1,1] y) => (float[] z) <$kernels>
  { c = Conv(x, w)  [taken] d = Add(c, b)  [guarded] z = Mul(d, y) }
product of a convolution, guarded: ConvMulFusion basic; k=1; k=2
  (float[k,1,2,2] x) => (float[] z) <$kernels>
  { c = Conv(x, w)  [taken] z = Mul(c, b) }
product of a convolution in front of a guard: ConvMulFusion basic native; k=1; k=2
  (float[1,1,2,2] x, float[k,2,1,1] y) => (float[] z) <$kernels>
  { c = Conv(x, w)  [taken] d = Mul(c, b)  [guarded] z = Add(d, y) }
Where of a Not, guarded: NotWhereFusion basic; k=3 n=3 m=3; m=1
  (bool[k] c, float[n] x, float[m] y) => (float[] z)
  { [taken] d = Not(c)  [guarded] z = Where(d, x, y) }
Where of a Not in front of a guard: NotWhereFusion basic; n=3; n=1
  (bool[3] c, float[3] x, float[3] y, float[n] q) => (float[] z)
  { [taken] d = Not(c)  w = Where(d, x, y)  [guarded] z = Add(w, q) }
factor of a MatMul: MatMulScaleFusion extended; n=1; n=2
  (float[1,1] x, float[n,2] q) => (float[] z) <float[1,1] s = {3}, float[1,2] w = {1, 2}>
  { [taken] a = Mul(x, s)  b = MatMul(a, w)  [guarded] z = Add(b, q) }
x + 0, guarded: NoopElimination basic; k=1; k=2
  (float[k] x) => (float[] z) <float[1] zero = {0}>
  { v = Abs(x)  [taken] a = Add(v, zero)  z = Neg(a) }
x * 1 in front of a guard: NoopElimination basic; n=1; n=2
  (float[1] x, float[n] y) => (float[] z) <float[1] one = {1}>
  { v = Abs(x)  [taken] a = Mul(v, one)  [guarded] z = Add(a, y) }
DynamicQuantizeMatMul before a guard: DynamicQuantizeMatMulFusion extended explicit; n=2 m=2; m=3
  (float[n,3] x, float[m,4] y) => (float[] z) <$integers, float ws = {0.5}>
  { xq, xs, xz = DynamicQuantizeLinear(x)  i = MatMulInteger(xq, w, xz, wz)  f = Cast <to = 1> (i)
    s = Mul(xs, ws)  [taken] p = Mul(f, s)  [guarded] z = Add(p, y) }
MatMulIntegerToFloat in front of a guard: MatMulIntegerToFloatFusion extended native; n=1; n=2
  (uint8[1,3] x, float[1,1] xs, float[1,1] ws, float[n,1] q) => (float[] z) <uint8[3,1] w = {1, 2,
    3}, uint8 wz = {2}, uint8 xz = {7}>
  { i = MatMulInteger(x, w, xz, wz)  f = Cast <to = 1> (i)  s = Mul(xs, ws)  [taken] p = Mul(f, s)
    [guarded] z = Add(p, q) }
Where of a constant between quantizations: WhereDummyDq extended explicit; n=3; n=2
  (bool[3] k, uint8[3] x, float[n] q) => (float[] z) <$quantized, float y = {1}>
  { a = DequantizeLinear(x, s, o)  [taken] c = Where(k, a, y)  d = QuantizeLinear(c, s, o)
    e = DequantizeLinear(d, s, o)  [guarded] z = Mul(e, q) }
QLinearAdd of guarded operands: QDQSelectorActionTransformer extended; n=3; n=1
QLinearMul of guarded operands: QDQSelectorActionTransformer extended; n=3; n=1
  (uint8[3] x, uint8[n] y) => (float[] z) <$quantized>
  { a = DequantizeLinear(x, s, o)  b = DequantizeLinear(y, s, o)  [taken] c = $operator(a, b)
    d = QuantizeLinear(c, s, o)  e = DequantizeLinear(d, s, o)  z = Neg(e) }
QLinearAdd in front of a guard: QDQSelectorActionTransformer extended native; n=3; n=1
QLinearMul in front of a guard: QDQSelectorActionTransformer extended native; n=3; n=1
  (uint8[3] x, uint8[3] y, float[n] q) => (float[] z) <$quantized>
  { a = DequantizeLinear(x, s, o)  b = DequantizeLinear(y, s, o)  [taken] c = $operator(a, b)
    d = QuantizeLinear(c, s, o)  e = DequantizeLinear(d, s, o)  [guarded] z = Mul(e, q) }
QLinearWhere of guarded operands: QDQSelectorActionTransformer extended; n=3; n=1
  (bool[3] k, uint8[3] x, uint8[n] y) => (float[] z) <$quantized>
  { a = DequantizeLinear(x, s, o)  b = DequantizeLinear(y, s, o)  [taken] c = Where(k, a, b)
    d = QuantizeLinear(c, s, o)  e = DequantizeLinear(d, s, o)  z = Neg(e) }
QLinearWhere in front of a guard: QDQSelectorActionTransformer extended; n=3; n=1
  (bool[3] k, uint8[3] x, uint8[3] y, float[n] q) => (float[] z) <$quantized>
  { a = DequantizeLinear(x, s, o)  b = DequantizeLinear(y, s, o)  [taken] c = Where(k, a, b)
    d = QuantizeLinear(c, s, o)  e = DequantizeLinear(d, s, o)  [guarded] z = Mul(e, q) }
Transpose of guarded operands: TransposeOptimizer basic; a=3 b=2 c=3 d=2; c=1
  (float[a,b] x, float[c,d] y) => (float[] z)
  { t = Transpose <perm = [1, 0]> (x)  u = Transpose <perm = [1, 0]> (y)  [guarded] v = Max(t, u)
    [taken] z = Transpose <perm = [1, 0]> (v) }
Transpose in front of a guard: TransposeOptimizer basic native; n=3; n=1
  (float[3,2] x, float[3,2] y, float[n,2] q) => (float[] z)
  { t = Transpose <perm = [1, 0]> (x)  u = Transpose <perm = [1, 0]> (y)  v = Max(t, u)
    [taken] w = Transpose <perm = [1, 0]> (v)  [guarded] z = Mul(w, q) }
equal nodes behind equal guards: CommonSubexpressionElimination basic native either; a=3 b=3; b=1
  (float[a] x, float[b] y) => (float[] z)
  { [taken] t = Max(x, y)  [guarded] u = Max(x, y)  z = Mul(t, u) }
convolutions in blocks, in front of a guard: NchwcTransformer all native; n=1; n=2
  (float[1,1,2,2] x, float[1,1,2,2] y, float[n,16,2,2] q) => (float[] z) <float[16,1,1,1] w = {1,
    2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}>
  { c = Conv(x, w)  d = Conv(y, w)  [taken] a = Add(c, d)  e = Relu(a)  [guarded] z = Mul(e, q) }
"""
"""Patterns by name, each with its optimizer, the lowest level at which it changes the model, some
words, the sizes that keep all rules, and those with which a run breaks one; below it the model.

Words: a backend behind whose guards the optimizer still takes the node away; "explicit", where
broadcasting is written out; the version of the standard operators, if it is not 17; "either", where
the rule of either node may be told. A size may be that of one input alone: y.k.
"""

_CONSTANTS = {
    "weights": "float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}",
    "scales": "float[4] w = {1, 2, 3, 4}, float[4] b = {4, 3, 2, 1}",
    "quantized": "float s = {0.5}, uint8 o = {3}",
    "integers": "uint8[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, uint8 wz = {2}",
    "kernels": "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,2,1,1] b = {4, 3}",
    "gelu": "float c = {0.044715}, float s = {0.7978845834732056}, "
    "float one = {1}, float h = {0.5}",
}


@dataclass(frozen=True)
class Pattern:
    """A model that an optimizer changes, with a rule of the profile that only a run decides.

    Attributes:
        optimizer: The name under which ONNX Runtime knows the optimizer, or its group.
        level: The lowest level of optimization at which it changes the model.
        text: The model.
        kept: The sizes of symbols that keep all rules.
        broken: Sizes with which a run breaks one, of symbols or of symbols of one input.
        words: What else there is to say of it, as in the table.
    """

    optimizer: str
    level: str
    text: str
    kept: Mapping[str, int]
    broken: Mapping[str, int]
    words: frozenset[str]

    @property
    def told(self) -> tuple[str, ...]:
        """The names of the nodes whose rule that is, of which one is told."""
        if "either" in self.words:
            return TAKEN, _GUARDED
        return (_GUARDED if f"[{_GUARDED}]" in self.text else TAKEN,)

    @property
    def broadcast(self) -> str:
        """Whether broadcasting is written out."""
        return "explicit" if "explicit" in self.words else "reject"

    @property
    def survives(self) -> frozenset[str]:
        """The backends behind whose guards the optimizer still takes the node away."""
        return self.words & {"native", "python"}

    @property
    def opset(self) -> int:
        """The version of the standard operators."""
        return next((int(word) for word in self.words if word.isdigit()), 17)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which the optimizer changes the model."""
        names = tuple(LEVELS)
        return names[names.index(self.level) :]

    def model(self) -> onnx.ModelProto:
        """Make the model."""
        return parse(self.text, opset=self.opset)

    def feeds(self, *, breaking: bool = False) -> dict[str, npt.NDArray[np.generic]]:
        """Positive numbers for the inputs, the same ones each time.

        Args:
            breaking: Whether a rule is to be broken.
        """
        generator = np.random.default_rng(1)
        sizes = {**self.kept, **self.broken} if breaking else self.kept
        feeds = {}
        for declared in self.model().graph.input:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(declared.type.tensor_type.elem_type)
            symbols = declared.type.tensor_type.shape.dim
            shape = [
                sizes.get(f"{declared.name}.{d.dim_param}", sizes.get(d.dim_param, d.dim_value))
                for d in symbols
            ]
            numbers = generator.integers(1, 9, shape)
            feeds[declared.name] = np.asarray(numbers % 2 if dtype == np.bool_ else numbers, dtype)
        return feeds


def _patterns() -> Iterator[tuple[str, Pattern]]:
    for part in re.findall(r"((?:^\S.*\n)+)((?: .*\n)+)", _TABLE, re.MULTILINE):
        heads, text = part
        for head in map(_HEAD.fullmatch, heads.splitlines()):
            assert head is not None, heads
            name, optimizer, level, words, *sizes = head.groups()
            operator = re.sub("^QLinear| .*", "", name)
            model = Template(text).substitute(_CONSTANTS, operator=operator)
            kept, broken = (dict(re.findall(r"(\S+)=(\d+)", each)) for each in sizes)
            yield (
                name,
                Pattern(
                    optimizer,
                    level,
                    model,
                    {symbol: int(size) for symbol, size in kept.items()},
                    {symbol: int(size) for symbol, size in broken.items()},
                    frozenset(words.split()),
                ),
            )


PATTERNS: Mapping[str, Pattern] = dict(_patterns())
"""The patterns by name."""


@dataclass(frozen=True)
class Fusion:
    """A model, and the optimizer that takes nodes of it away.

    Attributes:
        optimizer: The name under which ONNX Runtime knows the optimizer.
        model: A model that keeps to the profile, with operands of one shape.
        level: The lowest level of optimization at which it does so.
        losses: What the verification says is wrong then.
    """

    optimizer: str
    model: onnx.ModelProto
    level: str
    losses: str

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which it does so."""
        names = tuple(LEVELS)
        return names[names.index(self.level) :]


def _canary(
    operator: Operator, optimizer: str, level: str, losses: str = "Div 'divide' was removed"
) -> Fusion:
    """The model by which an optimizer is known, of one operator that it takes away."""
    (text,) = [known.canary for known in BY_OPERATOR[operator.name] if known.name == optimizer]
    return Fusion(optimizer, onnx.parser.parse_model(text), level, losses)


_NORMALIZED = "Sub 'centre' was removed; Div '(output normal)' was removed"

FUSIONS = {
    "reciprocal": _canary(
        DIV, "DivMulFusion", "basic", "Div 'divide': its operand A is no longer the constant 'one'"
    ),
    "x / 1": _canary(DIV, "NoopElimination", "basic"),
    "x - 0": _canary(SUB, "NoopElimination", "basic", "Sub 'subtract' was removed"),
    "Gelu of opset 20": _canary(DIV, "GeluFusionL1", "basic"),
    "Gelu of opset 17": _canary(DIV, "GeluFusionL2", "extended"),
    "LayerNormalization of opset 17": _canary(DIV, "LayerNormFusionL1", "basic", _NORMALIZED),
    "LayerNormalization of opset 16": _canary(DIV, "LayerNormFusionL2", "extended", _NORMALIZED),
    "RMSNormalization": _canary(DIV, "SimplifiedLayerNormFusion", "extended"),
    "scaled MatMul": _canary(DIV, "MatMulScaleFusion", "extended"),
}
