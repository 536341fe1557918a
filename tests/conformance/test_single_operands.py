"""Operators with rules about single operands: what keeps them runs, what breaks them is refused."""

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from support.backends import BACKENDS
from support.run_tables import Table, tables
from support.sessions import enforced, on_one_thread

LEVELS = pytest.mark.parametrize("level", ["none", "basic", "all"])

TABLES = tables("""
Conv
  (T[k] e, int64[r] sizes, T[o,c,a,b] W, T[m] B) => (T[n,o,p,q] Y) { X = Reshape <allowzero = 1> (e,
      sizes) [node] Y = Conv <auto_pad = "NOTSET", pads = [1, 0, 0, 1]> (X, W, B) }
  in float float16
  kept: X (1, 2, 4, 5), W (4, 2, 3, 2), B (4,)
  kept: X (0, 2, 4, 5)
  R1: X (2, 4, 5)
  R1: X 0, B [0]
  kernel: W (4, 2, 0, 2)
  kernel: W (4, 2, 3, 0), B (5,)
  channels: W (4, 3, 3, 2)
  channels: X (1, 3, 4, 5), W (4, 8, 3, 2)
  B: B [0]
  B: B (0,)
Conv of channels
  (T[n,c,h,w] X, T[] W) => (T[n,o,p,q] Y) { [node] Y = Conv <auto_pad = "NOTSET", group = 2,
      kernel_shape = [3, 2]> (X, W) }
  in float
  kept: X (1, 2, 4, 5), W (4, 1, 3, 2)
  R1: W (4, 1, 3)
  R3: X (1, 4, 4, 5), W (4, 2, 3, 2)
  channels: W (4, 2, 3, 2)
ConvInteger
  (T[k] e, int64[r] sizes, T[] W, T[] zx, T[] zw) => (int32[n,o,p,q] Y) { X = Reshape <allowzero =
      1> (e, sizes) [node] Y = ConvInteger <auto_pad = "NOTSET", group = 2> (X, W, zx, zw) }
  in uint8
  kept: X (1, 2, 4, 5), W (4, 1, 3, 2), zx 3, zw 1
  kept: W (2, 1, 3, 2), zx 0, zw 255
  R1: X (2, 4, 5)
  R1: W (4, 1, 3)
  R3: X (1, 4, 4, 5), W (4, 2, 3, 2)
  kernel: W (4, 1, 3, 0)
  channels: W (4, 2, 3, 2)
  x_zero_point: zx [3]
  w_zero_point: zw [1]
  w_zero_point: zw (1, 4)
ConvInteger with pads
  (T[k] e, int64[r] sizes, T[] W, T[] zx, T[] zw) => (int32[n,o,p,q] Y) { X = Reshape <allowzero =
      1> (e, sizes) [node] Y = ConvInteger <auto_pad = "NOTSET", pads = [0, 0, 0, 1]> (X, W, zx, zw)
      }
  in uint8
  kept: X (1, 2, 4, 5), W (4, 2, 3, 2), zx 0, zw 1
  C1: zx 3
  x_zero_point: zx [3]
ConvInteger without zero points
  (T[n,c,h,w] X, T[o,c,a,b] W) => (int32[n,o,p,q] Y) { [node] Y = ConvInteger <auto_pad = "NOTSET",
      pads = [0, 0, 0, 1]> (X, W) }
  in uint8
  kept: X (1, 2, 4, 5), W (4, 2, 3, 2)
  kernel: W (4, 2, 0, 2)
MaxPool
  (T[k] e, int64[r] sizes) => (T[n,c,p,q] Y, int64[n,c,p,q] I) { X = Reshape <allowzero = 1> (e,
      sizes) [node] Y, I = MaxPool <auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 2],
      kernel_shape = [2, 2], pads = [0, 1, 0, 0], storage_order = 0, strides = [2, 1]> (X) }
  in float double float16
  kept: X (1, 2, 4, 5)
  kept: X (3, 1, 2, 2)
  kept: X (0, 2, 4, 5)
  kept: X (1, 2, 4, 5) of [1, inf, -65504]
  R1: X (2, 4, 5)
  R1: X (1, 2, 4, 5, 1)
  fits: X (1, 2, 1, 5)
  fits: X (1, 2, 4, 1)
  float.C2: X (1, 2, 4, 5) of [1, NaN]
  float.C2: X (1, 2, 4, 5) of [-inf]
  float.C2: X (1, 2, 4, 5) of [1, 2, 3, -inf]
MaxPool of integers
  (T[k] e, int64[r] sizes) => (T[n,c,p,q] Y, int64[n,c,p,q] I) { X = Reshape <allowzero = 1> (e,
      sizes) [node] Y, I = MaxPool <auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 2],
      kernel_shape = [2, 2], pads = [0, 1, 0, 0], storage_order = 0, strides = [2, 1]> (X) }
  in int8 uint8
  kept: X (1, 2, 4, 5)
  kept: X (3, 1, 2, 2)
  kept: X (0, 2, 4, 5)
  R1: X (2, 4, 5)
  R1: X (1, 2, 4, 5, 1)
  fits: X (1, 2, 1, 5)
  fits: X (1, 2, 4, 1)
MaxPool of one element
  (T[n,c,h,w] X) => (T[n,c,p,q] Y) { [node] Y = MaxPool <auto_pad = "NOTSET", ceil_mode = 0,
      dilations = [2, 2], kernel_shape = [2, 2], pads = [1, 1, 1, 1], storage_order = 0, strides =
      [1, 1]> (X) }
  in float int8
  kept: X (1, 1, 2, 2)
  C1: X [[[[0]]]]
  C1: X [[[[0], [2]]]]
Gemm
  (T[k] e, int64[r] sizes, T[] B, T[] C) => (T[n,p] Y) { A = Reshape <allowzero = 1> (e, sizes)
      [node] Y = Gemm (A, B, C) }
  in float double float16
  kept: A (2, 3), B (3, 4), C (2, 4)
  kept: A (2, 0), B (0, 4)
  R1: A [0, 2, 4], C (1, 4)
  R1: A (1, 2, 3)
  R1: C (4,)
  R3: C (1, 4)
  R3: C [[0], [2]]
  R3: C (4, 2)
LSTM
  (T[k] e, int64[r] sizes) => (T[s,d,b,h] Y, T[d,b,h] C) <T[1,4,2] W = {0, 0, 0, 0, 0, 0, 0, 0},
      T[1,4,1] R = {0, 0, 0, 0}, T[1,8] B = {0, 0, 0, 0, 0, 0, 0, 0}, int32[2] lens = {3, 2},
      T[1,2,1] h = {0, 0}, T[1,2,1] c = {0, 0}, T[1,3] P = {0, 0, 0}> { X = Reshape <allowzero = 1>
      (e, sizes) [node] Y, , C = LSTM <activations = ["Relu", "Tanh", "Tanh"], hidden_size = 1,
      input_forget = 0, layout = 0> (X, W, R, B, lens, h, c, P) }
  in float
  kept: X (3, 2, 2)
  X: X (3, 2)
  X: X 0
  W: X (3, 2, 3)
  W: X (3, 0, 3)
  batch: X (3, 0, 2)
  sequences: X (0, 2, 2)
MatMul
  (T[n] e, int64[r] sizes, T[b, c] B) => (T[p, q] Y) { A = Reshape(e, sizes) [node] Y = MatMul(A, B)
      }
  in float double float16 int32 int64 uint32 uint64
  kept: A [[1, 2], [3, 4]], B [[1, 2], [3, 4]]
  C1: A [[[1, 2], [3, 4]]]
  C1: A [1, 2]
BatchNormalization
  (T[n, c] X, T[c] s, T[c] b, T[c] m, T[c] v) => (T[n, c] Y) { [node] Y = BatchNormalization(X, s,
      b, m, v) }
  in float double float16
  kept: X [[1, 2], [3, 4]], s [1.0, 1.0], b [1.0, 1.0], m [1.0, 1.0], v [1, 2]
  kept: v [0.0, -0.0]
  kept: v [inf, 1.0]
  C3: v [1.0, -0.5]
  C3: v [NaN, 1.0]
  C3: v [-inf, 1.0]
Clip
  (T[n] X, T low, T high) => (T[n] Y) { [node] Y = Clip(X, low, high) }
  in float double float16 int8 int32 int64 uint8 uint64
  kept: X [0, 5, 9], low 2, high 7
  kept: low 7, high 2
  kept: X (0,)
  C1: low [2]
  C1: high [[7]]
Clip of NaN
  (T[n] X, T low, T high) => (T[n] Y) { [node] Y = Clip(X, low, high) }
  in float double float16
  kept: X [NaN, 5.0], low -inf, high inf
  kept: X [NaN, inf], low NaN, high 7
  kept: X [NaN, -inf], low 2, high NaN
  kept: X [NaN, -inf, inf], low NaN, high NaN
  kept: X [inf, -inf], low 7, high 2
  float.C3: X [0.0, 5.0, NaN], low 7, high 2
  float.C3: X [NaN], low inf, high -inf
  C1: X [NaN], low [7], high [2]
  C1: X [NaN], low [7, 7], high [2, 2, 2]
  C1: X [NaN], low (0,), high 2
Clip without a lower bound
  (T[n] X, T high) => (T[n] Y) { [node] Y = Clip(X, , high) }
  in float int64
  kept: X [0, 5, 9], high 7
  C1: high [7]
ArgMax
  (T[n, m] X) => (int64[n, o] Y) { [node] Y = ArgMax <axis = 1> (X) }
  in float float16 double
  kept: X (3, 4)
  kept: X (0, 4)
  kept: X [[-inf, inf]]
  R5: X (4, 0)
  float.C1: X [[1.0, NaN, 3.0], [1.0, 2.0, 3.0]]
  float.C1: X [[NaN]]
ArgMax of any rank
  (T[] X) => (int64[] Y) { [node] Y = ArgMax <axis = 1> (X) }
  in float int32
  kept: X (3, 4)
  R5: X [1, 2, 3]
  R5: X 1
ArgMax of integers
  (T[n, m] X) => (int64[n, o] Y) { [node] Y = ArgMax <axis = 1> (X) }
  in int32 int8 uint8
  kept: X (3, 4)
  kept: X (0, 4)
  R5: X (4, 0)
  R5: X (0, 0)
Slice by int64
  (T[n, m] X, int64[k] starts, int64[k] ends, int64[k] axes, int64[k] steps) => (T[p, q] Y) { [node]
      Y = Slice(X, starts, ends, axes, steps) }
  in float float16 bool int8 uint64
  kept: X (3, 4), starts [0, 1], ends [3, 4], axes [0, 1], steps [1, 2]
  kept: starts [2, -1], ends [-4, 0], axes [-2, -1], steps [-1, -2]
  kept: starts [1, 0], ends [1, 4], steps [1, 1]
  R2: starts [0], ends [4], axes [1], steps [1]
  R2: starts [], ends [], axes [], steps []
  R8: starts [0, 4], steps [1, 1]
  R8: starts [-4, 0], steps [1, 1]
  R8: starts [0, -9223372036854775808], steps [1, 1]
  C2: starts [0, 0], ends [3, 5], steps [1, 1]
  C2: starts [0, 0], ends [3, 9223372036854775807], steps [1, 1]
  C2: starts [0, 3], steps [1, -1]
  R6: starts [0, 2], ends [3, 1], steps [1, 1]
  R6: ends [3, 2], steps [1, -1]
Slice by int32
  (T[n, m] X, int32[k] starts, int32[k] ends, int32[k] axes, int32[k] steps) => (T[p, q] Y) { [node]
      Y = Slice(X, starts, ends, axes, steps) }
  in float float16 bool int8 uint64
  kept: X (3, 4), starts [0, 1], ends [3, 4], axes [0, 1], steps [1, 2]
  kept: starts [2, -1], ends [-4, 0], axes [-2, -1], steps [-1, -2]
  kept: starts [1, 0], ends [1, 4], steps [1, 1]
  R2: starts [0], ends [4], axes [1], steps [1]
  R2: starts [], ends [], axes [], steps []
  R8: starts [0, 4], steps [1, 1]
  R8: starts [-4, 0], steps [1, 1]
  R8: starts [0, -2147483648], steps [1, 1]
  C2: starts [0, 0], ends [3, 5], steps [1, 1]
  C2: starts [0, 0], ends [3, 2147483647], steps [1, 1]
  C2: starts [0, 3], steps [1, -1]
  R6: starts [0, 2], ends [3, 1], steps [1, 1]
  R6: ends [3, 2], steps [1, -1]
Slice of any rank
  (T[] X, int64[k] starts, int64[k] ends, int64[k] axes, int64[k] steps) => (T[] Y) { [node] Y =
      Slice(X, starts, ends, axes, steps) }
  in float int8
  kept: X (3, 4), starts [0, -1], ends [3, -4], axes [0, -1], steps [1, -2]
  kept: X (4,), starts [-1], ends [-4], axes [-1], steps [-1]
  R2: starts [0, 0, 0], ends [3, 4, 1], axes [0, 1, 2], steps [1, 1, 1]
  R2: starts [0, 0, 0], ends [3, 4, 4], axes [0, 1, -1], steps [1, 1, 1]
  R2: starts [0], ends [1], axes [7], steps [1]
  R2: X (4,), starts [0, 0], ends [3, 1], axes [0, 1], steps [1, 1]
  R2: X 0, starts [0], ends [1], axes [0], steps [1]
  R8: starts [0, -5], ends [3, 4], steps [1, 1]
  C2: X (4,), starts [0], ends [5], axes [-1], steps [1]
  R6: X (4,), starts [3], ends [1], axes [-1], steps [1]
Softmax
  (T[e] e, int64[r] sizes) => (T[n, m] Y) { X = Reshape(e, sizes) [node] Y = Softmax <axis = 1> (X)
      }
  in float double float16
  kept: X (3, 4)
  kept: X [[-inf, 1.0], [NaN, -inf], [-inf, NaN], [NaN, NaN]]
  kept: X [[1.0, inf], [NaN, inf], [inf, NaN], [inf, -inf], [inf, inf]]
  kept: X [[65504, -65504]]
  kept: X [[1.0, 1.0, 1.0]]
  C2: X [1, 2, 3, 4]
  C2: X [-inf]
  float.C6: X [[inf], [-inf]]
  float.C6: X [[1.0, 2.0], [-inf, -inf]]
  float.C6: X [[-inf], [1.0]]
Softmax of any rank
  (T[] X) => (T[] Y) { [node] Y = Softmax <axis = 1> (X) }
  in float float16
  kept: X (2, 0)
  kept: X (0, 2)
  kept: X (2, 3, 2)
  C2: X (0,)
  C2: X [inf]
  C2: X -inf
  float.C6: X [[[1.0, -inf], [1.0, -inf]]]
Softmax of old versions
  (T[n, m, k] X) => (T[n, m, k] Y) { [node] Y = Softmax <axis = 1> (X) }
  in float double float16 of version 12
  in float double of version 10
  kept: X (3, 4, 1)
  kept: X (2, 3, 0)
  kept: X (0, 2, 1)
  kept: X [[[1.0], [inf]]]
  C4: X (2, 3, 2)
  C4: X (0, 3, 2)
  C4: X [[[-inf, -inf]]]
  float.C6: X [[[-inf], [-inf]]]
QuantizeLinear
  (T[n] X, float[] s, uint8[] z) => (uint8[n] Y) { [node] Y = QuantizeLinear(X, s, z) }
  in float
  kept: X [6.1, -3.5, 130.2], s 2.0, z 10
  kept: X [300, -50], s 1.0, z 0
  kept: X [3.4028234663852886e38, -3.4028234663852886e38, 0.0, -0.0], s -0.5
  kept: X [1, -1, 0], s inf
  kept: X [1, -1, 0], s 1.4e-45
  kept: X (0,), s 1.0
  signature: X [1], s [1.0]
  signature: X [1], s 1.0, z [1]
  signature: X (0,), s [], z (0,)
  signature: X [NaN], s [0.0], z [[1]]
  C1: X [1], s 0.0
  C1: X [NaN], s -0.0
  C1: X (0,), s NaN
  C2: X [0.0, NaN], s 1.0
  C2: X [inf], s 1.0
  C2: X [0.0, 0.0, -inf], s inf
DequantizeLinear
  (T[n] X, float[] s, int32[] z) => (float[n] Y) { [node] Y = DequantizeLinear(X, s, z) }
  in int32
  kept: X [-2147483648, 2147483647], s 0.5, z 0
  kept: X (0,), s NaN
  kept: X [5], s inf
  kept by newer kernels: X [-10, 0, 7], z 100
  kept by newer kernels: X [2147483646], z -1
  kept by newer kernels: X [-1], z -2147483648
  signature: X [1], z [0]
  signature: X [1], s [1.0]
  signature: X [-2147483648], s [], z [[1]]
  C1: X [-2147483648], z 1
  C1: X [0, 2147483647], z -1
  C1: X [0], z -2147483648
DequantizeLinear without a zero point
  (T[n] X, float[] s) => (float[n] Y) { [node] Y = DequantizeLinear(X, s) }
  in int32
  kept: X [-2147483648, 2147483647], s 2.0
  signature: X [1], s [1.0]
Concat
  (T[k] x, int64[p] xs, T[l] y, int64[q] ys) => (T[] Y) { X0 = Reshape<allowzero = 1>(x, xs) X1 =
      Reshape<allowzero = 1>(y, ys)[node] Y = Concat<axis = 1>(X0, X1) }
  in float float16 double bool int8 int16 uint64
  kept: x (6,), xs [2, 3], y [0, 1], ys [2, 1]
  kept: y (0,), ys [2, 0]
  kept: x (0,), xs [0, 3], y (0,), ys [0, 2]
  C2: y (0,), ys [0, 3]
  C2: x (0,), xs [2, 0], y (0,), ys [0, 0]
  C2: xs [3, 2], y (6,), ys [2, 3]
  C2: ys [2]
  C2: y (0,), ys [0]
  C2: x (0,), xs [0], y (6,), ys [2, 3]
  C2: y (6,), ys [2, 3, 1]
  C2: y (0,), ys [0, 3, 4]
Concat of known rank
  (T[a, b] x, T[c, d] y, T[e, f] z) => (T[g, h] Y) { [node] Y = Concat<axis = 0>(x, y, z) }
  in float int32
  kept: x (3, 4), y (0, 4), z (3, 4)
  C2: y (3, 4), z (3, 0)
  C2: x (0, 1), y (3, 4)
Reshape
  (T[a, b] x, int64[c] s) => (T[] Y) { [node] Y = Reshape<allowzero = 0>(x, s) }
  in float float16 double bool int8 int16 uint64
  kept: x (3, 4), s [-1, 2]
  kept: s [0, 4]
  kept: x (0, 4), s [0, 4]
  kept: x [[0]], s []
  allowzero.C3: x (0, 4), s [-1, 4]
  allowzero.C3: x (3, 0), s [2, -1]
Reshape with zeros
  (T[a, b] x, int64[c] s) => (T[] Y) { [node] Y = Reshape<allowzero = 1>(x, s) }
  in float int8
  kept: x (3, 4), s [-1, 2]
  kept: x (0, 4)
  allowzero.C3: x (0, 4), s [0, -1]
Squeeze
  (T[a, b, c] x, int64[d] s) => (T[] Y) { [node] Y = Squeeze(x, s) }
  in float float16 double bool int8 int16 uint64
  kept: x [[[0], [1], [2]]], s [0, 2]
  kept: s [-1, 0]
  kept: s [-1]
  A.names: s []
  A.C2: s [0, 0]
  A.C2: s [0, 2, -3]
Squeeze by an attribute
  (T[] x) => (T[] Y) { [node] Y = Squeeze<axes = [0, -3]>(x) }
  in float int64 of version 11
  kept: x [[[[1.0]]]]
  A.C2: x [[[1.0]]]
Unsqueeze
  (T[a] x, int64[] s) => (T[] Y) { [node] Y = Unsqueeze(x, s) }
  in float float16 double bool int8 int16 uint64
  kept: x [1, 2], s [0, -1]
  kept: s []
  A.rank: s 0
Range
  (T[] s, T[] l, T[] d) => (T[a] Y) { [node] Y = Range(s, l, d) }
  in float double int16 int32 int64
  kept: s 0, l 7, d 2
  kept: s 7, l 0, d -2
  kept: s 7, l 0
  scalars: s [0]
  scalars: l [7]
  scalars: d [2]
""")

