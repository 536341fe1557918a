"""Nodes with what keeps and what breaks rules that a run decides: Conv, MaxPool, Gemm, LSTM.

Reshape hides the rank of an operand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx

from support.graphs import parse

Array = np.ndarray
Feeds = dict[str, Array]


@dataclass(frozen=True)
class Table:
    """One node and what is fed to it.

    Attributes:
        text: The model.
        types: The types in which it is tried; the text has T in their place.
        kept: What keeps all rules.
        broken: The tag of the rule that each of others breaks.
        plain: Operands that keep their own type.
        opset: The version of the standard operators.
    """

    text: str
    types: tuple[str, ...]
    kept: list[Feeds]
    broken: list[tuple[str, Feeds]]
    plain: frozenset[str] = field(default=frozenset())
    opset: int = 18

    def model(self, kind: str) -> onnx.ModelProto:
        """The model in a type."""
        text = self.text.replace("T[", f"{kind}[").replace("T ", f"{kind} ")
        return parse(text, opset=self.opset)

    def feeds(self, feeds: Feeds, kind: str) -> Feeds:
        """What is fed, in a type."""
        dtype = {"float": np.float32, "double": np.float64}.get(kind, kind)
        return {n: a if n in self.plain else np.asarray(a, dtype) for n, a in feeds.items()}


INF, NAN = np.inf, np.nan
Shape = tuple[int, ...]


def _hidden(name: str = "X") -> str:
    return f"{name} = Reshape <allowzero = 1> (e, sizes)"


def _ramp(shape: Shape) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=np.int64)) * 7 % 5).reshape(shape)


def _fed(x: Shape, **others: object) -> Feeds:
    given = {n: _ramp(s) if isinstance(s, tuple) else np.array(s) for n, s in others.items()}
    return {"e": _ramp(x).ravel(), "sizes": np.array(x, np.int64), **given}


def _pooled(x: Shape, *elements: float) -> Feeds:
    return {"e": np.resize(elements or [1, 2, 3, 0, 4], x).ravel(), "sizes": np.array(x, np.int64)}


X, W = (1, 2, 4, 5), (4, 2, 3, 2)
_CONV = f"(T[k] e, int64[r] sizes, T[o,c,a,b] W, T[m] B) => (T[n,o,p,q] Y) {{ {_hidden()} "
_INTEGER = (
    "(T[k] e, int64[r] sizes, T[] W, T[] zx, T[] zw) => (int32[n,o,p,q] Y)"
    f" {{ {_hidden()} [node] Y = ConvInteger "
)
_POOL = (
    f"(T[k] e, int64[r] sizes) => (T[n,c,p,q] Y, int64[n,c,p,q] I) {{ {_hidden()} [node] Y, I ="
    ' MaxPool <auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 2], kernel_shape = [2, 2],'
    " pads = [0, 1, 0, 0], storage_order = 0, strides = [2, 1]> (X) }"
)
_POOLS = [_pooled((1, 2, 4, 5)), _pooled((3, 1, 2, 2)), _pooled((0, 2, 4, 5))]
_NO_POOLS = [
    ("R1", _pooled((2, 4, 5))),
    ("R1", _pooled((1, 2, 4, 5, 1))),
    ("fits", _pooled((1, 2, 1, 5))),
    ("fits", _pooled((1, 2, 4, 1))),
]
_ZEROS = "0, 0, 0, 0, 0, 0, 0, 0"
_LSTM = (
    f"(T[k] e, int64[r] sizes) => (T[s,d,b,h] Y, T[d,b,h] C) <T[1,4,2] W = {{{_ZEROS}}},"
    f" T[1,4,1] R = {{0, 0, 0, 0}}, T[1,8] B = {{{_ZEROS}}}, int32[2] lens = {{3, 2}},"
    f" T[1,2,1] h = {{0, 0}}, T[1,2,1] c = {{0, 0}}, T[1,3] P = {{0, 0, 0}}> {{ {_hidden()}"
    ' [node] Y, , C = LSTM <activations = ["Relu", "Tanh", "Tanh"], hidden_size = 1,'
    " input_forget = 0, layout = 0> (X, W, R, B, lens, h, c, P) }"
)

SIZES = frozenset({"sizes"})

WINDOW_TABLES: Mapping[str, Table] = {
    "Conv": Table(
        f'{_CONV} [node] Y = Conv <auto_pad = "NOTSET", pads = [1, 0, 0, 1]> (X, W, B) }}',
        ("float", "float16"),
        [_fed(X, W=W, B=(4,)), _fed((0, 2, 4, 5), W=W, B=(4,))],
        [
            ("R1", _fed((2, 4, 5), W=W, B=(4,))),
            ("R1", _fed((), W=W, B=(1,))),
            ("kernel", _fed(X, W=(4, 2, 0, 2), B=(4,))),
            ("kernel", _fed(X, W=(4, 2, 3, 0), B=(5,))),
            ("channels", _fed(X, W=(4, 3, 3, 2), B=(4,))),
            ("channels", _fed((1, 3, 4, 5), W=(4, 8, 3, 2), B=(4,))),
            ("B", _fed(X, W=W, B=(1,))),
            ("B", _fed(X, W=W, B=(0,))),
        ],
        SIZES,
    ),
    "Conv of channels": Table(
        "(T[n,c,h,w] X, T[] W) => (T[n,o,p,q] Y) { [node] Y ="
        ' Conv <auto_pad = "NOTSET", group = 2, kernel_shape = [3, 2]> (X, W) }',
        ("float",),
        [{"X": _ramp(X), "W": _ramp((4, 1, 3, 2))}],
        [
            ("R1", {"X": _ramp(X), "W": _ramp((4, 1, 3))}),
            ("R3", {"X": _ramp((1, 4, 4, 5)), "W": _ramp((4, 2, 3, 2))}),
            ("channels", {"X": _ramp(X), "W": _ramp((4, 2, 3, 2))}),
        ],
    ),
    "ConvInteger": Table(
        f'{_INTEGER} <auto_pad = "NOTSET", group = 2> (X, W, zx, zw) }}',
        ("uint8",),
        [_fed(X, W=(4, 1, 3, 2), zx=3, zw=1), _fed(X, W=(2, 1, 3, 2), zx=0, zw=255)],
        [
            ("R1", _fed((2, 4, 5), W=(4, 1, 3, 2), zx=3, zw=1)),
            ("R1", _fed(X, W=(4, 1, 3), zx=3, zw=1)),
            ("R3", _fed((1, 4, 4, 5), W=(4, 2, 3, 2), zx=3, zw=1)),
            ("kernel", _fed(X, W=(4, 1, 3, 0), zx=3, zw=1)),
            ("channels", _fed(X, W=(4, 2, 3, 2), zx=3, zw=1)),
            ("x_zero_point", _fed(X, W=(4, 1, 3, 2), zx=[3], zw=1)),
            ("w_zero_point", _fed(X, W=(4, 1, 3, 2), zx=3, zw=[1])),
            ("w_zero_point", _fed(X, W=(4, 1, 3, 2), zx=3, zw=[[1, 1, 1, 1]])),
        ],
        SIZES,
    ),
    "ConvInteger with pads": Table(
        f'{_INTEGER} <auto_pad = "NOTSET", pads = [0, 0, 0, 1]> (X, W, zx, zw) }}',
        ("uint8",),
        [_fed(X, W=W, zx=0, zw=1)],
        [
            ("C1", _fed(X, W=W, zx=3, zw=1)),
            ("x_zero_point", _fed(X, W=W, zx=[3], zw=1)),
        ],
        SIZES,
    ),
    "ConvInteger without zero points": Table(
        "(T[n,c,h,w] X, T[o,c,a,b] W) => (int32[n,o,p,q] Y)"
        ' { [node] Y = ConvInteger <auto_pad = "NOTSET", pads = [0, 0, 0, 1]> (X, W) }',
        ("uint8",),
        [{"X": _ramp(X), "W": _ramp(W)}],
        [("kernel", {"X": _ramp(X), "W": _ramp((4, 2, 0, 2))})],
    ),
    "MaxPool": Table(
        _POOL,
        ("float", "double", "float16"),
        [*_POOLS, _pooled((1, 2, 4, 5), 1, INF, -65504)],
        [
            *_NO_POOLS,
            ("float.C2", _pooled((1, 2, 4, 5), 1, NAN)),
            ("float.C2", _pooled((1, 2, 4, 5), -INF)),
            ("float.C2", _pooled((1, 2, 4, 5), 1, 2, 3, -INF)),
        ],
        SIZES,
    ),
    "MaxPool of integers": Table(_POOL, ("int8", "uint8"), _POOLS, _NO_POOLS, SIZES),
    "MaxPool of one element": Table(
        "(T[n,c,h,w] X) => (T[n,c,p,q] Y) { [node] Y = MaxPool"
        ' <auto_pad = "NOTSET", ceil_mode = 0, dilations = [2, 2], kernel_shape = [2, 2],'
        " pads = [1, 1, 1, 1], storage_order = 0, strides = [1, 1]> (X) }",
        ("float", "int8"),
        [{"X": _ramp((1, 1, 2, 2))}],
        [("C1", {"X": _ramp((1, 1, 1, 1))}), ("C1", {"X": _ramp((1, 1, 2, 1))})],
    ),
    "Gemm": Table(
        f"(T[k] e, int64[r] sizes, T[] B, T[] C) => (T[n,p] Y) {{ {_hidden('A')}"
        " [node] Y = Gemm (A, B, C) }",
        ("float", "double", "float16"),
        [_fed((2, 3), B=(3, 4), C=(2, 4)), _fed((2, 0), B=(0, 4), C=(2, 4))],
        [
            ("R1", _fed((3,), B=(3, 4), C=(1, 4))),
            ("R1", _fed((1, 2, 3), B=(3, 4), C=(2, 4))),
            ("R1", _fed((2, 3), B=(3, 4), C=(4,))),
            ("R3", _fed((2, 3), B=(3, 4), C=(1, 4))),
            ("R3", _fed((2, 3), B=(3, 4), C=(2, 1))),
            ("R3", _fed((2, 3), B=(3, 4), C=(4, 2))),
        ],
        SIZES,
    ),
    "LSTM": Table(
        _LSTM,
        ("float",),
        [_fed((3, 2, 2))],
        [
            ("X", _fed((3, 2))),
            ("X", _fed(())),
            ("W", _fed((3, 2, 3))),
            ("W", _fed((3, 0, 3))),
            ("batch", _fed((3, 0, 2))),
            ("sequences", _fed((0, 2, 2))),
        ],
        SIZES,
    ),
}
"""By the name of the operator, and what is special of the table."""
