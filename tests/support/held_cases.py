"""What breaks the rules that ONNX Runtime holds itself.

Each rule that is left to it has rows here, in the notation of the examples of rules; a semicolon
stands between two. Below the rule stand the versions of the standard operators, and the types of
operands if they are not float. The sizes of a case are open before a run, so that ONNX Runtime
decides in the run, or they are known to it, so that it refuses the model. Operands but the first
are also constant.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.rule import Attributes
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.examples import read
from support.operator_cases import written

Shape = tuple[int, ...]

LSTM_SHAPES: Mapping[str, Shape] = {
    "X": (5, 2, 4),
    "W": (1, 12, 4),
    "R": (1, 12, 3),
    "B": (1, 24),
    "sequence_lens": (2,),
    "initial_h": (1, 2, 3),
    "initial_c": (1, 2, 3),
    "P": (1, 9),
}
"""The inputs of an LSTM, of shapes that fit each other."""

_FITTING: Mapping[str, str] = {
    "LSTM": ", ".join(f"{n} {s}" for n, s in LSTM_SHAPES.items()) + ", hidden_size=3",
    "BatchNormalization": "X (2, 3, 4), scale (3,), B (3,), input_mean (3,), input_var (3,)",
    "Slice": "X (4, 5), starts [0, 0], ends [4, 5], axes [0, 1], steps [1, 1]",
    "Conv": "X (1, 4, 8, 8), W (6, 4, 3, 3)",
    "ConvInteger": "X (1, 4, 8, 8), W (6, 4, 3, 3)",
    "MaxPool": "X (1, 2, 6, 6), kernel_shape=[2, 2]",
    "Gemm": "A (2, 3), B (3, 4), C (2, 4)",
}
"""Operands that keep all rules, of which a row names those that are others."""

_ROWS = """
Concat.C3 4 11 13
  X0 (), X1 (), axis=0; X0 (), X1 (3,), axis=0; X0 (3,), X1 (), axis=0; X0 (), axis=0
Concat.axis.C1 4 11 13
  X0 (2, 3), X1 (2, 3), axis=2; X0 (2, 3), X1 (2, 3), axis=-3; X0 (2,), axis=1
  X0 (2, 3), X1 (2, 3), axis=2147483647
Reshape.S.rank 5 13 14 21
  X (6,), S 6
Reshape.X.C1 14 21
  X (2, 3), S [0, 3], allowzero=1
Reshape.allowzero.C2 5 13
  X (2, 3), S [2, 3, 0]
Reshape.allowzero.C2 14 21
  X (2, 3), S [2, 3, 0], allowzero=0
Reshape.allowzero.C2 5 21
  X (), S [0]
Reshape.S.C3 5 21
  X (2, 3), S [-2, 3]; X (2, 3), S [-2, -3]; X (2, 3), S [-1, -2]
  X (2, 3), S [-9223372036854775808, 3]
Reshape.S.C1 5 14 21
  X (2, 2), S [-1, -1]; X (1,), S [-1, 1, -1]
Reshape.X.C1 5 14 21
  X (2, 3), S [4, 2]; X (2, 3), S [4, -1]; X (2, 3), S [7]; X (2, 3), S [4294967296, 4294967296]
  X (2, 3), S [4294967296, 4294967296, -1]; X (2, 3), S [9223372036854775807, 9223372036854775807]
Flatten.axis.C1 1 9 11 13 21
  X (2, 3), axis=3; X (2, 3), axis=-3; X (), axis=1; X (2, 3), axis=4294967296
Squeeze.A.rank 13 21
  X (1, 3, 1), A 0
Squeeze.A.C1 1 11 21
  X (1, 3, 1), A [3]; X (1, 3, 1), A [-4]; X (1, 3, 1), A [0, 7]; X (1, 3, 1), A [-9, 0]
  X (1, 3, 1), A [4294967296]
Squeeze.size 1 11 21
  X (1, 3, 1), A [1]; X (1, 3, 1), A [0, -2]
Unsqueeze.A.C1 1 11 21
  X (3,), A [2]; X (3,), A [-3]; X (3,), A [0, 7]; X (3,), A [-9, 0]; X (3,), A [4294967296]
Unsqueeze.A.C2 1 11 21
  X (3,), A [0, 0]; X (3,), A [0, -3]; X (3,), A [2, -1]; X (3,), A [-1, -1]; X (3,), A [0, 1, -4]
Range.D.C1 11 21 float double
  S 1.0, L 9.0, D 0.0; S 1.0, L -9.0, D 0.0; S 1.0, L 1.0, D -0.0
Range.D.C1 11 21 int16 int32 int64
  S 1, L 9, D 0; S 1, L -9, D 0; S 1, L 1, D 0
Mod.float.fmod 10 13 18 float float16 double
  A (2, 3), B (2, 3); A (2, 3), B (2, 3), fmod=0; A (0,), B (0,), fmod=0
