"""What breaks the rules of convolutions and layout operators that a model may do without.

The rows are as those of `support.held_cases`, without versions. Several rules are told of one row
where "/" joins them; "without B" leaves an operand out, and "as it is" changes nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from sonnx_ort.profile.catalog import OPERATORS
from support.held_cases import HELD_ROWS, applied, rows_of
from support.operator_cases import written

Case = tuple[str, str, Sequence[tuple[str, np.ndarray]]]
"""The rules' ids, the expression of a node, and its operands by type."""

_POOLED, _FLOATS = "float float16 double int8 uint8", "float float16 double"
_ANY = "float16 bfloat16 float double int8 int32 int64 uint8 uint64"
_HELD = {
    **{f"Conv.{tag}": "float float16" for tag in ("kernel_shape", "outputs", "fits")},
    **{f"ConvInteger.{tag}": "uint8" for tag in ("kernel_shape", "outputs", "fits")},
    "MaxPool.padding": _POOLED,
    "Gemm.shapes": _FLOATS,
    "LSTM.shapes": "float float16",
}
"""The types in which rules are tried whose rows are those of what ONNX Runtime holds itself."""

_ROWS = f"""
Conv.R2 float float16
ConvInteger.R2 uint8
  as it is; auto_pad="VALID"; auto_pad="SAME_UPPER"; auto_pad="SAME_LOWER"; auto_pad="SOME"
Conv.group float float16
ConvInteger.group uint8
  group=0; group=-1; group=3
Conv.R3 float float16
ConvInteger.R3 uint8
  W (6, 2, 3, 3), group=2
Conv.dilations float float16
ConvInteger.dilations uint8
MaxPool.dilations {_POOLED}
  dilations=[0, 1]; dilations=[-1, 1]; dilations=[1, -3]; dilations=[1]; dilations=[2, 2, 2]
Conv.fits float float16
ConvInteger.fits uint8
  X (1, 4, 1, 1); X (1, 4, 2, 6); X (1, 4, 0, 6); X (1, 4, 0, 0); strides=[3, 3], dilations=[9, 9]
ConvInteger.x_zero_point uint8
  x_zero_point (1,); x_zero_point (4,); x_zero_point (1, 1); x_zero_point (0,)
ConvInteger.w_zero_point uint8
  x_zero_point (), w_zero_point (1,); x_zero_point (), w_zero_point (4,)
  x_zero_point (), w_zero_point (1, 1); x_zero_point (), w_zero_point (0,)
ConvInteger.C1 uint8
  x_zero_point (), pads=[1, 0, 0, 2]
MaxPool.R2/MaxPool.R2.storage_order/MaxPool.R2.dilations {_POOLED}
  as it is
MaxPool.R3 {_POOLED}
  auto_pad="VALID"; auto_pad="SAME_UPPER"; auto_pad="SAME_LOWER"; auto_pad="SOME"
MaxPool.R4 {_POOLED}
  ceil_mode=1; ceil_mode=2; ceil_mode=-1
MaxPool.R5 {_POOLED}
  storage_order=1; storage_order=2; storage_order=-1
MaxPool.pads {_POOLED}
  pads=[-1, 0, 0, 0]; pads=[0, 0, 0, -1]; pads=[-3, -3, -3, -3]; pads=[1]; pads=[1, 1]
  pads=[0, 0, 0, 0, 0]
MaxPool.padding {_POOLED}
  pads=[0, 0, 9, 9]
MaxPool.fits {_POOLED}
  X (1, 2, 1, 1), strides=[1, 1]; X (1, 2, 1, 6), strides=[1, 1]; X (1, 2, 0, 6), strides=[1, 1]
  X (1, 2, 0, 0), strides=[1, 1]; X (1, 2, 1, 1), strides=[2, 2]; X (1, 2, 1, 6), strides=[2, 2]
  X (1, 2, 0, 6), strides=[2, 2]; X (1, 2, 0, 0), strides=[2, 2]
MaxPool.C1 {_POOLED}
  X (1, 1, 1, 1), dilations=[2, 2], pads=[1, 1, 1, 1]
MaxPool.float.C2 {_FLOATS}
  X (1, 1, 2, 2) of [NaN, 1.0]; X (1, 1, 2, 2) of [1.0, NaN]; X (1, 1, 2, 2) of [NaN, NaN]
  X (1, 1, 2, 2) of [-inf, -inf]; X (1, 1, 2, 2) of [-inf, 1.0]
Gemm.R1 {_FLOATS}
  A (3,), C (1, 4); A (), C (1, 4); B (3,), C (1, 4); B (), C (1, 4); A (1, 2, 3), C (1, 4)
  B (1, 3, 4), C (1, 4); C (1, 2, 4)
Gemm.R2.alpha {_FLOATS}
  alpha=2.0
Gemm.R2.beta {_FLOATS}
  beta=0.5
Gemm.R2.transA {_FLOATS}
  A (3, 2), transA=1
Gemm.R2.transB {_FLOATS}
  B (4, 3), transB=1
Gemm.R3 {_FLOATS}
  C (1, 4); C (2, 1); C (4,); C (1,); C (); C (3, 4); C (0, 4); C (2, 5)
Gemm.R4 {_FLOATS}
  without C
LSTM.constant float float16
  as it is
LSTM.B float float16
  without B
LSTM.sequence_lens float float16
  without sequence_lens
LSTM.initial_h float float16
  without initial_h
LSTM.initial_c float float16
  without initial_c
LSTM.P float float16
  without P
LSTM.shapes float float16
  B|sequence_lens|initial_h|initial_c|P (1, 7)
LSTM.activations float float16
  activations=["Tanh", "Tanh", "Tanh"]; activations=["LeakyRelu", "Tanh", "Tanh"]
  activations=["Affine", "Tanh", "Tanh"]; activations=["tanh", "Tanh", "Tanh"]
  activations=["Some", "Tanh", "Tanh"]; activations=["Sigmoid"]
LSTM.sequences float float16
  X (0, 2, 4)
LSTM.clip float float16
  clip=3.0; clip=0.0; clip=-1.0
LSTM.input_forget float float16
  input_forget=1; input_forget=2; input_forget=-1
LSTM.layout float float16
  layout=1; layout=2; layout=-1
Concat.R1 {_ANY}
  X0 (1, 3, 1), X1 (1, 3, 1), axis=-1; X0 (1, 3, 1), X1 (1, 3, 1), axis=-3
Reshape.allowzero.C1 {_ANY}
  X (1, 3, 1), S [3, 1], allowzero=2; X (1, 3, 1), S [0, 3], allowzero=-1
  X (1, 3, 1), S [-1], allowzero=1099511627776; X (1, 3, 1), S [0, 0, 0], allowzero=7
Reshape.allowzero.C3 {_ANY}
  X (2, 0), S [-1, 2], allowzero=0; X (2, 0), S [-1], allowzero=0
  X (2, 0), S [0, -1], allowzero=0; X (2, 0), S [0, -1], allowzero=1
  X (2, 0), S [-1, 0], allowzero=1
Squeeze.A.C2 {_ANY}
  X (1, 3, 1), A [0, 0]; X (1, 3, 1), A [0, -3]; X (1, 3, 1), A [2, 0, -1]
  X (1, 3, 1), A [-1, -1]
Squeeze.A {_ANY}
  X (1, 3, 1); X (2, 0)
Squeeze.A.names {_ANY}
  X (1, 3, 1), A []
Squeeze.axes {_ANY}
  X (1, 3, 1)
Unsqueeze.A.rank {_ANY}
  X (1, 3, 1), A 0; X (1, 3, 1), A -1
Range.scalars float double int16 int32 int64
  S [0], L 9, D 2; S 0, L [9], D 2; S 0, L 9, D [2]; S [0], L [9], D [2]
"""


