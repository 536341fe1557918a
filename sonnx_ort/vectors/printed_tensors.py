"""The examples of drafts of operators on tensors.

Those of real numbers are taken in a type of floats. Some drafts have their numbers in figures.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import Array
from sonnx_ort.vectors.printed import Example

_INF, _NAN = np.inf, np.nan
_F32, _F64 = ElementType.FLOAT, ElementType.DOUBLE
_I8, _I32, _I64, _U8 = ElementType.INT8, ElementType.INT32, ElementType.INT64, ElementType.UINT8

_CUBE = np.arange(24).reshape(2, 3, 4).tolist()
_ROWS = [[1, 2, 3], [4, 5, 6]]


def _list(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def _arg_max(
    stands: str, x: Any, y: Any, *, axis: int = 1, kind: ElementType = _F32, **others: int
) -> Example:
    attributes = {"axis": axis, "keepdims": 1, "select_last_index": 0} | others
    return Example("ArgMax", stands, kind, [x], [y], attributes)


_RANDOM_ROWS = [[1, 9, 3], [4, 2, 6]]
_EQUAL_TWICE = [[1, 5, 5, 2]]

_ARG_MAX: Sequence[Example] = [
    _arg_max("real: Example 1", [1, 5, 3, 2], [1], axis=0),
    _arg_max("real: Example 2", _RANDOM_ROWS, [[1, 0, 1]], axis=0),
    _arg_max("real: Example 3", _RANDOM_ROWS, [[1], [2]]),
    _arg_max("real: Example 4", _RANDOM_ROWS, [1, 2], keepdims=0),
    _arg_max("real: Example 5", _EQUAL_TWICE, [[1]]),
    _arg_max("real: Example 6", _EQUAL_TWICE, [[2]], select_last_index=1),
    _arg_max(
        "real: Example 7",
        [[[1, 3, 2], [4, 0, 6]], [[7, 5, 9], [2, 8, 1]]],
        [[[1], [2]], [[2], [1]]],
        axis=2,
    ),
    _arg_max("float: Example 1", [[1, 9.5, 3], [4, 2, 6.5]], [[1], [2]]),
    _arg_max("float: Example 2", [[1, _INF, 3], [4, 2, 6.5]], [[1], [2]]),
    _arg_max("float: Example 3", [[-_INF, -4, -2], [-_INF] * 3], [[2], [0]]),
    _arg_max("float: Example 4", [[1, _NAN, 3], [4, 2, 6.5]], [[1], [2]]),
    _arg_max("float: Example 5", [[_NAN, 1, _NAN, 3]], [[2]], select_last_index=1),
    _arg_max("float: Example 6", [[1, 7, 7, 2]], [[1]]),
    _arg_max("float: Example 6", [[1, 7, 7, 2]], [[2]], select_last_index=1),
    _arg_max("integer: Example 1", _RANDOM_ROWS, [[1], [2]], kind=_I32),
    _arg_max("integer: Example 2", [[2, 8, 8, 1]], [[1]], kind=_I32),
    _arg_max("integer: Example 2", [[2, 8, 8, 1]], [[2]], kind=_I32, select_last_index=1),
]

_ALONG_0 = [[0.04742587] * 3, [0.95257413] * 3]
_ALONG_1 = [[0.09003057, 0.24472848, 0.66524094]] * 2
_PARTS = math.exp(9.5) / (math.exp(9.5) + math.exp(35.7))

_SOFTMAX: Sequence[Example] = [
    Example("Softmax", "real: Example 1", _F64, [[9.5, 35.7]], [[_PARTS, 1 - _PARTS]],
            {"axis": 0}),
    Example("Softmax", "float: Example 1", _F32, [[9.5, 35.7]],
            [[4.182965147e-12, 0.9999999999958]], {"axis": 0}),
    *(
        Example("Softmax", f"float: {stands}", _F64, [x], [printed], {"axis": axis}, rounded=2e-7)
        for stands, x, axis, printed in (
            ("Example 2a", _ROWS, 0, _ALONG_0),
            ("Example 2b", _ROWS, 1, _ALONG_1),
            *(
                ("Example with special value", *each)
                for each in (
                    ([[1, 2, 3], [4, 5, _INF]], 0,
                     [[0.04742587] * 2 + [_NAN], [0.95257413] * 2 + [_NAN]]),
                    ([[1, 2, 3], [4, 5, _INF]], 1, [_ALONG_1[0], [_NAN] * 3]),
                    ([[1, 2, 3], [4, 5, -_INF]], 0,
                     [[0.04742587] * 2 + [1], [0.95257413] * 2 + [0]]),
                    ([[1, 2, 3], [4, 5, -_INF]], 1, [_ALONG_1[0], [0.26894143, 0.73105860, 0]]),
                    ([[1, 2, 3], [4, 5, _NAN]], 0,
                     [[0.04742587] * 2 + [_NAN], [0.95257413] * 2 + [_NAN]]),
                    ([[1, 2, 3], [4, 5, _NAN]], 1, [_ALONG_1[0], [_NAN] * 3]),
                )
            ),
        )
    ),
    Example(
        "Softmax",
        "float: Example",
        _F64,
        [[_ROWS, [[10, 20, 30], [40, 50, 60]]]],
        [[[[0.09003, 0.24473, 0.66524]] * 2, [[2.061e-9, 4.539e-5, 0.99995]] * 2]],
        {"axis": 2},
        rounded=3e-4,
    ),
]  # fmt: skip

_WINDOWS = {"auto_pad": "NOTSET", "dilations": [1, 1], "strides": [1, 1]}


def _max_pool(
    stands: str, kind: ElementType, x: Any, printed: tuple[Any, Any], *, note: str = "", **said: Any
) -> Example:
    """An example of one image with one channel: Y and the indices are printed."""
    attributes = {
        **_WINDOWS,
        "ceil_mode": 0,
        "kernel_shape": [2, 2],
        "pads": [0, 0, 0, 0],
        "storage_order": 0,
        **said,
    }
    return Example(
        "MaxPool", stands, kind, [[[x]]], [[[each]] for each in printed], attributes, note=note
    )


_LARGE = [
    [5.67591154, -0.04859958, 2.94203104, 3.70327292,
     2.47014306, 4.12455586, 5.81838665, 1.84118807],
    [-0.05267874, 2.75227858, 2.16608732, 4.03416243,
     1.28184638, 4.81748948, 4.64878412, 3.31626988],
    [3.55427648, 0.39997585, 4.45761508, 4.82722666,
     0.18843372, 0.49564314, 7.96647029, 4.82851447],
    [1.52417623, 2.28965587, 0.36251913, 1.64413983,
     4.67267459, 3.73167179, 2.20052118, 2.06720836],
    [-1.22446366, -0.86469519, 6.01461967, -1.08813165,
     2.11920055, 0.78561867, 0.29834533, 1.94499626],
    [1.57776732, 3.64260188, 3.47181319, 4.83723727,
     1.49868674, 3.27683692, 2.42625178, 0.4401565],
    [6.8972704, 5.51113868, 5.99293336, 4.24088721,
     1.94993561, -0.04040625, 3.07940675, 3.06769141],
    [3.1299626, 4.5546675, 3.5008191, 2.06181403,
     3.27400104, 6.70386189, 0.92777015, -1.29092574],
]  # fmt: skip
_LARGE_POOLED = [
    [5.67591154, 4.82722666, 4.82722666, 4.82722666, 7.96647029, 7.96647029],
    [4.45761508, 4.82722666, 4.82722666, 4.82722666, 7.96647029, 7.96647029],
    [6.01461967, 6.01461967, 6.01461967, 4.82722666, 7.96647029, 7.96647029],
    [6.01461967, 6.01461967, 6.01461967, 4.83723727, 4.67267459, 3.73167179],
    [6.8972704, 6.01461967, 6.01461967, 4.83723727, 3.27683692, 3.27683692],
    [6.8972704, 5.99293336, 5.99293336, 6.70386189, 6.70386189, 6.70386189],
]
_LARGE_INDICES = [
    [0, 19, 19, 19, 22, 22],
    [18, 19, 19, 19, 22, 22],
    [34, 34, 34, 19, 22, 22],
    [34, 34, 34, 43, 28, 29],
    [48, 34, 34, 43, 45, 45],
    [48, 50, 50, 61, 61, 61],
]
_ALL_SIDES = [1, 1, 1, 1]

_MAX_POOL: Sequence[Example] = [
    _max_pool(
        "real: A graphical view of MaxPool", _U8, [[3, 0, 4], [3, 5, 6], [8, 1, 4]],
        ([[5, 6], [1, 8]], [[4, 5], [7, 6]]),
        pads=[1, 1, 0, 0], dilations=[2, 2],
    ),
    _max_pool(
        "real: Example", _F64, _LARGE, (_LARGE_POOLED, _LARGE_INDICES),
        kernel_shape=[3, 3],
        note="the draft prints one element of X as '4 81748948'; it is taken as 4.81748948",
    ),
    _max_pool(
        "float: Example 1", _F64,
        [[1.70792822, 1.59383029, 2.22933891], [1.39774388, 2.03411151, 3.15139065],
         [2.81201102, 5.85721996, 3.55039159]],
        ([[2.03411151, 3.15139065], [5.85721996, 5.85721996]], [[4, 5], [7, 7]]),
    ),
    _max_pool(
        "float: Example 2", _F64,
        [[2.41529657, 0.12586645, 5.17877496], [5.82770299, 3.77328965, 3.51988829],
         [1.40679595, 3.95043140, -1.37421443]],
        (
            [[2.41529657, 5.17877496], [5.82770299, 5.17877496], [5.82770299, 3.95043140],
             [3.95043140, 3.95043140]],
            [[0, 2], [3, 2], [3, 7], [7, 7]],
        ),
        pads=[1, 0, 1, 0],
    ),
    _max_pool(
        "float: Example 3", _F64,
        [[-_INF, -_INF, 4.56432533], [-_INF, -_INF, 2.55354471],
         [2.83691720, 3.46789489, 5.23979851]],
        ([[-_INF, 4.56432533], [3.46789489, 5.23979851]], [[0, 2], [7, 8]]),
    ),
    _max_pool(
        "float: Example 4", _F64,
        [[-_INF, 9.57875561, 4.56432533], [2.72844928, 3.54234851, 2.55354471],
         [2.83691720, 3.46789489, 5.23979851]],
        (
            [[-_INF, 9.57875561, 9.57875561, 4.56432533],
             [2.72844928, 9.57875561, 9.57875561, 4.56432533],
             [2.83691720, 3.54234851, 5.23979851, 5.23979851],
             [2.83691720, 3.46789489, 5.23979851, 5.23979851]],
            [[0, 1, 1, 2], [3, 1, 1, 2], [6, 4, 8, 8], [6, 7, 8, 8]],
        ),
        pads=_ALL_SIDES,
    ),
    _max_pool(
        "int: Example 1", _I8, [[-12, -13, 5], [-14, -15, 6], [7, 8, -1]],
        ([[-12, 6], [8, 8]], [[0, 5], [7, 7]]),
    ),
    _max_pool(
        "int: Example 2", _I8, [[-128, -128, 5], [-128, -128, 6], [7, 8, -1]],
        ([[-128, 6], [8, 8]], [[0, 5], [7, 7]]),
    ),
    _max_pool(
        "int: Example 3", _I8, [[1, 2, 0], [0, 3, 5], [-2, 5, 6]],
        ([[1, 3, 5, 5], [0, 5, 6, 6], [-2, 5, 6, 6]], [[0, 4, 5, 5], [3, 7, 8, 8], [6, 7, 8, 8]]),
        pads=[0, 1, 1, 1],
    ),
    _max_pool(
        "int: Example 5", _U8, [[0, 1, 5], [1, 1, 6], [7, 8, 0]],
        (
            [[0, 1, 5, 5], [1, 1, 6, 6], [7, 8, 8, 6], [7, 8, 8, 0]],
            [[0, 1, 2, 2], [3, 1, 5, 5], [6, 7, 7, 5], [6, 7, 7, 8]],
        ),
        pads=_ALL_SIDES,
    ),
]  # fmt: skip

_OF_FIGURES = {
    "auto_pad": "NOTSET",
    "dilations": [2, 2],
    "kernel_shape": [2, 3],
    "pads": [2, 1, 2, 2],
    "strides": [3, 2],
}


def _conv(stands: str, channels: int, filters: int, y: Sequence[Any], note: str) -> Example:
    """An example in a figure: X and W have ones, B has ones."""
    per_group = channels if filters == 1 else 1
    operands = [
        np.ones((1, channels, 8, 8), np.float32),
        np.ones((filters, per_group, 2, 3), np.float32),
        np.ones(filters, np.float32),
    ]
    attributes = {**_OF_FIGURES, "group": 1 if filters == 1 else channels}
    return Example("Conv", stands, _F32, operands, [[y]], attributes, note=note)


_WIDTHS = "the text gives the kernel as 3 by 2, the figure shows one of 2 by 3"
_ONES = f"{_WIDTHS}, and leaves X blank, which has the ones of the figure before"
_OF_ONE = [[3, 4, 4, 3], [5, 7, 7, 5], [5, 7, 7, 5], [3, 4, 4, 3]]

_OTHERS: Sequence[Example] = [
    Example(
        "BatchNormalization",
        "real: Example 1",
        _F32,
        [[2, 4, 6], [1], [0], [4], [2]],
        [[-1.4142, 0, 1.4142]],
        {"epsilon": 1e-5, "momentum": 0.9, "training_mode": 0},
        rounded=5e-5,
    ),
    Example(
        "BatchNormalization",
        "float: Example 2",
        _F32,
        [[[3, 4.5], [16, 1], [25.5, 24.25]], [1, 1], [0, 0], [3, 4.5], [4, 2.25]],
        [[[0, 0], [6.5, -2.333], [11.25, 13.167]]],
        {"epsilon": 1e-5, "momentum": 0.9, "training_mode": 0},
        rounded=2e-4,
    ),
    Example(
        "Concat",
        "Example",
        _F32,
        [[[1] * 3] * 6, [[2] * 2] * 6, [[3] * 4] * 6],
        [[[1] * 3 + [2] * 2 + [3] * 4] * 6],
        {"axis": 1},
        note="the numbers stand in its figure",
    ),
    *(
        Example("Constant", stands, kind, [], [value], {"value": np.array(value, kind.dtype)})
        for stands, kind, value in (
            ("real: Example 1", _F32, 4.2),
            ("real: Example 2", _F32, [[1.1, 2.2], [3.3, 4.4]]),
            ("float: Example 1", _F32, 3.14),
            ("float: Example 2", _F32, [[-0.0, -_INF], [_NAN, _INF]]),
            ("int: Example 1", _I64, 7),
            ("int: Example 2", _I64, [[1, 2], [3, 4]]),
        )
    ),
    _conv("real: figure of a standard convolution", 1, 1, [_OF_ONE], _WIDTHS),
    _conv(
        "real: figure of a standard convolution of three channels",
        3,
        1,
        [[[7, 10, 10, 7], [13, 19, 19, 13], [13, 19, 19, 13], [7, 10, 10, 7]]],
        _ONES,
    ),
    _conv("real: figure of a depthwise convolution", 3, 3, [_OF_ONE] * 3, _ONES),
    Example(
        "ConvInteger",
        "int8, uint8: Example",
        _I8,
        [[[[[2, 4, 6], [8, 10, 12], [14, 16, 18]]]], [[[[1, 0], [0, 1]]]], 1, 1],
        [[[[[-10, -14], [-22, -26]]]]],
        {**_WINDOWS, "group": 1, "kernel_shape": [2, 2], "pads": [0, 0, 0, 0]},
    ),
    Example(
        "DequantizeLinear",
        "int32, float: Example 1",
        _I32,
        [[0, 10, 50, 100, 128, 255], np.array(0.02, np.float32), 128],
        [[-2.56, -2.36, -1.56, -0.56, 0.0, 2.54]],
        {"axis": 1, "block_size": 0},
        rounded=2e-7,
    ),
    Example("Flatten", "type: Example 1", _F32, [_CUBE], [[[*range(24)]]], {"axis": 0}),
    Example("Flatten", "type: Example 2", _F32, [_CUBE], [[[*range(12)], [*range(12, 24)]]],
            {"axis": 1}),
    Example("Flatten", "type: Example 3", _F32, [_CUBE], [np.arange(24).reshape(6, 4).tolist()],
            {"axis": 2}),
    *(
        Example("MatMul", stands, kind, operands, [printed])
        for stands, kind, operands, printed in (
            ("real: Example 1; float: Example 1", _F32, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
             [[19, 22], [43, 50]]),
            ("int: Example 1", _I32, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [[19, 22], [43, 50]]),
            ("real: Example 2", _F32, [[[1, 2], [3, 4], [5, 6]], [[7, 8, 9], [10, 11, 12]]],
             [[27, 30, 33], [61, 68, 75], [95, 106, 117]]),
            ("int: Example 2", _I32, [[[1, 2], [3, 4], [5, 6]], [[7, 8, 9], [10, 11, 12]]],
             [[27, 30, 33], [61, 68, 75], [95, 106, 117]]),
            ("float: Example 2", _F32,
             [[[_INF, -_INF, _NAN], [_NAN, _INF, -_INF]], [[1, 2], [4, 5], [7, 8]]],
             [[_NAN, _NAN], [_NAN, _NAN]]),
            ("float: Example 3", _F32,
             [[[_INF, _INF], [_NAN, _INF]], [[1, 2, 3, 4], [4, 5, 6, 7]]],
             [[_INF] * 4, [_NAN] * 4]),
        )
    ),
    *(
        Example(
            "QuantizeLinear",
            f"float, uint8: {stands}",
            _F32,
            [x, scale, np.array(zero_point, np.uint8)],
            [printed],
            {"axis": 1, "block_size": 0, "saturate": 1},
        )
        for stands, x, scale, zero_point, printed in (
            ("Example 1", [6.1, -3.5, 130.2], 2, 10, [13, 8, 75]),
            ("Example 2 (saturation)", [300, -50], 1, 0, [255, 0]),
        )
    ),
    Example("Range", "real: Example 1; type: Example 1", _F32, [0, 10, 1], [[*range(10)]]),
    Example("Range", "real: Example 2; type: Example 2", _F32, [10, 2, -3], [[10, 7, 4]]),
    Example("Range", "real: Example 3; type: Example 3", _F32, [10, 10, -3], [[]]),
    Example("Range", "real: Example 4; type: Example 4", _F32, [30, 10, 3], [[]]),
    Example("Reshape", "Example 1", _F32, [[[*range(5)], [*range(5, 10)]], _list(5, 2)],
            [np.arange(10).reshape(5, 2).tolist()], {"allowzero": 0}),
    Example("Reshape", "Example 2", _F32, [_CUBE, _list(0, 6, -1)],
            [np.arange(24).reshape(2, 6, 2).tolist()], {"allowzero": 0}),
    Example("Reshape", "Example 4", _F32, [np.zeros((0, 3, 8), np.float32), _list(1, 2, 0)],
            [[[[], []]]], {"allowzero": 1}),
    *(
        Example("Shape", f"real: Example {number}; type: Example {number}", _F32, [_CUBE],
                [printed], {"start": start, "end": end})
        for number, start, end, printed in (
            (1, 0, 3, [2, 3, 4]),
            (2, 1, 2, [3]),
            (3, 2, 2, []),
            (4, -500, 2, [2, 3]),
            (5, 0, 1000, [2, 3, 4]),
        )
    ),
    Example(
        "Slice",
        "real: figure; type: figure",
        _F32,
        [np.arange(30).reshape(5, 6).tolist(), _list(0, 1), _list(4, 6), _list(0, 1), _list(1, 2)],
        [[[1, 3, 5], [7, 9, 11], [13, 15, 17], [19, 21, 23]]],
    ),
    Example("Unsqueeze", "real, integer: Example 1", _F32, [_CUBE, _list(0)], [[_CUBE]]),
    Example("Unsqueeze", "real, integer: Example 2", _F32, [_CUBE, _list(-1)],
            [np.arange(24).reshape(2, 3, 4, 1).tolist()]),
    Example("Unsqueeze", "real, integer: Example 3", _F32, [_CUBE, _list(0, 1)], [[[_CUBE]]]),
    Example("Unsqueeze", "real, integer: Example 4", _F32, [_CUBE, _list(1, 2)],
            [np.arange(24).reshape(2, 1, 1, 3, 4).tolist()]),
]  # fmt: skip

TENSORS: Sequence[Example] = [*_ARG_MAX, *_SOFTMAX, *_MAX_POOL, *_OTHERS]
"""The examples of operators on tensors."""