MatMul.C2 9 13 float float16 double int32 uint64
  A (2, 3), B (4, 4); A (2, 1), B (3, 4); A (2, 0), B (3, 4); A (2, 3), B (0, 4)
  A (5, 2, 3), B (4, 4); A (3,), B (4, 4)
Gemm.shapes 11 21 float float16
  A (2, 3), B (4, 4), C (2, 4); A (2, 1), B (3, 4), C (2, 4); A (2, 0), B (3, 4), C (2, 4)
  A (2, 3), B (0, 4), C (2, 4)
BatchNormalization.X.C3 9 15
  X (), scale (1,), B (1,), input_mean (1,), input_var (1,)
  X (), scale (), B (), input_mean (), input_var ()
  X (), scale (), B (1,), input_mean (1,), input_var (1,)
  X (), scale (1,), B (), input_mean (1,), input_var (1,)
  X (), scale (1,), B (1,), input_mean (), input_var (1,)
  X (), scale (1,), B (1,), input_mean (1,), input_var ()
BatchNormalization.scale.C1 9 15
  scale (2,), B (2,), input_mean (2,), input_var (2,)
  scale (1,), B (1,), input_mean (1,), input_var (1,)
  scale (4,), B (4,), input_mean (4,), input_var (4,)
  scale (1, 3), B (1, 3), input_mean (1, 3), input_var (1, 3)
  scale (0,), B (0,), input_mean (0,), input_var (0,); scale (), B (), input_mean (), input_var ()
  scale|B|input_mean|input_var (2,); scale|B|input_mean|input_var (1,)
  scale|B|input_mean|input_var (4,); scale|B|input_mean|input_var (1, 3)
  scale|B|input_mean|input_var (0,); scale|B|input_mean|input_var ()
  X (4,), scale (4,), B (4,), input_mean (4,), input_var (4,)
  X (4,), scale (2,), B (2,), input_mean (2,), input_var (2,)
  X (4,), scale (), B (), input_mean (), input_var ()
Slice.C1 10 13 float+int64 float+int32
  starts [0]; ends [4]; axes [0]; steps [1]; steps [1, 1, 1]; axes []; steps []
  starts [[0, 0]], ends [[4, 5]], axes [[0, 1]], steps [[1, 1]]; steps [[1, 1]]
  starts 0, ends 4, axes 0, steps 1; starts [0], ends [4], axes [0], steps 1
Slice.C3 10 13 float+int64 float+int32
  X (), starts [], ends [], axes [], steps []; X (), starts [0], ends [1], axes [0], steps [1]
Slice.A.C2 10 13 float+int64 float+int32
  axes [0, 2]; axes [0, -3]; axes [0, 9]; axes [0, -9]; axes [0, 2147483647]
Slice.A.C3 10 13 float+int64 float+int32
  axes [0, 0]; axes [0, -2]; axes [-1, 1]
Slice.K.C2 10 13 float+int64 float+int32
  steps [1, 0]; steps [0, -1]
Conv.kernel_shape 10 21
ConvInteger.kernel_shape 21 uint8
  kernel_shape=[2, 2]; W (6, 4, 3, 2), kernel_shape=[2, 3]; kernel_shape=[3, 9]; kernel_shape=[3]
  kernel_shape=[3, 3, 3]; kernel_shape=[0, 3]; kernel_shape=[3, -3]
  X (1, 32, 8, 8), W (32, 32, 3, 3), kernel_shape=[1, 1]
Conv.outputs 10 21
ConvInteger.outputs 21 uint8
  W (6, 1, 3, 3), group=4; W (2, 1, 3, 3), group=4; X (1, 32, 8, 8), W (48, 1, 3, 3), group=32
Conv.fits 10 21
ConvInteger.fits 21 uint8
  X (1, 4, 2, 8); X (1, 4, 1, 1), strides=[3, 3]; X (1, 4, 0, 8); dilations=[4, 4]
  dilations=[40, 40], pads=[1, 1, 1, 1]; X (1, 32, 2, 2), W (32, 32, 3, 3)
MaxPool.padding 7 11 21
MaxPool.padding 21 uint8
  pads=[2, 0, 0, 0]; pads=[0, 0, 2, 2]; pads=[9, 9, 9, 9]; pads=[1099511627776, 0, 0, 0]
MaxPool.padding 11 21
  pads=[3, 0, 0, 0], dilations=[2, 1]
LSTM.shapes 7 21
  B (24,); B (1, 12); B (1, 25); B (2, 24); B (1, 24, 1); B (); sequence_lens (1,)
  sequence_lens (3,); sequence_lens (2, 1); sequence_lens (0,); sequence_lens ()
  initial_h|initial_c (2, 3); initial_h|initial_c (1, 1, 3); initial_h|initial_c (1, 2, 4)
  initial_h|initial_c (1, 2, 1); initial_h|initial_c (2, 2, 3); initial_h|initial_c (1, 2, 3, 1)
  initial_h|initial_c (); P (9,); P (1, 12); P (1, 8); P (2, 9); P (1, 9, 1); P ()
