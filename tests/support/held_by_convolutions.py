"""What breaks the rules of Conv, ConvInteger, MaxPool, Gemm and LSTM that ONNX Runtime holds."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from support.held_case import HeldCase

Shape = tuple[int, ...]


def cases(
    call: str, shapes: Mapping[str, Shape], types: Mapping[str, str], opsets: Sequence[int]
) -> Iterator[HeldCase]:
    """One node with what is known of its inputs: their shapes, their ranks, or nothing.

    The inputs but the first are constants too, which optimizers pack for their kernels.

    Args:
        call: The node's expression, such as `Conv <group = 3> (X, W)`.
        shapes: The shapes of the inputs.
        types: Their types; float if they are not named.
        opsets: The versions of the standard operators.
    """
    kinds = {name: types.get(name, "float") for name in shapes}
    feeds = {name: np.ones(shape, np.int64).tolist() for name, shape in shapes.items()}
    result = types.get("Y", kinds[next(iter(shapes))])
    first = next(iter(shapes))
    for opset in opsets:
        for declared in (_sizes, _open_sizes, _nothing):
            inputs = ", ".join(f"{kinds[n]}{declared(shape)} {n}" for n, shape in shapes.items())
            yield HeldCase(f"({inputs}) => ({result}[] Y) {{ Y = {call} }}", feeds, opset)
        constants = [_zeros(n, kinds[n], shape) for n, shape in shapes.items() if n != first]
        stored = f"<{', '.join(constants)}>" if constants else ""
        graph = f"({kinds[first]}[] {first}) => ({result}[] Y) {stored} {{ Y = {call} }}"
        yield HeldCase(graph, {first: feeds[first]}, opset)


def _sizes(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape else ""


def _open_sizes(shape: Shape) -> str:
    return f"[{', '.join('?' for _ in shape)}]" if shape else ""


def _nothing(shape: Shape) -> str:
    del shape
    return "[]"


def _zeros(name: str, kind: str, shape: Shape) -> str:
    zeros = ", ".join("0" * math.prod(shape))
    return f"{kind}{_sizes(shape)} {name} = {{{zeros}}}"


def _convolutions(operator: str, kind: str, opsets: Sequence[int]) -> dict[str, list[HeldCase]]:
    types = {"X": kind, "W": kind, "Y": "int32" if kind == "uint8" else kind}

    def of(x: Shape, w: Shape, **attributes: object) -> list[HeldCase]:
        given = ", ".join(f"{name} = {value}" for name, value in attributes.items())
        call = f"{operator} <{given}> (X, W)" if given else f"{operator} (X, W)"
        return [*cases(call, {"X": x, "W": w}, types, opsets)]

    x, w = (1, 4, 8, 8), (6, 4, 3, 3)
    wide_x, wide_w = (1, 32, 8, 8), (32, 32, 3, 3)
    return {
        f"{operator}.kernel_shape": [
            *of(x, w, kernel_shape=[2, 2]),
            *of(x, (6, 4, 3, 2), kernel_shape=[2, 3]),
            *of(x, w, kernel_shape=[3, 9]),
            *of(x, w, kernel_shape=[3]),
            *of(x, w, kernel_shape=[3, 3, 3]),
            *of(x, w, kernel_shape=[0, 3]),
            *of(x, w, kernel_shape=[3, -3]),
            *of(wide_x, wide_w, kernel_shape=[1, 1]),
        ],
        f"{operator}.outputs": [
            *of(x, (6, 1, 3, 3), group=4),
            *of(x, (2, 1, 3, 3), group=4),
            *of(wide_x, (48, 1, 3, 3), group=32),
        ],
        f"{operator}.fits": [
            *of((1, 4, 2, 8), w),
            *of((1, 4, 1, 1), w, strides=[3, 3]),
            *of((1, 4, 0, 8), w),
            *of(x, w, dilations=[4, 4]),
            *of(x, w, dilations=[40, 40], pads=[1, 1, 1, 1]),
            *of((1, 32, 2, 2), wide_w),
        ],
    }


def _pools() -> list[HeldCase]:
    wide = ([2, 0, 0, 0], [0, 0, 2, 2], [9, 9, 9, 9], [1 << 40, 0, 0, 0])
    return [
        case
        for pads in wide
        for kind, opsets in (("float", (7, 11, 21)), ("uint8", (21,)))
        for case in cases(
            f"MaxPool <kernel_shape = [2, 2], pads = {pads}> (X)",
            {"X": (1, 2, 6, 6)},
            {"X": kind},
            opsets,
        )
    ]


def _products() -> list[HeldCase]:
    shapes = [((2, 3), (4, 4)), ((2, 1), (3, 4)), ((2, 0), (3, 4)), ((2, 3), (0, 4))]
    return [
        case
        for kind in ("float", "float16")
        for a, b in shapes
        for case in cases(
            "Gemm (A, B, C)",
            {"A": a, "B": b, "C": (2, 4)},
            dict.fromkeys("ABC", kind),
            (11, 21) if kind == "float" else (21,),
        )
    ]


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

_OTHER_SHAPES: Mapping[str, Sequence[Shape]] = {
    "B": ((24,), (1, 12), (1, 25), (2, 24), (1, 24, 1), ()),
    "sequence_lens": ((1,), (3,), (2, 1), (0,), ()),
    "initial_h": ((2, 3), (1, 1, 3), (1, 2, 4), (1, 2, 1), (2, 2, 3), (1, 2, 3, 1), ()),
    "initial_c": ((2, 3), (1, 1, 3), (1, 2, 4), (1, 2, 1), (2, 2, 3), (1, 2, 3, 1), ()),
    "P": ((9,), (1, 12), (1, 8), (2, 9), (1, 9, 1), ()),
}


def _recurrences() -> list[HeldCase]:
    call = f"LSTM <hidden_size = 3> ({', '.join(LSTM_SHAPES)})"
    types = {"sequence_lens": "int32"}
    return [
        case
        for name, shapes in _OTHER_SHAPES.items()
        for shape in shapes
        for case in cases(call, {**LSTM_SHAPES, name: shape}, types, (7, 21))
    ]


HELD_BY_CONVOLUTIONS: Mapping[str, Sequence[HeldCase]] = {
    **_convolutions("Conv", "float", (10, 21)),
    **_convolutions("ConvInteger", "uint8", (21,)),
    "MaxPool.padding": _pools(),
    "Gemm.shapes": _products(),
    "LSTM.shapes": _recurrences(),
}
"""The cases by the rules' ids."""
