"""The examples of drafts of element-wise operators.

Those of real numbers are taken in a type of floats.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.printed import Example

_INF, _NAN = np.inf, np.nan
_F16, _F32, _F64 = ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE
_I8, _I32, _U8 = ElementType.INT8, ElementType.INT32, ElementType.UINT8

_FLOAT_COLUMNS: Any = [[3, 4.5], [16, 1], [25.5, 24.25]], [[3, 2], [4, 0], [5, 4]]
_LINES: Any = [6.1, 9.5, 35.7], [2, 3, 4]
_SPECIAL: Any = [-_INF, 0.0, _INF, _NAN]
_LEAKING = [_INF, _NAN, -_INF, -0.0, 0.0, 1, -1]
_CHOICE = [[True, True], [True, False], [False, True]]
_COMPARED: Any = [[1.1, 2], [4.2, 0], [5.3, 6.4]], [[3.5, 2], [4.6, 1], [5.7, 4.8]]
_COMPARED_AS = [[True, False], [True, True], [True, False]]
_RECTIFIED = [6.1, -9.5, 35.7]
_FEW: Any = [0, 1, -1]
_SIX: Any = [[-2, 0], [1, 2], [-4, 4]]
_FIRST, _SECOND = "real: Example 1; float: Example 1", "real: Example 2; float: Example 2"
_ONE_LINE = "real: Example 1 (1D tensors)"
_TWO_LINES = "float: Example 1 (2D tensors)"
_OF_UINT8, _OF_INT8 = "int: Example 1 (1D uint8 tensors)", "int: Example 2 (1D int8 tensors)"

_ROWS: Sequence[tuple[str, str, ElementType, Any, Any]] = [
    ("Abs", "real: Example 1", _F32, [[-2.1, 3.4, -7]], [2.1, 3.4, 7]),
    ("Abs", "real: Example 2", _F32, [[[-1.123, 0], [4, -5], [2, -3]]],
     [[1.123, 0], [4, 5], [2, 3]]),
    ("Abs", "float: Example 1", _F32, [[-2.1, -_INF, _NAN, -0.0]], [2.1, _INF, _NAN, 0.0]),
    ("Abs", "int: Example 1", _I8, [[-126, 0, 127]], [126, 0, 127]),
    ("Acos", _FIRST, _F32, [[-1, 0, 1]], [3.14159274, 1.57079637, 0]),
    ("Acos", "float: Example 2", _F32, [[0.0, -0.0]], [1.57079637] * 2),
    ("Acos", "float: Example 3", _F32, [[_NAN]], [_NAN]),
    ("Add", _ONE_LINE, _F64, _LINES, [8.1, 12.5, 39.7]),
    ("Add", _TWO_LINES, _F64, _FLOAT_COLUMNS, [[6, 6.5], [20, 1], [30.5, 28.25]]),
    ("Add", _OF_UINT8, _U8, ([6, 200, 35], [3, 100, 5]), [9, 44, 40]),
    ("Add", _OF_INT8, _I8, ([-6, 100, -100], [-3, 100, -100]), [-9, -56, 56]),
    ("Div", "real: Example 1", _F64, ([6.1, 9.5, 35.7], [3, 3.3, 5.1]),
     [6.1 / 3, 9.5 / 3.3, 35.7 / 5.1]),
    ("Div", "real: Example 2", _F64,
     ([[3.7, 4.4], [16.2, 0.5], [25.3, 24.8]], [[3, 2.2], [4.1, 1], [5.2, 4]]),
     [[3.7 / 3, 2], [16.2 / 4.1, 0.5], [25.3 / 5.2, 6.2]]),
    ("Div", "float: Example 1", _F64, _FLOAT_COLUMNS, [[1, 2.25], [4, _INF], [5.1, 6.0625]]),
    ("Div", "int: Example 1", _I32, ([6, 5, -35], [3, 3, 3]), [2, 1, -11]),
    ("Div", "int: Example 2", _I32, ([[10, 10], [21, 1], [30, 9]], [[3, 2], [4, 1], [5, 4]]),
     [[3, 5], [5, 1], [6, 2]]),
    ("Exp", _FIRST, _F32, [_FEW], [1, 2.71828175, 0.36787945]),
    ("Exp", _SECOND, _F32, [_SIX],
     [[0.135335281, 1], [2.71828175, 7.38905621], [0.0183156393, 54.5981483]]),
    ("Exp", "float: Example 3", _F64, [[_INF, _NAN, -_INF]], [_INF, _NAN, 0]),
    ("Less", "real: Example 1", _F32, ([2, 3, 7], [3, 3, 5]), [True, False, False]),
    ("Less", "float: Example 1", _F32, ([2.5, 3.7, 7.9], [3.1, 3.7, 5.8]), [True, False, False]),
    ("Less", _SECOND, _F64, _COMPARED, _COMPARED_AS),
    ("Less", "float: Example 3", _F16, (np.repeat(_SPECIAL, 4), np.tile(_SPECIAL, 4)),
     [False, True, True, *[False] * 3, True, *[False] * 9]),
    ("Less", "int: Example 1", _I8, ([2, 3, 7], [3, 3, 5]), [True, False, False]),
    ("Less", "int: Example 2", _I32, ([[1, 2], [4, 0], [5, 6]], [[3, 2], [4, 1], [5, 4]]),
     [[True, False], [False, True], [False, False]]),
    ("Log", "real: Example 1; float: Example 1", _F32, [[1, 2, 4]], [0, 0.69314718, 1.38629436]),
    ("Log", "float: Example 2", _F32, [[[2.718, -7.389], [0, 0.1], [10, -1000]]],
     [[0.99989629, _NAN], [-_INF, -2.30258512], [2.30258512, _NAN]]),
    ("Log", "float: Example 3", _F64, [[_INF, _NAN, -_INF, -0.0, 0.0]],
     [_INF, _NAN, _NAN, -_INF, -_INF]),
    ("Mul", _ONE_LINE, _F64, _LINES, [12.2, 28.5, 142.8]),
    ("Mul", _TWO_LINES, _F64, _FLOAT_COLUMNS, [[9, 9], [64, 0], [127.5, 97]]),
    ("Mul", _OF_UINT8, _U8, ([6, 9, 35], [3, 100, 5]), [18, 132, 175]),
    ("Mul", _OF_INT8, _I8, ([-6, -9, -9, 9], [-3, 100, -100, 100]), [18, 124, -124, -124]),
    ("Neg", "float: Example 1", _F32, [[1.5, 0.0, -0.0, _INF, -_INF, _NAN]],
     [-1.5, -0.0, 0.0, -_INF, _INF, _NAN]),
    ("Neg", "float: Example 2", _F16, [[65504, 2**-24, 1]], [-65504, -(2**-24), -1]),
    ("Neg", "int: Example", _I8, [[-6, 0, 100, -128]], [6, 0, -100, -128]),
    ("Pow", _FIRST, _F32, ([9, 4, 16, 8, 2], [2, 2.5, 0.5, 0.33333333, 1.5]),
     [81, 32, 4, 2, 2.82842708]),
    ("Pow", "float: Example 2", _F32, ([0, 0, 5, -5, -25, -8], [0, 2, 0, 0, 0.6, 0.33333333]),
     [1, 0, 1, 1, _NAN, _NAN]),
    ("Pow", "float: Example 3", _F32,
     ([-2, -2, -1, -1, 0.0, -0.0, 2, 0.5, 2], [0.5, 3, _INF, -_INF, -3, -3, -_INF, _INF, _NAN]),
     [_NAN, -8, 1, 1, _INF, -_INF, 0.0, 0.0, _NAN]),
    ("Pow", "float: Example 4", _F32,
     ([_NAN, 1, -1, -_INF, -_INF, _INF, 0.5, 2, -0.0], [2, -_INF, _INF, 3, -2, -1, -_INF, _INF, 3]),
     [_NAN, 1, 1, -_INF, 0.0, 0.0, _INF, _INF, -0.0]),
    ("Pow", "float: Example 5", _F32, ([-8, -8], [2, 2.00000024]), [64, _NAN]),
    ("Pow", "int: Example 1", _I32, ([2, 3, 4], [3, 2, 1]), [8, 9, 4]),
    ("Pow", "int: Example 2", _I32, ([[5, 2], [3, 4]], [[0, 3], [2, 1]]), [[1, 8], [9, 4]]),
    ("Relu", _FIRST, _F32, [_RECTIFIED], [6.1, 0, 35.7]),
    ("Relu", "int: Example 1", _I8, [[6, -9, 35]], [6, 0, 35]),
    ("Sigmoid", _FIRST, _F32, [_FEW], [0.5, 0.73105860, 0.26894143]),
    ("Sigmoid", "float: Example 3", _F64, [[_INF, _NAN, -_INF]], [1, _NAN, 0]),
    ("Sin", "float: Example 1", _F64, [[0.0, -0.0, 1e-8, -1e-8, _INF, -_INF, _NAN]],
     [0.0, -0.0, 1e-8, -1e-8, _NAN, _NAN, _NAN]),
    ("Sin", "float: Example 2", _F32, [[3.1415927, 6.2831855, 1e30]],
     [-8.7422777e-08, 1.7484555e-07, -0.7911634]),
    ("Sin", "float: Example 3", _F64, [[1, -1, 0.5, 2]],
     [0.8414709848078965, -0.8414709848078965, 0.479425538604203, 0.9092974268256817]),
    ("Sqrt", _FIRST, _F32, [[1, 2, 4]], [1, 1.41421354, 2]),
    ("Sqrt", "real: Example 2", _F32, [[[0.25, 2.25], [0, 0.1], [10, 1000]]],
     [[0.5, 1.5], [0, 0.31622776], [3.16227770, 31.62277603]]),
    ("Sqrt", "float: Example 2", _F32, [[[0.25, -1], [0, 0.1], [10, -1000]]],
     [[0.5, _NAN], [0, 0.31622776], [3.16227770, _NAN]]),
    ("Sqrt", "float: Example 3", _F64, [[_INF, _NAN, -_INF, -0.0]], [_INF, _NAN, _NAN, -0.0]),
    ("Sub", _ONE_LINE, _F32, _LINES, [4.1, 6.5, 31.7]),
    ("Sub", _TWO_LINES, _F64, _FLOAT_COLUMNS, [[0, 2.5], [12, 1], [20.5, 20.25]]),
    ("Tanh", _FIRST, _F32, [_FEW], [0, 0.76159418, -0.76159418]),
    ("Tanh", _SECOND, _F32, [_SIX],
     [[-0.96402758, 0], [0.76159418, 0.96402758], [-0.99932921, 0.99932921]]),
    ("Tanh", "float: Example 3", _F64, [[_INF, _NAN, -_INF]], [1, _NAN, -1]),
    ("Where", "bool, real: Example 1", _F32, ([True, False, True], [9, 8, 7.1], [6, 5, 4]),
     [9, 5, 7.1]),
    ("Where", "bool, real: Example 2", _F64,
     (_CHOICE, [[1, 2], [3, 4], [5, 6]], [[12, 11], [10, 9], [8, 7]]), [[1, 2], [3, 9], [8, 6]]),
    ("Where", "bool, float: Example 1", _F32, ([True, False, True], [19, 28, 37.1], [16, 25, 34]),
     [19, 25, 37.1]),
    ("Where", "bool, float: Example 2", _F64,
     ([True, False, True, False, True], [0.0, 0.0, _INF, _INF, _NAN], [0.0, -0.0, -_INF, -_INF, 1]),
     [0.0, -0.0, _INF, -_INF, _NAN]),
]  # fmt: skip

ELEMENTWISE: Sequence[Example] = [
    *(Example(*row[:4], [row[4]]) for row in _ROWS),
    Example(
        "Clip", "real: Example 1", _F32, [[-6.1, 9.5, 35.7], 0, 10], [[0, 9.5, 10]]
    ),
    Example("Clip", "real: Example 2", _F32, [[6.1, 9.5, 35.7], 20, 10], [[10, 10, 10]]),
    Example("Clip", "float: Example 1", _F32, [[-6.3, 9.2, 35.5], 0.5, 10.1], [[0.5, 9.2, 10.1]]),
    Example("Clip", "float: Example 2", _F32, [[6.5, 9.2, 35.1], 20.2, 10], [[10, 10, 10]]),
    Example("Clip", "float: Example 3", _F32, [_SPECIAL, -1, _NAN], [[-1, 0.0, _INF, _NAN]]),
    Example("Clip", "float: Example 4", _F32, [_SPECIAL, _NAN, _NAN], [_SPECIAL]),
    Example(
        "Div",
        "float: Example 2",
        _F64,
        [[[3.25, 4.5], [16, 0], [25.5, 24.25]], _FLOAT_COLUMNS[1]],
        [[[1.0833, 2.25], [4, _NAN], [5.1, 6.0625]]],
        rounded=5e-5,
    ),
    Example("LeakyRelu", "real: Example 1", _F32, [_RECTIFIED], [[6.1, -0.95, 35.7]],
            {"alpha": 0.1}),
    Example("LeakyRelu", "float: Example 2", _F32, [_LEAKING],
            [[_INF, _NAN, -_INF, -0.0, 0.0, 1, -0.01]], {"alpha": 0.01}),
    Example("LeakyRelu", "float: Example 3", _F32, [_LEAKING],
            [[_INF, _NAN, _NAN, -0.0, 0.0, 1, _NAN]], {"alpha": _NAN}),
    Example("LeakyRelu", "float: Example 4", _F32, [_LEAKING],
            [[_INF, _NAN, _INF, -0.0, 0.0, 1, _INF]], {"alpha": -_INF}),
    Example(
        "Log",
        "real: Example 2",
        _F32,
        [[[2.718, 7.389], [0.01, 0.1], [10, 1000]]],
        [[[0.999896, 1.999992], [-4.605170, -2.302585], [2.302585, 6.907755]]],
        rounded=5e-7,
    ),
    Example(
        "Where",
        "bool, int: Example 1",
        _I8,
        [_CHOICE, [[1, 20], [3, 40], [5, 60]], [[12, 110], [10, 90], [8, 70]]],
        [[[1, 20], [3, 90], [8, 60]]],
        note="the draft prints no condition; that of Example 2 of real numbers gives its result",
    ),
]  # fmt: skip
"""The examples of element-wise operators."""
