"""The optimizers that must be off where a proof speaks of numbers, each with a model that shows it.

`sonnx_ort.facts.optimizers` names more. Of those without a model here, some act on what another
one has made (DynamicQuantizeMatMulFusion, BiasSkipLayerNormFusion, SwiGluFusion, and those of
weights of few bits), some on large patterns alone (AttentionFusion, EmbedLayerNormFusion), and some
on other processors (QDQS8ToU8Transformer, Avx2WeightS8ToU8Transformer). The optimized graph shows
whether they acted.
"""

from string import Template

from sonnx_ort.ort.disabled_optimizers import Optimizer
from sonnx_ort.ort.effects import GROUPS, Effect

_CONSTANTS = {
    "kernels": "float[2,1,2] w = {1, 2, 3, 4}, float[2] s = {4, 3}, float[1,2,1] b = {4, 3}",
    "scales": "float[4] w = {1, 2, 3, 4}, float[4] b = {4, 3, 2, 1}",
    "quantized": "float s = {1}, uint8 o = {0}",
    "gelu": "float c = {0.044715}, float s = {0.7978845834732056}, float one = {1}, "
    "float h = {0.5}",
}

_MODELS = {
    "ConvAddFusion": """(float[1,1,2] x) => (float[] z) <$kernels>
        { c = Conv(x, w)  [add] z = Add(c, b) }""",
    "ConvMulFusion": """(float[1,1,2] x) => (float[] z) <$kernels>
        { c = Conv(x, w)  [multiply] z = Mul(c, b) }""",
    "ConvBNFusion": """(float[1,1,2] x) => (float[] z) <$kernels>
        { c = Conv(x, w)  [normalize] z = BatchNormalization(c, s, s, s, s) }""",
    "MatMul_BatchNormalization_Fusion": """(float[1,2] x) => (float[] z)
        <float[2,2] w = {1, 2, 3, 4}, float[2] s = {4, 3}>
        { c = MatMul(x, w)  [normalize] z = BatchNormalization(c, s, s, s, s) }""",
    "Pad_Fusion": """(float[1,1,2] x) => (float[] z) <$kernels, int64[6] p = {0, 0, 1, 0, 0, 1}>
        { [pad] d = Pad(x, p)  z = Conv(d, w) }""",
    "DoubleQDQPairsRemover": """(float[2] x) => (float[] z) <$quantized, float r = {0.25}>
        { a = QuantizeLinear(x, s, o)  [dequantize] d = DequantizeLinear(a, s, o)
          c = QuantizeLinear(d, r, o)  e = DequantizeLinear(c, r, o)  z = Neg(e) }""",
    "WeightBiasQuantization": """(uint8[1,1,1,1] x) => (float[] z)
        <$quantized, float[1] b = {3}, int8[1,1,1,1] w = {3}, float t = {0.5}, int8 u = {0}>
        { a = DequantizeLinear(x, s, o)  [weights] k = DequantizeLinear(w, t, u)
          c = Conv(a, k, b)  d = QuantizeLinear(c, s, o)  e = DequantizeLinear(d, s, o)
          z = Neg(e) }""",
    "WhereDummyDq": """(bool[3] k, uint8[3] x) => (float[] z) <$quantized, float y = {1}>
        { [dequantize] a = DequantizeLinear(x, s, o)  c = Where(k, a, y)
          d = QuantizeLinear(c, s, o)  e = DequantizeLinear(d, s, o)  z = Neg(e) }""",
    "ClipQuantRewrite": """(float[3] x) => (float[] z) <$quantized>
        { [clip] a = Clip <min = 0.0, max = 255.0> (x)  d = QuantizeLinear(a, s, o)
          e = DequantizeLinear(d, s, o)  z = Neg(e) }""",
    "ReluQuantRewrite": """(float[3] x) => (float[] z) <$quantized>
        { [rectify] a = Relu(x)  d = QuantizeLinear(a, s, o)  e = DequantizeLinear(d, s, o)
          z = Neg(e) }""",
    "QDQSelectorActionTransformer": """(uint8[3] x, uint8[3] y) => (float[] z) <$quantized>
        { a = DequantizeLinear(x, s, o)  b = DequantizeLinear(y, s, o)  [add] c = Add(a, b)
          d = QuantizeLinear(c, s, o)  e = DequantizeLinear(d, s, o)  z = Neg(e) }""",
    "MatMulIntegerToFloatFusion": """(uint8[1,3] x, float[1,1] s, float[1,1] t) => (float[] z)
        <uint8[3,1] w = {1, 2, 3}, uint8 o = {7}>
        { i = MatMulInteger(x, w, o, o)  f = Cast <to = 1> (i)  r = Mul(s, t)
          [multiply] z = Mul(f, r) }""",
    "BiasGeluFusion": """(float[2,4] x) => (float[] z) <$scales>
        { [add] s = Add(x, b)  z = Gelu(s) }""",
    "SkipLayerNormFusion": """(float[1,3,4] x, float[1,3,4] y) => (float[] z) <$scales>
        { [add] v = Add(x, y)  z = LayerNormalization(v, w, b) }""",
    "FastGeluFusion": """(float[2,4] x) => (float[] z) <$gelu>
        { p = Mul(x, c)  square = Mul(x, p)  sum = Add(square, one)  scaled = Mul(x, s)
          t = Mul(scaled, sum)  u = Tanh(t)  [add] a = Add(u, one)  half = Mul(x, h)
          g = Mul(half, a)  z = Neg(g) }""",
    "QuickGeluFusion": """(float[2] x) => (float[] z)
        { s = Sigmoid(x)  [multiply] z = Mul(x, s) }""",
    "QDQFinalCleanupTransformer": """(uint8[3] x) => (uint8[] z) <$quantized>
        { [dequantize] a = DequantizeLinear(x, s, o)  z = QuantizeLinear(a, s, o) }""",
    "NhwcTransformer": """(uint8[1,1,3,3] x) => (uint8[] z)
        <$quantized, uint8[1,1,2,2] w = {1, 2, 3, 4}>
        { [conv] z = QLinearConv(x, s, o, w, s, o, s, o) }""",
}
"""Models by the optimizer that removes the named node of each."""

_OPSETS = {"ClipQuantRewrite": 10, "BiasGeluFusion": 20}


def _canary_text(name: str) -> str:
    opset, text = _OPSETS.get(name, 17), Template(_MODELS[name]).substitute(_CONSTANTS)
    return f'<ir_version: 9, opset_import: ["": {opset}]>\ncanary {text}'


OPTIMIZERS_OF_NUMBERS = tuple(
    Optimizer(name, GROUPS[Effect.OFF][name], _canary_text(name)) for name in _MODELS
)
"""The optimizers whose effect on numbers a small model shows."""