"""


@dataclass(frozen=True)
class HeldCase:
    """A model that breaks a rule, and what it is fed with.

    Attributes:
        graph: The graph in ONNX's textual syntax, such as `(float[n] x) => (float[m] y) {...}`.
        feeds: The inputs by name.
        opset: The version of the standard operators.
    """

    graph: str
    feeds: Mapping[str, Any]
    opset: int = 21


def _cases(operator: str, row: str, opset: int, types: str) -> Iterator[HeldCase]:
    """One node with what is known of its inputs: their shapes, their ranks, or nothing."""
    given, attributes = applied(operator, row, opset, types)
    kinds = {name: kind for name, (_, kind) in given.items()}
    arrays = {name: _array(operand, kind) for name, (operand, kind) in given.items()}
    own = OPERATORS[operator].result_type
    result = next(iter(kinds.values())) if own in (None, OF_THE_NODE) else own
    node = f"{{ y = {operator} {written(attributes)} ({', '.join(given)}) }}"
    for declared in (_sizes, _open_sizes, lambda _: "[]"):
        for is_constant in (False, True)[: len(arrays)]:
            stored = [n for k, n in enumerate(arrays) if is_constant and k]
            read_from = {n: a for n, a in arrays.items() if n not in stored}
            ways = {n: declared if given[n][0].constant is None else _open_sizes for n in read_from}
            inputs = ", ".join(f"{kinds[n]}{ways[n](a.shape)} {n}" for n, a in read_from.items())
            constants = ", ".join(
                f"{kinds[n]}{_sizes(arrays[n].shape)} {n} = {{{_listed(arrays[n])}}}"
                for n in stored
            )
            held = f"<{constants}> " if constants else ""
            yield HeldCase(f"({inputs}) => ({result}[] y) {held}{node}", read_from, opset)


def applied(
    operator: str, row: str, opset: int, types: str
) -> tuple[dict[str, tuple[Operand, str]], Attributes]:
    """The operands of a row by name, each with its type, and the attributes, with what fits."""
    operands, attributes = _of_version(operator, opset, *read(row))
    fitting, others = read(_FITTING.get(operator, ""))
    given = {o.name: o for o in (*fitting, *operands)}
    kinds = {name: _kind(operator, each, types) for name, each in given.items()}
    return {name: (each, kinds[name]) for name, each in given.items()}, {**others, **attributes}


def _of_version(
    operator: str, opset: int, operands: Sequence[Operand], attributes: Attributes
) -> tuple[Sequence[Operand], Attributes]:
    """A node of a version: axes were an attribute, and later zeros may be sizes of their own."""
    match operator, operands:
        case "Squeeze" | "Unsqueeze", [x, Operand(constant=axes)] if opset < 13:
            return [x], {"axes": tuple(np.ravel(axes).tolist())}
        case "Reshape", [_, Operand(constant=sizes)] if opset >= 14 and 0 not in sizes:
            return operands, {"allowzero": 1}
    return operands, attributes


def _kind(operator: str, operand: Operand, types: str) -> str:
    """The type of an operand, by those of its row: of the first, and of those with numbers."""
    first, _, places = types.partition("+")
    own = OPERATORS[operator].operand_types.get(operand.name)
    return first if own is None else places or own


def _array(operand: Operand, kind: str) -> np.ndarray:
    elements = np.ones(operand.shape or ()) if operand.constant is None else operand.constant
    return elements.astype(ElementType(kind).dtype)


def _listed(array: np.ndarray) -> str:
    # ONNX's syntax has no 1.0 of float16.
    numbers = array.ravel().tolist()
    return ", ".join(f"{n:g}" if isinstance(n, float) else str(n) for n in numbers)


def _sizes(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape else ""


def _open_sizes(shape: Sequence[int]) -> str:
    return f"[{', '.join('?' for _ in shape)}]" if shape else ""


def rows_of(table: str) -> Iterator[tuple[str, str, str]]:
    """The rule of each row, its versions and types, and the row for each of its operands."""
    heads: list[str] = []
    below = True
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            heads = [line] if below else [*heads, line]
            below = False
            continue
        below = True
        for row in line.strip().split("; "):
            names, _, rest = row.partition(" ")
            each = [f"{name} {rest}" for name in names.split("|")] if "|" in names else [row]
            yield from ((*head.split(" ", 1), row) for head in heads for row in each)


HELD_ROWS = tuple(rows_of(_ROWS))
"""The rows of the table."""


def _all_cases() -> dict[str, list[HeldCase]]:
    found: dict[str, list[HeldCase]] = {}
    for rule, said, row in HELD_ROWS:
        words = said.split()
        opsets = [int(word) for word in words if word.isdigit()]
        types = [word for word in words if not word.isdigit()] or ["float"]
        for opset in opsets:
            for kind in types:
                cases = _cases(rule.partition(".")[0], row, opset, kind)
                found.setdefault(rule, []).extend(cases)
    return found


HELD_CASES: Mapping[str, Sequence[HeldCase]] = _all_cases()
"""The cases by the rules' ids."""