def broken_cases() -> Iterator[Case]:
    """The cases of Conv, ConvInteger, MaxPool, Gemm and LSTM, and of layout operators."""
    for rules, types, row in rows_of(_ROWS):
        yield from (_case(rules, kind, row) for kind in types.split())
    for rule, types in _HELD.items():
        rows = dict.fromkeys(row for held, _, row in HELD_ROWS if held == rule)
        yield from (_case(rule, *each) for each in product(types.split(), rows))
    signs = [("int8", np.ones((1, 4, 6, 6))), ("uint8", np.ones((6, 4, 3, 3)))]
    yield "ConvInteger.signs", "ConvInteger (a_, b_)", signs
    for kind in _ANY.split():
        unnamed = "Squeeze <axes: ints = []> (a_)", [(kind, np.ones((1, 3, 1)))]
        yield "Squeeze.axes.names", *unnamed
    for said in ("float = 1.5", "ints = [1, 2]", "floats = [1.5]", "int = 3"):
        yield "Constant.R1", f"Constant <value_{said}> ()", []


def _case(rules: str, kind: str, row: str) -> Case:
    operator = rules.partition(".")[0]
    without = row.removeprefix("without ") if row.startswith("without ") else ""
    changed = "" if without or row == "as it is" else row
    given, attributes = applied(operator, changed, 13, kind)
    operands = {name: each for name, each in given.items() if name != without}
    letters = dict(zip(operands, (f"{letter}_" for letter in "abcdefgh"), strict=False))
    names = [letters.get(name, "") for name in OPERATORS[operator].operands or operands]
    while names and not names[-1]:
        names.pop()
    call = f"{operator} {written(attributes)}({', '.join(names)})"
    arrays = [
        (own, np.ones(o.shape or ()) if o.constant is None else o.constant)
        for o, own in operands.values()
    ]
    return rules.replace("/", " "), call, arrays