EACH = pytest.mark.parametrize(
    ("table", "way"),
    [
        pytest.param(table, way, id=f"{name} {way[0]}")
        for name, table in TABLES.items()
        for way in table.types
    ],
)


@EACH
@BACKENDS
@LEVELS
def test_what_keeps_the_rules_runs_with_the_same_bits(
    table: Table, way: tuple[str, int], backend, level
) -> None:
    model = table.model(*way)
    session = enforced(model, backend, level)
    plain = sonnx_ort.InferenceSession(model, on_one_thread("none"), operators="Div")
    for feeds in table.kept:
        fed = table.fed(feeds, model)
        for found, expected in zip(session.run(None, fed), plain.run(None, fed), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.satisfies(
    "ArgMax.float.C1 Clip.draft.float.crossed ConvInteger.C1 LSTM.batch LSTM.sequences MaxPool.C1",
    "MaxPool.float.C2 Softmax.C4 Squeeze.A.C2 Squeeze.A.names MatMul.draft.matrices",
    "BatchNormalization.draft.variance BatchNormalization.draft.error Clip.draft.scalars",
    "ArgMax.draft.not_empty ArgMax.draft.rank",
    "DequantizeLinear.draft.difference DequantizeLinear.draft.scale",
    "DequantizeLinear.draft.zero_point QuantizeLinear.draft.finite QuantizeLinear.draft.not_zero",
    "QuantizeLinear.draft.scale Slice.draft.R2 Slice.draft.R6 Slice.draft.R7 Slice.draft.R8",
    "Slice.draft.ends Softmax.draft.float.masked Softmax.draft.rank Softmax.draft.float.rank",
    "Conv.draft.axes Conv.draft.kernel Conv.draft.bias Conv.draft.channels Conv.draft.depthwise",
    "ConvInteger.draft.axes ConvInteger.draft.channels ConvInteger.draft.depthwise",
    "ConvInteger.draft.kernel ConvInteger.draft.x_zero_point ConvInteger.draft.w_zero_point",
    "MaxPool.draft.axes MaxPool.draft.fits Gemm.draft.axes Gemm.draft.broadcasting LSTM.draft.x",
    "LSTM.draft.w Concat.draft.equal Reshape.draft.inferable Unsqueeze.draft.vector",
    "Reshape.draft.example_3",
    "Range.draft.scalars",
)
@EACH
@BACKENDS
@LEVELS
def test_what_breaks_a_rule_is_refused(table: Table, way, backend, level) -> None:
    model = table.model(*way)
    session = enforced(model, backend, level)
    for tag, feeds in table.broken:
        with pytest.raises(sonnx_ort.ContractViolation) as caught:
            session.run(None, table.fed(feeds, model))
        violation = caught.value
        assert (violation.rule, violation.node) == (f"{violation.operator}.{tag}", "node")


@pytest.mark.parametrize("name", [n for n, o in OPERATORS.items() if not o.elementwise])
def test_table_breaks_every_rule_that_runs_decide(name: str) -> None:
    tables = (table for label, table in TABLES.items() if label.split()[0] == name)
    broken = {f"{name}.{tag}" for table in tables for tag, _ in table.broken}
    # Constants break it before runs.
    broken |= {"LSTM.R"} if name == "LSTM" else set()
    assert broken == {rule.id for rule in OPERATORS[name].all_rules() if rule.in_run}
