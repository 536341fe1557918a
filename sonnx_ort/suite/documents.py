"""The examples of drafts of the working group, each with the numbers that it prints.

Those of real numbers are taken in a type of floats. The printed numbers are rounded to some digits:
what is right is what the oracle computes, and the tests compare both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.suite.applied import Applied, Array

INF, NAN = np.inf, np.nan
F16, F32, F64 = ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE
I8, I32, U8 = ElementType.INT8, ElementType.INT32, ElementType.UINT8


@dataclass(frozen=True)
class Example:
    """An example of a draft.

    Attributes:
        operands: The elements of the operands; those that have a type of their own are arrays.
        printed: The elements of the result as the draft prints them.
    """

    operator: str
    kind: ElementType
    operands: Sequence[Any]
    printed: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def applied(self) -> Applied:
        """The node and its operands."""
        return Applied(self.operator, [*self._arrays()], self.attributes, edition=Edition.TYPED)

    def _arrays(self) -> Iterator[Array]:
        for place, each in enumerate(self.operands):
            is_condition = self.operator == "Where" and place == 0
            given = isinstance(each, np.ndarray)
            yield each if given else np.array(each, bool if is_condition else self.kind.dtype)


_FLOAT_COLUMNS: Any = [[3, 4.5], [16, 1], [25.5, 24.25]], [[3, 2], [4, 0], [5, 4]]
_SPECIAL: Any = [-INF, 0.0, INF, NAN]
_LEAKING = [INF, NAN, -INF, -0.0, 0.0, 1, -1]
_CHOICE = [[True, True], [True, False], [False, True]]
_ROWS = [[1, 2, 3], [4, 5, 6]]
_ALONG_0 = [[0.04742587] * 3, [0.95257413] * 3]
_ALONG_1 = [[0.09003057, 0.24472848, 0.66524094]] * 2

_ELEMENTWISE: Sequence[tuple[str, ElementType, Any, Any]] = [
    ("Abs", F32, [[-2.1, -INF, NAN, -0.0]], [2.1, INF, NAN, 0.0]),
    ("Abs", I8, [[-126, 0, 127]], [126, 0, 127]),
    ("Acos", F32, [[-1, 0, 1]], [3.14159274, 1.57079637, 0]),
    ("Acos", F32, [[0.0, -0.0]], [1.57079637] * 2),
    ("Acos", F32, [[NAN]], [NAN]),
    ("Add", F64, _FLOAT_COLUMNS, [[6, 6.5], [20, 1], [30.5, 28.25]]),
    ("Add", U8, ([6, 200, 35], [3, 100, 5]), [9, 44, 40]),
    ("Add", I8, ([-6, 100, -100], [-3, 100, -100]), [-9, -56, 56]),
    ("Exp", F32, [[0, 1, -1]], [1, 2.71828175, 0.36787945]),
    ("Exp", F32, [[[-2, 0], [1, 2], [-4, 4]]],
     [[0.135335281, 1], [2.71828175, 7.38905621], [0.0183156393, 54.5981483]]),
    ("Exp", F64, [[INF, NAN, -INF]], [INF, NAN, 0]),
    ("Less", F32, ([2.5, 3.7, 7.9], [3.1, 3.7, 5.8]), [True, False, False]),
    ("Less", F64, ([[1.1, 2], [4.2, 0], [5.3, 6.4]], [[3.5, 2], [4.6, 1], [5.7, 4.8]]),
     [[True, False], [True, True], [True, False]]),
    ("Less", F16, (np.repeat(_SPECIAL, 4), np.tile(_SPECIAL, 4)),
     [False, True, True, *[False] * 3, True, *[False] * 9]),
    ("Less", I8, ([2, 3, 7], [3, 3, 5]), [True, False, False]),
    ("Less", I32, ([[1, 2], [4, 0], [5, 6]], [[3, 2], [4, 1], [5, 4]]),
     [[True, False], [False, True], [False, False]]),
    ("Log", F32, [[1, 2, 4]], [0, 0.69314718, 1.38629436]),
    ("Log", F32, [[[2.718, -7.389], [0, 0.1], [10, -1000]]],
     [[0.99989629, NAN], [-INF, -2.30258512], [2.30258512, NAN]]),
    ("Log", F64, [[INF, NAN, -INF, -0.0, 0.0]], [INF, NAN, NAN, -INF, -INF]),
    ("Mul", F64, _FLOAT_COLUMNS, [[9, 9], [64, 0], [127.5, 97]]),
    ("Mul", U8, ([6, 9, 35], [3, 100, 5]), [18, 132, 175]),
    ("Mul", I8, ([-6, -9, -9, 9], [-3, 100, -100, 100]), [18, 124, -124, -124]),
    ("Neg", F32, [[1.5, 0.0, -0.0, INF, -INF, NAN]], [-1.5, -0.0, 0.0, -INF, INF, NAN]),
    ("Neg", F16, [[65504, 2**-24, 1]], [-65504, -(2**-24), -1]),
    ("Neg", I8, [[-6, 0, 100, -128]], [6, 0, -100, -128]),
    ("Pow", F32, ([9, 4, 16, 8, 2], [2, 2.5, 0.5, 0.33333333, 1.5]), [81, 32, 4, 2, 2.82842708]),
    ("Pow", F32, ([0, 0, 5, -5, -25, -8], [0, 2, 0, 0, 0.6, 0.33333333]), [1, 0, 1, 1, NAN, NAN]),
    ("Pow", F32,
     ([-2, -2, -1, -1, 0.0, -0.0, 2, 0.5, 2], [0.5, 3, INF, -INF, -3, -3, -INF, INF, NAN]),
     [NAN, -8, 1, 1, INF, -INF, 0.0, 0.0, NAN]),
    ("Pow", F32,
     ([NAN, 1, -1, -INF, -INF, INF, 0.5, 2, -0.0], [2, -INF, INF, 3, -2, -1, -INF, INF, 3]),
     [NAN, 1, 1, -INF, 0.0, 0.0, INF, INF, -0.0]),
    ("Pow", F32, ([-8, -8], [2, 2.00000024]), [64, NAN]),
    ("Pow", I32, ([2, 3, 4], [3, 2, 1]), [8, 9, 4]),
    ("Pow", I32, ([[5, 2], [3, 4]], [[0, 3], [2, 1]]), [[1, 8], [9, 4]]),
    ("Relu", F32, [[6.1, -9.5, 35.7]], [6.1, 0, 35.7]),
    ("Relu", I8, [[6, -9, 35]], [6, 0, 35]),
    ("Sigmoid", F32, [[0, 1, -1]], [0.5, 0.73105860, 0.26894143]),
    ("Sigmoid", F32, [[[-2, 0], [1, 2], [-4, 4]]],
     [[0.11920291, 0.5], [0.73105860, 0.88079709], [0.01798621, 0.98201376]]),
    ("Sigmoid", F64, [[INF, NAN, -INF]], [1, NAN, 0]),
    ("Sin", F64, [[0.0, -0.0, 1e-8, -1e-8, INF, -INF, NAN]],
     [0.0, -0.0, 1e-8, -1e-8, NAN, NAN, NAN]),
    ("Sin", F32, [[3.1415927, 6.2831855, 1e30]], [-8.7422777e-08, 1.7484555e-07, -0.7911634]),
    ("Sin", F64, [[1, -1, 0.5, 2]],
     [0.8414709848078965, -0.8414709848078965, 0.479425538604203, 0.9092974268256817]),
    ("Sqrt", F32, [[1, 2, 4]], [1, 1.41421354, 2]),
    ("Sqrt", F32, [[[0.25, -1], [0, 0.1], [10, -1000]]],
     [[0.5, NAN], [0, 0.31622776], [3.16227770, NAN]]),
    ("Sqrt", F64, [[INF, NAN, -INF, -0.0]], [INF, NAN, NAN, -0.0]),
    ("Tanh", F32, [[0, 1, -1]], [0, 0.76159418, -0.76159418]),
    ("Tanh", F32, [[[-2, 0], [1, 2], [-4, 4]]],
     [[-0.96402758, 0], [0.76159418, 0.96402758], [-0.99932921, 0.99932921]]),
    ("Tanh", F64, [[INF, NAN, -INF]], [1, NAN, -1]),
    ("Where", F32, ([True, False, True], [19, 28, 37.1], [16, 25, 34]), [19, 25, 37.1]),
    ("Where", F64,
     ([True, False, True, False, True], [0.0, 0.0, INF, INF, NAN], [0.0, -0.0, -INF, -INF, 1]),
     [0.0, -0.0, INF, -INF, NAN]),
    ("Where", I8, (_CHOICE, [[1, 20], [3, 40], [5, 60]], [[12, 110], [10, 90], [8, 70]]),
     [[1, 20], [3, 90], [8, 60]]),
]  # fmt: skip

_CUBE = np.arange(24).reshape(2, 3, 4).tolist()
_MOST = {"axis": 0, "keepdims": 1, "select_last_index": 0}


def _list(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


EXAMPLES: Sequence[Example] = [
    *(Example(*row) for row in _ELEMENTWISE),
    Example("LeakyRelu", F32, [_LEAKING], [INF, NAN, -INF, -0.0, 0.0, 1, -0.01], {"alpha": 0.01}),
    Example("LeakyRelu", F32, [_LEAKING], [INF, NAN, NAN, -0.0, 0.0, 1, NAN], {"alpha": NAN}),
    Example("LeakyRelu", F32, [_LEAKING], [INF, NAN, INF, -0.0, 0.0, 1, INF], {"alpha": -INF}),
    *(
        Example("Softmax", F64, [x], printed, {"axis": axis})
        for x, axis, printed in (
            (_ROWS, 0, _ALONG_0),
            (_ROWS, 1, _ALONG_1),
            ([[1, 2, 3], [4, 5, INF]], 0, [[0.04742587] * 2 + [NAN], [0.95257413] * 2 + [NAN]]),
            ([[1, 2, 3], [4, 5, INF]], 1, [_ALONG_1[0], [NAN] * 3]),
            ([[1, 2, 3], [4, 5, -INF]], 0, [[0.04742587] * 2 + [1], [0.95257413] * 2 + [0]]),
            ([[1, 2, 3], [4, 5, -INF]], 1, [_ALONG_1[0], [0.26894143, 0.73105860, 0]]),
            ([[1, 2, 3], [4, 5, NAN]], 0, [[0.04742587] * 2 + [NAN], [0.95257413] * 2 + [NAN]]),
            ([[1, 2, 3], [4, 5, NAN]], 1, [_ALONG_1[0], [NAN] * 3]),
        )
    ),
    Example("Clip", I8, [[-6, 9, 35], 0, 10], [0, 9, 10]),
    Example("Clip", I8, [[6, 9, 35], 20, 10], [10, 10, 10]),
    Example("Clip", F32, [[-6.3, 9.2, 35.5], 0.5, 10.1], [0.5, 9.2, 10.1]),
    Example("Clip", F32, [[6.5, 9.2, 35.1], 20.2, 10], [10, 10, 10]),
    Example("Clip", F32, [[-INF, 0.0, INF, NAN], -1, NAN], [-1, 0.0, INF, NAN]),
    Example("Clip", F32, [[-INF, 0.0, INF, NAN], NAN, NAN], [-INF, 0.0, INF, NAN]),
    Example("Flatten", F32, [_CUBE], [[*range(24)]], {"axis": 0}),
    Example("Flatten", F32, [_CUBE], [[*range(12)], [*range(12, 24)]], {"axis": 1}),
    Example("Flatten", F32, [_CUBE], np.arange(24).reshape(6, 4).tolist(), {"axis": 2}),
    Example("Unsqueeze", F32, [_CUBE, _list(0)], [_CUBE]),
    Example("Unsqueeze", F32, [_CUBE, _list(-1)], np.arange(24).reshape(2, 3, 4, 1).tolist()),
    Example("Unsqueeze", F32, [_CUBE, _list(0, 1)], [[_CUBE]]),
    Example("Reshape", F32, [[[*range(5)], [*range(5, 10)]], _list(5, 2)],
            np.arange(10).reshape(5, 2).tolist(), {"allowzero": 0}),
    Example("Reshape", F32, [_CUBE, _list(0, 6, -1)],
            np.arange(24).reshape(2, 6, 2).tolist(), {"allowzero": 0}),
    Example("MatMul", F32, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [[19, 22], [43, 50]]),
    Example("MatMul", F32, [[[1, 2], [3, 4], [5, 6]], [[7, 8, 9], [10, 11, 12]]],
            [[27, 30, 33], [61, 68, 75], [95, 106, 117]]),
    Example("MatMul", F32, [[[INF, -INF, NAN], [NAN, INF, -INF]], [[1, 2], [4, 5], [7, 8]]],
            [[NAN, NAN], [NAN, NAN]]),
    Example("ArgMax", F32, [[1, 5, 3, 2]], [1], _MOST),
    Example("ArgMax", F32, [[[1, 9, 3], [4, 2, 6]]], [[1, 0, 1]], _MOST),
    Example("ArgMax", F32, [[[1, 9, 3], [4, 2, 6]]], [[1], [2]], {**_MOST, "axis": 1}),
    Example("Range", F32, [0, 10, 1], [*range(10)]),
    Example("Range", F32, [10, 2, -3], [10, 7, 4]),
    Example("Range", F32, [10, 10, -3], []),
    Example("Range", F32, [30, 10, 3], []),
]  # fmt: skip
"""The examples; those that print a number which is not right are left out."""
